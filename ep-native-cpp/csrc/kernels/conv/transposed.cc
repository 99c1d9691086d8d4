// The sums of a transposed convolution: every output collects the products of the taps that reach it.
#include "kernels/conv/tail.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

void transposed_rows(const Transposed& t, int64_t r0, int64_t r1) {
  const int64_t row = t.out_width * 16;
  for (int64_t r = r0; r < r1; r++) {
    float* y = t.y + r * row;
    for (int64_t i = 0; i < row; i += 16)
      for (int v = 0; v < 16; v += W) store(y + i + v, load(t.tail.bias + v));
    for (int64_t a = 0; a < t.kh; a++) {
      const int64_t from = r + t.pad_top - a * t.dilation_h, h = from / t.stride_h;
      if (from < 0 || from % t.stride_h || h >= t.height) continue;
      for (int64_t b = 0; b < t.kw; b++) {
        const float* x = t.products + (a * t.kw + b) * t.tap + h * t.width * 16;
        const int64_t at = b * t.dilation_w - t.pad_left;  // output column of input column 0
        for (int64_t c = at < 0 ? (-at + t.stride_w - 1) / t.stride_w : 0; c < t.width; c++) {
          const int64_t o = at + c * t.stride_w;
          if (o >= t.out_width) break;
          for (int v = 0; v < 16; v += W) store(y + o * 16 + v, load(y + o * 16 + v) + load(x + c * 16 + v));
        }
      }
    }
    finish_floats(t.tail, y, nullptr, y, row);
  }
}

}  // namespace SX_ISA
}  // namespace sx
