// Depthwise convolution of a blocked plane.
//
// A tile is a run of pixels by one vector of channels, its weights read tap by tap: each FMA then has one load, which the
// load ports keep up with. Outputs at the left and right border are done one by one over the taps that are inside.
#include "kernels/conv/tail.h"
#include "kernels/conv/window.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// P outputs over the taps of `rows` x `cols`, of which x is the first input; S is the stride, 0 for any.
template <int P, int S>
static inline __attribute__((always_inline)) void taps(const Depthwise& d, const float* x, const float* w, int64_t rows, int64_t cols, vf start, float* y, const Bounds& bounds,
                                                       const float* residual) {
  const int64_t pixel = (S ? S : d.stride_w) * 16, step = d.dilation_w * 16, line = d.dilation_h * d.width * 16;
  vf acc[P];
#pragma GCC unroll 16
  for (int p = 0; p < P; p++) acc[p] = start;
  for (int64_t a = 0; a < rows; a++, x += line, w += d.kw * 16) {
    const float* at = x;
#pragma GCC unroll 1
    for (int64_t b = 0; b < cols; b++, at += step) {
      const vf tap = load(w + b * 16);
#pragma GCC unroll 16
      for (int p = 0; p < P; p++) acc[p] += tap * load(at + p * pixel);
    }
  }
  if (residual) {
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) acc[p] += load(residual + p * 16);
  }
  if (bounds.any) {
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) acc[p] = bound(bounds, acc[p]);
  }
#pragma GCC unroll 16
  for (int p = 0; p < P; p++) store(y + p * 16, acc[p]);
}

template <int P, int S>
struct TapTiles {
  static void run(int pixels, const Depthwise& d, const float* x, const float* w, int64_t rows, vf start, float* y, const Bounds& bounds, const float* residual) {
    if (pixels == P)
      taps<P, S>(d, x, w, rows, d.kw, start, y, bounds, residual);
    else
      TapTiles<P - 1, S>::run(pixels, d, x, w, rows, start, y, bounds, residual);
  }
};
template <int S>
struct TapTiles<0, S> {
  static void run(int, const Depthwise&, const float*, const float*, int64_t, vf, float*, const Bounds&, const float*) {}
};

template <int S>
static void one_row(const Depthwise& d, int64_t r, bool simple) {
  const int64_t top = r * d.stride_h - d.pad_top;
  const Taps rows = taps_inside(top, d.kh, d.dilation_h, d.height);
  const Taps inner = outputs_inside(d.out_width, d.stride_w, d.pad_left, (d.kw - 1) * d.dilation_w, d.width);
  const float* line = d.x + (top + rows.from * d.dilation_h) * d.width * 16;
  const float* w = d.w + rows.from * d.kw * 16;
  const int64_t n = rows.to - rows.from;
  const Bounds bounds = simple ? bounds_of(d.tail) : Bounds{};
  float* y = d.y + r * d.out_width * 16;
  const float* residual = simple && d.tail.residual ? d.tail.residual + r * d.out_width * 16 : nullptr;
  for (int v = 0; v < 16; v += W) {
    const vf start = load(d.tail.bias + v);
    for (int64_t c = 0; c < d.out_width; c++) {
      if (c == inner.from) {
        const int64_t tiles = (inner.to - inner.from + kRowPixels - 1) / kRowPixels;
        for (int64_t i = 0; i < tiles; i++) {
          const int64_t pixels = (inner.to - c + (tiles - i) - 1) / (tiles - i);
          TapTiles<kRowPixels, S>::run(static_cast<int>(pixels), d, line + (c * d.stride_w - d.pad_left) * 16 + v, w + v, n, start, y + c * 16 + v, bounds,
                                    residual ? residual + c * 16 + v : nullptr);
          c += pixels;
        }
        if (c == d.out_width) break;
      }
      const int64_t left = c * d.stride_w - d.pad_left;
      const Taps cols = taps_inside(left, d.kw, d.dilation_w, d.width);
      taps<1, S>(d, line + (left + cols.from * d.dilation_w) * 16 + v, w + cols.from * 16 + v, n, cols.to - cols.from, start, y + c * 16 + v, bounds,
                 residual ? residual + c * 16 + v : nullptr);
    }
  }
}

void depthwise_rows(const Depthwise& d, int64_t r0, int64_t r1) {
  const bool simple = is_simple(d.tail);
  const int64_t row = d.out_width * 16;
  for (int64_t r = r0; r < r1; r++) {
    if (d.stride_w == 1)
      one_row<1>(d, r, simple);
    else if (d.stride_w == 2)
      one_row<2>(d, r, simple);
    else
      one_row<0>(d, r, simple);
    float* y = d.y + r * row;
    if (!simple) finish_floats(d.tail, y, d.tail.residual ? d.tail.residual + r * row : nullptr, y, row);
  }
}

}  // namespace SX_ISA
}  // namespace sx
