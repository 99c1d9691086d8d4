// Convolutions: what the algorithms share.
#pragma once
#include "kernels/args.h"
#include "ops/blocked.h"
#include "ops/conv_shape.h"

namespace sx {

// Inputs of Conv, beyond ONNX's three: a residual of the output's shape; scale and shift per input channel, applied with
// pre_activation before the convolution; and further parts of X, joined along the channels.
enum ConvInput : size_t { kX, kW, kB, kResidual, kPreScale, kPreShift, kMoreParts };
constexpr int kMaxParts = 64;

struct ConvProblem {
  Windows w;
  int64_t oc = 0, group = 1;
  int parts = 1;        // of X
  int64_t shuffle = 1;  // X is the input before BlockShuffle with this group
  bool turned = false;  // the weights are a matrix [input channels, output channels], of a 1x1 convolution

  int64_t group_in() const { return w.c / group; }
  int64_t group_out() const { return oc / group; }
  int64_t taps() const { return w.d.kernel * w.h.kernel * w.w.kernel; }
  double flops() const { return 2.0 * w.n * oc * w.pixels_out() * group_in() * taps(); }
  // The convolution's channel that channel c of X is.
  int64_t logical(int64_t c) const { return c % (w.c / shuffle) * shuffle + c / (w.c / shuffle); }
  // Floats in W from output channel to output channel, and from input channel to input channel.
  int64_t weights_out() const { return turned ? 1 : group_in() * taps(); }
  int64_t weights_in() const { return turned ? oc : taps(); }
  bool depthwise() const { return group == w.c && oc == w.c && group > 1; }
};

inline size_t part_input(int part) { return part == 0 ? kX : kMoreParts + static_cast<size_t>(part) - 1; }

// Reads shapes and attributes; the channels of X are those of all its parts. Throws OpError for what does not fit.
template <typename Context>
ConvProblem conv_problem(Context& c) {
  ConvProblem p;
  const Shape& weights = c.shape(kW);
  Shape x = c.shape(kX);
  p.turned = c.op.attrs.get("weights_turned", 0) != 0;
  if (weights.rank != (p.turned ? 2 : x.rank)) throw OpError("weights " + weights.str() + " do not fit an input " + x.str());
  for (p.parts = 1; c.has(part_input(p.parts)); p.parts++) x[1] += c.shape(part_input(p.parts))[1];
  constexpr int64_t point[] = {1, 1, 1};
  p.w = windows_of(c.op.attrs, x, p.turned ? point : weights.d + 2, false);
  p.oc = weights[p.turned ? 1 : 0];
  p.group = c.op.attrs.get("group", 1);
  p.shuffle = c.op.attrs.get("input_shuffle", 1);
  if (p.shuffle < 1 || p.w.c % p.shuffle) throw OpError("cannot shuffle " + x.str() + " in " + std::to_string(p.shuffle) + " groups");
  if (p.group < 1 || p.w.c != weights[p.turned ? 0 : 1] * p.group || p.oc % p.group)
    throw OpError("an input " + x.str() + " and weights " + weights.str() + " do not fit group " + std::to_string(p.group));
  if (c.has(kB) && (c.shape(kB).rank != 1 || c.shape(kB)[0] != p.oc)) throw OpError("the bias must have shape [" + std::to_string(p.oc) + "], not " + c.shape(kB).str());
  return p;
}

// The tail by the attributes activation, act_alpha, act_beta, residual_after, post_scale, post_shift; pointers null.
ConvTail conv_tail(const Attributes& attrs);

// Input i (or zeros where absent), `n` floats, padded with zeros to `padded`.
Packed padded_vector(PlanCtx& p, size_t i, int64_t n, int64_t padded);

// Where a convolution ends: blocked operands, and the tail without its pointers.
struct ConvEnd {
  Place residual, out;
  ConvTail tail;
};

// The algorithms; those that return false do not fit the problem.
// Writes the output, plain, itself.
bool plan_few(PlanCtx& p, const ConvProblem& c);
bool plan_depthwise(PlanCtx& p, const ConvProblem& c, const ConvEnd& end);
bool plan_winograd(PlanCtx& p, const ConvProblem& c, const ConvEnd& end);
bool plan_dilated(PlanCtx& p, const ConvProblem& c, const ConvEnd& end);
void plan_direct(PlanCtx& p, const ConvProblem& c, const ConvEnd& end);

}  // namespace sx
