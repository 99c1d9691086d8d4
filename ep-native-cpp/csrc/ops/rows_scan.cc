// CumSum and CumProd.
#include <iterator>

#include "kernels/isa.h"
#include "ops/rows.h"

namespace sx {
namespace {

void infer_scan(InferCtx& c) { c.output(0, c.shape(0)); }

void plan_scan(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  const auto given = p.ints(1);
  if (given.size() != 1) throw OpError("the axis must be one number");
  const int axis = axis_in(given[0], s.rank);
  const DType wide = wide_type(p.dtype(0));
  const Place x = wide_input(p, 0, wide), y = wide_output(p, 0, wide);
  const auto& k = kernels();
  auto* run = wide == DType::f32 ? k.scan_f32 : wide == DType::f64 ? k.scan_f64 : k.scan_i64;
  auto* a = emit_ranges<Scan>(p, run, s.size(0, axis), 1.0 * static_cast<double>(s.size()));
  a->n = s[axis];
  a->inner = s.size(axis + 1, s.rank);
  a->product = p.op.def->name[3] == 'P';
  a->exclusive = p.op.attrs.get("exclusive", 0) != 0;
  a->reverse = p.op.attrs.get("reverse", 0) != 0;
  x.bind(p, a->x);
  y.bind(p, a->y);
  narrow_output(p, 0, wide, y);
}

const OpDef kTable[] = {
    {"CumSum", infer_scan, plan_scan, nullptr},
    {"CumProd", infer_scan, plan_scan, nullptr},
};

}  // namespace

OpFamily scan_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
