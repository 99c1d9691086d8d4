// What operators on rows share: tensors in a wider type than they are stored in, and work split by ranges of units.
#pragma once
#include <algorithm>

#include "engine/op.h"
#include "ops/place.h"
#include "ops/table.h"

namespace sx {

// Input i as elements of `wide`; emits the conversion of another type. None for an absent input.
Place wide_input(PlanCtx& p, size_t i, DType wide);
// Where to write output i as elements of `wide`. None for an output that nobody wants.
Place wide_output(PlanCtx& p, size_t i, DType wide);
// To be called when the steps that write `from` are emitted: emits the conversion of an output stored in another type.
void narrow_output(PlanCtx& p, size_t i, DType wide, const Place& from);

// float32 for the 16-bit floats, float64 and float32 for themselves, int64 for integers and bool.
DType wide_type(DType t);

// How many ranges to split work of `ns` nanoseconds in `units` into; 1 where threads do not pay.
int64_t ranges(const PlanCtx& p, double ns, int64_t units);

template <typename A>
struct RangeArgs {
  A a;
  void (*run)(const A&, int64_t, int64_t);
  int64_t units, ranges;
};

template <typename A>
void range_step(const void* args, Runtime& rt) {
  auto& r = *static_cast<const RangeArgs<A>*>(args);
  if (r.ranges <= 1) return r.run(r.a, 0, r.units);
  rt.pool->parallel(r.ranges, [&r](int64_t i) { r.run(r.a, r.units * i / r.ranges, r.units * (i + 1) / r.ranges); });
}

// Emits a step over `units` that takes `ns` in all; its argument is to be filled in and bound next.
template <typename A>
A* emit_ranges(PlanCtx& p, void (*run)(const A&, int64_t, int64_t), int64_t units, double ns) {
  auto* r = p.emit<RangeArgs<A>>(range_step<A>);
  r->run = run;
  r->units = units;
  r->ranges = ranges(p, ns, units);
  return &r->a;
}

// An axis of a tensor of that rank, or OpError.
int axis_in(int64_t axis, int rank);

OpFamily softmax_ops();
OpFamily norm_ops();
OpFamily reduce_ops();
OpFamily scan_ops();

}  // namespace sx
