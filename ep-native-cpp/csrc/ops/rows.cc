// Operators of the rows family.
#include "ops/rows.h"

#include <vector>

#include "kernels/isa.h"

namespace sx {

DType wide_type(DType t) {
  switch (t) {
    case DType::f32:
    case DType::f16:
    case DType::bf16: return DType::f32;
    case DType::f64: return DType::f64;
    default: return DType::i64;
  }
}

namespace {

struct ConvertArgs {
  Loop run;
  const char* x;
  char* y;
  int64_t n;
  int32_t from, to;  // bytes per element
};

void convert_range(const ConvertArgs& c, int64_t begin, int64_t end) {
  constexpr int64_t kUnit = 1024;
  const int64_t first = begin * kUnit, last = std::min(end * kUnit, c.n);
  c.run(c.y + first * c.to, c.x + first * c.from, nullptr, nullptr, last - first, nullptr);
}

void emit_convert(PlanCtx& p, DType from, DType to, int64_t n, const Place& x, const Place& y) {
  auto* c = emit_ranges<ConvertArgs>(p, convert_range, (n + 1023) / 1024, 0.5 * static_cast<double>(n));
  c->run = kernels().convert_loop(static_cast<int>(from), static_cast<int>(to));
  c->n = n;
  c->from = static_cast<int32_t>(item_size(from));
  c->to = static_cast<int32_t>(item_size(to));
  x.bind(p, c->x);
  y.bind(p, c->y);
}

}  // namespace

Place wide_input(PlanCtx& p, size_t i, DType wide) {
  if (!p.has(i)) return {};
  const Place stored{Place::input, i};
  if (p.dtype(i) == wide) return stored;
  const int64_t n = p.shape(i).size();
  const Place made{Place::scratch, p.scratch(static_cast<size_t>(n) * item_size(wide))};
  emit_convert(p, p.dtype(i), wide, n, stored, made);
  return made;
}

Place wide_output(PlanCtx& p, size_t i, DType wide) {
  if (!p.has_out(i)) return {};
  if (p.out_dtype(i) == wide) return {Place::output, i};
  return {Place::scratch, p.scratch(static_cast<size_t>(p.out_shape(i).size()) * item_size(wide))};
}

void narrow_output(PlanCtx& p, size_t i, DType wide, const Place& from) {
  if (p.has_out(i) && p.out_dtype(i) != wide) emit_convert(p, wide, p.out_dtype(i), p.out_shape(i).size(), from, {Place::output, i});
}

int64_t ranges(const PlanCtx& p, double ns, int64_t units) {
  if (p.threads() == 1 || ns < 2e4) return 1;
  return std::min(units, static_cast<int64_t>(std::min(ns / 5e3, 4.0 * p.threads())));
}

int axis_in(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw OpError("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

OpFamily rows_ops() {
  static const auto* all = [] {
    auto* t = new std::vector<OpDef>();
    for (OpFamily f : {softmax_ops(), norm_ops(), reduce_ops(), scan_ops()}) t->insert(t->end(), f.begin, f.end);
    return t;
  }();
  return {all->data(), all->data() + all->size()};
}

}  // namespace sx
