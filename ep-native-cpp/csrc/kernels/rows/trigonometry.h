// Sine, cosine and tangent of float32 vectors: reduction by multiples of pi in three parts, odd polynomials fitted for this
// file in float64 (relative error before rounding: sine 3e-11 on |r| <= pi/2 and 4e-9 on pi/4, cosine 2e-10).
#pragma once
#include "kernels/rows/activation.h"

namespace sx {
namespace SX_ISA {

// Up to here the parts of n pi are exact; beyond, and for inf and NaN, the C library does it lane by lane.
constexpr float kExactTurns = 8192.0f;

template <float (*F)(float)>
static inline vf by_lanes(vf x) {
  alignas(64) float lane[W];
  *reinterpret_cast<vf*>(lane) = x;
  for (int i = 0; i < W; i++) lane[i] = F(lane[i]);
  return *reinterpret_cast<const vf*>(lane);
}
static inline float lane_sin(float x) { return __builtin_sinf(x); }
static inline float lane_cos(float x) { return __builtin_cosf(x); }
static inline float lane_tan(float x) { return __builtin_tanf(x); }

// x - n pi (parts of pi with few enough bits that n times each is exact).
static inline vf minus_pi(vf x, vf n) { return ((x - n * 3.140625f) - n * 9.67502593994140625e-4f) - n * 1.50995803e-7f; }

// sin(r), |r| <= pi / 2.
static inline vf sin_reduced(vf r) {
  constexpr float P[] = {-0.166666672f, 0.00833333097f, -0.00019840867f, 2.75253205e-06f, -2.38877469e-08f};
  const vf z = r * r;
  return polynomial(P, z) * (z * r) + r;
}

static inline vf vsin(vf x) {
  if (any(~(vabs(x) <= kExactTurns))) return by_lanes<lane_sin>(x);
  const vf n = vround(x * 0.318309886f);
  return as_float(as_int(sin_reduced(minus_pi(x, n))) ^ (to_int(n) << 31));
}

static inline vf vcos(vf x) {
  if (any(~(vabs(x) <= kExactTurns))) return by_lanes<lane_cos>(x);
  // cos(x) = sin(x + pi / 2), and n is a whole number and a half.
  const vf n = vround(x * 0.318309886f - 0.5f);
  return as_float(as_int(sin_reduced(minus_pi(x, n + 0.5f))) ^ ((to_int(n) + 1) << 31));
}

static inline vf vtan(vf x) {
  if (any(~(vabs(x) <= kExactTurns))) return by_lanes<lane_tan>(x);
  constexpr float S[] = {-0.166666552f, 0.00833215844f, -0.00019514958f};
  constexpr float C[] = {0.0416666456f, -0.0013887313f, 2.44327857e-05f};
  const vf n = vround(x * 0.636619772f);
  const vf r = minus_pi(x, n * 0.5f), z = r * r;
  const vf s = polynomial(S, z) * (z * r) + r, c = polynomial(C, z) * (z * z) - 0.5f * z + 1.0f;
  const vi odd = (to_int(n) & 1) != 0;
  return select(odd, -c, s) / select(odd, s, c);
}

}  // namespace SX_ISA
}  // namespace sx
