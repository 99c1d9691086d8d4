// Windows over a plane: which outputs of a row see no border, and which taps are inside.
#pragma once
#include <cstdint>

namespace sx {
namespace SX_ISA {

#if SX_WIDTH == 16
constexpr int kRowPixels = 14;
#else
constexpr int kRowPixels = 8;
#endif

struct Taps {
  int64_t from, to;
};

// Taps k in [0, taps) for which 0 <= start + k * dilation < size.
static inline Taps taps_inside(int64_t start, int64_t taps, int64_t dilation, int64_t size) {
  Taps t{0, taps};
  if (start < 0) t.from = (-start + dilation - 1) / dilation;
  if (start + (taps - 1) * dilation >= size) t.to = start >= size ? 0 : (size - 1 - start) / dilation + 1;
  if (t.from > t.to) t.from = t.to;
  return t;
}

// Outputs [from, to) of a row of `outputs` whose window lies wholly inside `size`.
static inline Taps outputs_inside(int64_t outputs, int64_t stride, int64_t pad, int64_t reach, int64_t size) {
  Taps t{(pad + stride - 1) / stride, 0};
  const int64_t last = size - 1 - reach + pad;
  t.to = last < 0 ? 0 : last / stride + 1;
  if (t.to > outputs) t.to = outputs;
  if (t.from > t.to) t.from = t.to;
  return t;
}

}  // namespace SX_ISA
}  // namespace sx
