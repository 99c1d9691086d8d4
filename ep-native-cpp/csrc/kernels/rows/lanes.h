// Loads of the last, partial vector of a row, and sums of long rows.
#pragma once
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

// Lanes below n.
static inline vi lanes_below(int n) {
#if SX_WIDTH == 16
  const vi index = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif SX_WIDTH == 8
  const vi index = {0, 1, 2, 3, 4, 5, 6, 7};
#else
  const vi index = {0, 1, 2, 3};
#endif
  return index < n;
}

// The first n lanes of memory, `other` in the rest.
static inline vf load_or(const float* p, int n, vf other) { return select(lanes_below(n), load_part(p, n), other); }

// Sum of f(vector) over a row of n floats; a partial last vector has `other` in its free lanes, for which f must give 0.
// Longer rows are summed by stretches whose sums are added in float64.
template <typename F>
static inline __attribute__((always_inline)) float row_sum(const float* x, int64_t n, vf other, F f) {
  constexpr int64_t kStretch = 4096;
  double total = 0;
  for (int64_t at = 0; at < n; at += kStretch) {
    const float* p = x + at;
    const int64_t m = n - at < kStretch ? n - at : kStretch;
    vf s0{}, s1{}, s2{}, s3{};
    int64_t i = 0;
    for (; i + 4 * W <= m; i += 4 * W) {
      s0 += f(load(p + i));
      s1 += f(load(p + i + W));
      s2 += f(load(p + i + 2 * W));
      s3 += f(load(p + i + 3 * W));
    }
    for (; i + W <= m; i += W) s0 += f(load(p + i));
    if (i < m) s1 += f(load_or(p + i, static_cast<int>(m - i), other));
    const float sum = hsum((s0 + s1) + (s2 + s3));
    if (n <= kStretch) return sum;
    total += sum;
  }
  return static_cast<float>(total);
}

}  // namespace SX_ISA
}  // namespace sx
