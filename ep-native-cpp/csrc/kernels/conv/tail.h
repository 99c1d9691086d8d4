// What becomes of a convolution's sums on their way to memory.
#pragma once
#include "kernels/conv/args.h"
#include "kernels/rows/activation.h"
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

constexpr int kLanes16 = 16 / W;  // vectors of one block

// Tails that are done in registers: a residual, then nothing, Relu or Clip.
static inline bool is_simple(const ConvTail& t) { return (t.act == Act::none || t.act == Act::relu || t.act == Act::clip) && !t.affine && !t.residual_after; }

// The bounds of a simple tail's activation; without any, none.
struct Bounds {
  vf low, high;
  bool any;
};
static inline Bounds bounds_of(const ConvTail& t) {
  const bool clip = t.act == Act::clip;
  return {splat(clip ? t.alpha : 0.0f), splat(clip ? t.beta : __builtin_inff()), t.act != Act::none};
}
static inline vf bound(const Bounds& b, vf x) { return vmin_keep(vmax_keep(x, b.low), b.high); }

// n floats (a multiple of W) at `sums`, bias added already, through the rest of the tail; the residual lies at `residual`
// and the result goes to y.
static inline void finish_floats(const ConvTail& t, float* sums, const float* residual, float* y, int64_t n) {
  if (residual && !t.residual_after)
    for (int64_t i = 0; i < n; i += W) store(sums + i, load(sums + i) + load(residual + i));
  activate_floats(t.act, sums, n, t.alpha, t.beta);
  if (t.affine)
    for (int64_t i = 0; i < n; i += W) store(sums + i, load(sums + i) * t.scale + t.shift);
  if (residual && t.residual_after)
    for (int64_t i = 0; i < n; i += W) store(y + i, load(sums + i) + load(residual + i));
  else
    for (int64_t i = 0; i < n; i += W) store(y + i, load(sums + i));
}

}  // namespace SX_ISA
}  // namespace sx
