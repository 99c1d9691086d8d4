// Layer, root-mean-square, instance, group and batch normalisation, and LRN.
#include <iterator>

#include "kernels/isa.h"
#include "ops/rows.h"

namespace sx {
namespace {

// The shape of one number per row: 1 from the axis on.
Shape statistics(const Shape& s, int axis) {
  Shape out;
  for (int i = 0; i < s.rank; i++) out.push(i < axis ? s[i] : 1);
  return out;
}

void infer_norm(InferCtx& c) {
  const Shape& s = c.shape(0);
  const int axis = axis_in(c.op.attrs.get("axis", -1), s.rank);
  c.output(0, s);
  c.output(1, statistics(s, axis));
  c.output(2, statistics(s, axis));
}

struct RepeatArgs {
  const float* x;
  float* y;
  int64_t n, dims[kMaxRank], strides[kMaxRank];
  int32_t rank;
};
void repeat_range(const RepeatArgs& a, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    int64_t at = 0, rest = i;
    for (int d = a.rank - 1; d >= 0; d--) {
      at += rest % a.dims[d] * a.strides[d];
      rest /= a.dims[d];
    }
    a.y[i] = a.x[at];
  }
}

// A scale or bias as [n]: the dimensions of x from `axis` on, to which it broadcasts.
Place vector_of(PlanCtx& p, size_t i, const Shape& x, int axis) {
  const Place v = wide_input(p, i, DType::f32);
  if (v.kind == Place::none) return v;
  const Shape& s = p.shape(i);
  const int64_t n = x.size(axis, x.rank);
  const int extra = x.rank - s.rank;
  for (int d = 0; d < s.rank; d++)
    if (s[d] != 1 && (d + extra < axis || s[d] != x[d + extra]))
      throw OpError("a scale or bias of shape " + s.str() + " does not broadcast to the normalised dimensions of " + x.str());
  if (s.size() == n) return v;
  const Place made{Place::scratch, p.scratch(static_cast<size_t>(n) * sizeof(float))};
  auto* a = emit_ranges<RepeatArgs>(p, repeat_range, n, static_cast<double>(n));
  a->n = n;
  for (int d = axis; d < x.rank; d++) {
    const int at = d - extra;
    a->dims[a->rank] = x[d];
    a->strides[a->rank++] = at < 0 || s[at] == 1 ? 0 : s.size(at + 1, s.rank);
  }
  v.bind(p, a->x);
  made.bind(p, a->y);
  return made;
}

struct NormInputs {
  Place x, residual, scale, bias;
};

void emit_norm(PlanCtx& p, const NormInputs& in, bool rms, size_t sum_at, size_t mean_at, size_t inverse_at) {
  const Shape& s = p.shape(0);
  const int axis = axis_in(p.op.attrs.get("axis", -1), s.rank);
  const int64_t n = s.size(axis, s.rank);
  const DType f32 = DType::f32;
  const Place y = wide_output(p, 0, f32), sum = wide_output(p, sum_at, f32), mean = wide_output(p, mean_at, f32), inverse = wide_output(p, inverse_at, f32);
  auto* a = emit_ranges<Norm>(p, kernels().norm_rows, n ? s.size() / n : 0, 0.3 * static_cast<double>(s.size()));
  a->n = n;
  a->epsilon = static_cast<float>(p.op.attrs.getf("epsilon", 9.999999747378752e-06));
  a->rms = rms;
  in.x.bind(p, a->x);
  in.residual.bind(p, a->residual);
  in.scale.bind(p, a->scale);
  in.bias.bind(p, a->bias);
  y.bind(p, a->y);
  sum.bind(p, a->sum);
  mean.bind(p, a->mean);
  inverse.bind(p, a->inverse);
  narrow_output(p, 0, f32, y);
  for (auto& o : {std::make_pair(sum_at, sum), std::make_pair(mean_at, mean), std::make_pair(inverse_at, inverse)})
    if (o.second.kind != Place::none) narrow_output(p, o.first, f32, o.second);
}

constexpr size_t kNoOutput = 100;

void plan_norm(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const bool rms = p.op.def->name[0] != 'L';
  const int axis = axis_in(p.op.attrs.get("axis", -1), s.rank);
  const NormInputs in = {wide_input(p, 0, DType::f32), {}, vector_of(p, 1, s, axis), vector_of(p, 2, s, axis)};
  if (rms)
    emit_norm(p, in, true, kNoOutput, kNoOutput, 1);
  else
    emit_norm(p, in, false, kNoOutput, 1, 2);
}

// sx.AddLayerNorm(x, residual, scale, bias) -> normalised sum, sum; attribute rms.
void infer_add_norm(InferCtx& c) {
  if (c.shape(0) != c.shape(1)) throw OpError("the shapes " + c.shape(0).str() + " and " + c.shape(1).str() + " must be equal");
  c.output(0, c.shape(0));
  c.output(1, c.shape(0));
}
void plan_add_norm(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const int axis = axis_in(p.op.attrs.get("axis", -1), s.rank);
  const NormInputs in = {wide_input(p, 0, DType::f32), wide_input(p, 1, DType::f32), vector_of(p, 2, s, axis), vector_of(p, 3, s, axis)};
  emit_norm(p, in, p.op.attrs.get("rms", 0) != 0, 1, kNoOutput, kNoOutput);
}

void check_channels(InferCtx& c, size_t i, int64_t channels) {
  if (c.shape(i).rank != 1 || c.shape(i)[0] != channels)
    throw OpError("a tensor of " + std::to_string(channels) + " channels needs scale, bias and statistics of that length, got " + c.shape(i).str());
}

void infer_channels(InferCtx& c) {
  const Shape& s = c.shape(0);
  if (s.rank < 2) throw OpError("the input must be [N, C, ...], got " + s.str());
  for (size_t i = 1; i < c.op.in.size(); i++) check_channels(c, i, s[1]);
  c.output(0, s);
}
void infer_lrn(InferCtx& c) {
  infer_channels(c);
  const int64_t size = c.op.attrs.get("size", 1);
  if (size < 1) throw OpError("size is " + std::to_string(size) + "; a window has at least one channel");
}
void infer_group(InferCtx& c) {
  infer_channels(c);
  const int64_t groups = c.op.attrs.get("num_groups", 0);
  if (groups < 1 || c.shape(0)[1] % groups) throw OpError(std::to_string(groups) + " groups do not divide the channels of " + c.shape(0).str());
}

void plan_group(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const int64_t groups = p.op.def->name[0] == 'I' ? s[1] : p.op.attrs.get("num_groups", 1);
  const Place x = wide_input(p, 0, DType::f32), scale = wide_input(p, 1, DType::f32), bias = wide_input(p, 2, DType::f32);
  const Place y = wide_output(p, 0, DType::f32);
  auto* g = emit_ranges<GroupNorm>(p, kernels().group_norm, s[0] * groups, 0.3 * static_cast<double>(s.size()));
  g->groups = groups;
  g->channels = s[1] / groups;
  g->inner = s.size(2, s.rank);
  g->epsilon = static_cast<float>(p.op.attrs.getf("epsilon", 1e-5));
  x.bind(p, g->x);
  scale.bind(p, g->scale);
  bias.bind(p, g->bias);
  y.bind(p, g->y);
  narrow_output(p, 0, DType::f32, y);
}

void plan_batch(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  Place in[5];
  for (size_t i = 0; i < 5; i++) in[i] = wide_input(p, i, DType::f32);
  const Place y = wide_output(p, 0, DType::f32);
  auto* b = emit_ranges<BatchNorm>(p, kernels().batch_norm, s[0] * s[1], 0.2 * static_cast<double>(s.size()) + 10.0 * static_cast<double>(s[0] * s[1]));
  b->channels = s[1];
  b->inner = s.size(2, s.rank);
  b->epsilon = static_cast<float>(p.op.attrs.getf("epsilon", 1e-5));
  in[0].bind(p, b->x);
  in[1].bind(p, b->scale);
  in[2].bind(p, b->bias);
  in[3].bind(p, b->mean);
  in[4].bind(p, b->variance);
  y.bind(p, b->y);
  narrow_output(p, 0, DType::f32, y);
}

void plan_lrn(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const Place x = wide_input(p, 0, DType::f32), y = wide_output(p, 0, DType::f32);
  const int64_t size = p.op.attrs.get("size", 1);
  auto* l = emit_ranges<Lrn>(p, kernels().lrn, s[0] * s[1], 0.2 * static_cast<double>(s.size() * size));
  l->channels = s[1];
  l->inner = s.size(2, s.rank);
  l->size = size;
  l->alpha = static_cast<float>(p.op.attrs.getf("alpha", 1e-4));
  l->beta = static_cast<float>(p.op.attrs.getf("beta", 0.75));
  l->bias = static_cast<float>(p.op.attrs.getf("bias", 1.0));
  x.bind(p, l->x);
  y.bind(p, l->y);
  narrow_output(p, 0, DType::f32, y);
}

const OpDef kTable[] = {
    {"LayerNormalization", infer_norm, plan_norm, nullptr},
    {"RMSNormalization", infer_norm, plan_norm, nullptr},
    {"SimplifiedLayerNormalization", infer_norm, plan_norm, nullptr},
    {"com.microsoft.SimplifiedLayerNormalization", infer_norm, plan_norm, nullptr},
    {"AddLayerNorm", infer_add_norm, plan_add_norm, nullptr},
    {"InstanceNormalization", infer_channels, plan_group, nullptr},
    {"GroupNormalization", infer_group, plan_group, nullptr},
    {"BatchNormalization", infer_channels, plan_batch, nullptr},
    {"LRN", infer_lrn, plan_lrn, nullptr},
};

}  // namespace

OpFamily norm_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
