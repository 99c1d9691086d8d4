// Conv: shape, choice of the algorithm, and what the algorithms share.
#include "ops/conv.h"

#include <iterator>
#include <utility>

#include "ops/table.h"

namespace sx {
namespace {

struct PadVector {
  const float* from;
  float* to;
  int64_t n, padded;
};
void pad_vector_step(const void* args, Runtime&) {
  auto& a = *static_cast<const PadVector*>(args);
  std::memcpy(a.to, a.from, static_cast<size_t>(a.n) * sizeof(float));
  std::memset(a.to + a.n, 0, static_cast<size_t>(a.padded - a.n) * sizeof(float));
}

void infer_conv(InferCtx& c) {
  const ConvProblem p = conv_problem(c);
  const Shape out = shape_out(p.w, p.oc);
  c.output(0, c.has(kResidual) ? broadcast(out, c.shape(kResidual)) : out);
}

// Rows of a single pixel: their axis takes the place of the width, along which tiles of outputs lie. Nothing moves in memory.
void turn_columns(Windows& w) {
  if (w.w.in == 1 && w.w.out == 1 && w.w.kernel == 1 && !w.w.padded()) std::swap(w.h, w.w);
}

void convolve(PlanCtx& p, const ConvProblem& c, const ConvEnd& end) {
  if (plan_depthwise(p, c, end) || plan_winograd(p, c, end) || plan_dilated(p, c, end)) return;
  plan_direct(p, c, end);
}

void plan_conv(PlanCtx& p) {
  ConvProblem c = conv_problem(p);
  if (p.out_shape(0).size() == 0) return;
  const Shape shape = shape_out(c.w, c.oc);
  turn_columns(c.w);
  if (plan_few(p, c)) return;
  ConvEnd end{{}, blocked_output(p, 0), conv_tail(p.op.attrs)};
  if (!p.has(kResidual)) {
    convolve(p, c, end);
  } else if (p.shape(kResidual) == shape) {
    // Written in place where nothing else reads the residual (a single pixel's other names could be views of it).
    bool shared = c.w.pixels_out() == 1;
    for (int i = 0; i < c.parts; i++) shared |= p.op.in[part_input(i)] == p.op.in[kResidual];
    if (!shared && p.layout(kResidual) == Layout::blocked && p.out_layout(0) == Layout::blocked) p.reuse(0, kResidual);
    end.residual = blocked_input(p, kResidual);
    convolve(p, c, end);
  } else {
    // What was taken for a residual broadcasts: it is added afterwards.
    if (end.tail.affine) throw OpError("a residual " + p.shape(kResidual).str() + " does not have the shape " + shape.str());
    const Place sum{Place::scratch, p.scratch(static_cast<size_t>(storage_size(shape, Layout::blocked)) * sizeof(float))};
    const ConvTail tail = end.tail;
    ConvEnd inner{{}, sum, tail.residual_after ? tail : ConvTail{}};
    convolve(p, c, inner);
    emit_map(p, {sum, shape, Layout::blocked}, input_tensor(p, kResidual), MapOp::add, tail.residual_after ? Act::none : tail.act, tail.alpha, tail.beta, end.out,
             p.out_shape(0));
  }
  finish_output(p, 0, end.out);
}

const OpDef kTable[] = {{"Conv", infer_conv, plan_conv, nullptr}};

}  // namespace

ConvTail conv_tail(const Attributes& attrs) {
  ConvTail t{};
  t.act = static_cast<Act>(attrs.get("activation", 0));
  t.alpha = static_cast<float>(attrs.getf("act_alpha", 0));
  t.beta = static_cast<float>(attrs.getf("act_beta", 0));
  t.residual_after = static_cast<int32_t>(attrs.get("residual_after", 0));
  t.affine = attrs.has("post_scale") || attrs.has("post_shift");
  t.scale = static_cast<float>(attrs.getf("post_scale", 1));
  t.shift = static_cast<float>(attrs.getf("post_shift", 0));
  return t;
}

Packed padded_vector(PlanCtx& p, size_t i, int64_t n, int64_t padded) {
  Packed v;
  auto copy = [&](const void* data) {
    auto buffer = lasting_buffer(static_cast<size_t>(padded) * sizeof(float));
    float* to = static_cast<float*>(buffer->data);
    if (data) std::memcpy(to, data, static_cast<size_t>(n) * sizeof(float));
    std::memset(to + (data ? n : 0), 0, static_cast<size_t>(data ? padded - n : padded) * sizeof(float));
    return buffer;
  };
  if (!p.has(i)) {
    v.buffer = copy(nullptr);
  } else if (p.is_const(i)) {
    v.buffer = p.pack(i, "padded:" + std::to_string(padded), copy);
  } else {
    v.scratch = p.scratch(static_cast<size_t>(padded) * sizeof(float));
    auto* a = p.emit<PadVector>(pad_vector_step);
    a->n = n;
    a->padded = padded;
    p.bind_in(a->from, i);
    p.bind_scratch(a->to, v.scratch);
  }
  return v;
}

OpFamily conv_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
