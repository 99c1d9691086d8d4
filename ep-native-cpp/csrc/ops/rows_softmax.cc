// Softmax, LogSoftmax, Hardmax, LpNormalization, ArgMax, ArgMin: operators along one axis.
#include <iterator>

#include "kernels/isa.h"
#include "ops/rows.h"

namespace sx {
namespace {

// x as [outer][n][inner] around an axis; a scalar is one row of one.
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
  Around(const Shape& s, int64_t axis) {
    if (s.rank == 0) return;
    const int a = axis_in(axis, s.rank);
    outer = s.size(0, a);
    n = s[a];
    inner = s.size(a + 1, s.rank);
  }
};

void infer_same(InferCtx& c) { c.output(0, c.shape(0)); }

void plan_softmax(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const Around a(s, p.op.attrs.get("axis", -1));
  const Place x = wide_input(p, 0, DType::f32);
  if (x.kind == Place::input) p.reuse(0, 0);
  const Place y = wide_output(p, 0, DType::f32);
  const bool rows = a.inner == 1;
  const int64_t units = rows ? a.outer : a.outer * ((a.inner + kStrip - 1) / kStrip);
  auto* m = emit_ranges<Softmax>(p, rows ? kernels().softmax_rows : kernels().softmax_strips, units, 0.7 * static_cast<double>(s.size()));
  m->n = a.n;
  m->inner = a.inner;
  m->log = p.op.def->name[0] == 'L';
  x.bind(p, m->x);
  y.bind(p, m->y);
  narrow_output(p, 0, DType::f32, y);
}

void emit_arg(PlanCtx& p, const Around& a, DType wide, const Place& x, const Place& y, bool least, bool last) {
  const auto& k = kernels();
  auto* run = wide == DType::f32 ? k.arg_reduce_f32 : wide == DType::f64 ? k.arg_reduce_f64 : k.arg_reduce_i64;
  auto* m = emit_ranges<ArgReduce>(p, run, a.outer, static_cast<double>(a.outer * a.n * a.inner));
  m->n = a.n;
  m->inner = a.inner;
  m->least = least;
  m->last = last;
  x.bind(p, m->x);
  y.bind(p, m->y);
}

void plan_hardmax(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const Around a(s, p.op.attrs.get("axis", -1));
  const Place index{Place::scratch, p.scratch(static_cast<size_t>(a.outer * a.inner) * sizeof(int64_t))};
  emit_arg(p, a, DType::f32, wide_input(p, 0, DType::f32), index, false, false);
  const Place y = wide_output(p, 0, DType::f32);
  auto* h = emit_ranges<OneHot>(p, kernels().one_hot, a.outer, static_cast<double>(s.size()));
  h->n = a.n;
  h->inner = a.inner;
  index.bind(p, h->index);
  y.bind(p, h->y);
  narrow_output(p, 0, DType::f32, y);
}

void infer_arg(InferCtx& c) {
  const Shape& s = c.shape(0);
  Shape out;
  const int axis = s.rank ? axis_in(c.op.attrs.get("axis", 0), s.rank) : -1;
  const bool keep = c.op.attrs.get("keepdims", 1) != 0;
  for (int i = 0; i < s.rank; i++)
    if (i != axis)
      out.push(s[i]);
    else if (keep)
      out.push(1);
  if (axis >= 0 && s[axis] == 0 && out.size() != 0) throw OpError("axis " + std::to_string(axis) + " of " + s.str() + " is empty, so it has no greatest or least element");
  c.output(0, out);
}

void plan_arg(PlanCtx& p) {
  if (p.out_shape(0).size() == 0) return;
  const Around a(p.shape(0), p.op.attrs.get("axis", 0));
  const DType wide = wide_type(p.dtype(0));
  emit_arg(p, a, wide, wide_input(p, 0, wide), {Place::output, 0}, std::string(p.op.def->name) == "ArgMin", p.op.attrs.get("select_last_index", 0) != 0);
}

void plan_lp(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const Around a(s, p.op.attrs.get("axis", -1));
  const Place x = wide_input(p, 0, DType::f32), y = wide_output(p, 0, DType::f32);
  auto* m = emit_ranges<LpNorm>(p, kernels().lp_norm, a.outer, 2.0 * static_cast<double>(s.size()));
  m->n = a.n;
  m->inner = a.inner;
  m->p = static_cast<int32_t>(p.op.attrs.get("p", 2));
  x.bind(p, m->x);
  y.bind(p, m->y);
  narrow_output(p, 0, DType::f32, y);
}

const OpDef kTable[] = {
    {"Softmax", infer_same, plan_softmax, nullptr},      {"LogSoftmax", infer_same, plan_softmax, nullptr}, {"Hardmax", infer_same, plan_hardmax, nullptr},
    {"ArgMax", infer_arg, plan_arg, nullptr},            {"ArgMin", infer_arg, plan_arg, nullptr},          {"LpNormalization", infer_same, plan_lp, nullptr},
};

}  // namespace

OpFamily softmax_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
