// Blocked operands of the conv family: an input or output that is plain is converted on the way.
#pragma once
#include "engine/op.h"
#include "kernels/args.h"
#include "ops/place.h"

namespace sx {

inline int64_t blocks_of(int64_t channels) { return (channels + kBlock - 1) / kBlock; }

// Whether plain and blocked storage of this shape are the same bytes.
inline bool same_bytes(const Shape& s) { return s.rank >= 2 && s.size(2, s.rank) == 1 && s[1] % kBlock == 0; }

// Input i in blocked form; emits the conversion of a plain one.
Place blocked_input(PlanCtx& p, size_t i);
// Where to write output i in blocked form.
Place blocked_output(PlanCtx& p, size_t i);
// To be called when the steps that write `from` are emitted: emits the conversion to a plain output i.
void finish_output(PlanCtx& p, size_t i, const Place& from);

// An operand with its shape and layout.
struct Tensor {
  Place at;
  Shape shape;
  Layout layout = Layout::plain;
};
inline Tensor input_tensor(PlanCtx& p, size_t i) { return {{Place::input, i}, p.shape(i), p.layout(i)}; }

// As blocked_input, of any tensor.
Place blocked(PlanCtx& p, const Tensor& t);
Shape broadcast(const Shape& a, const Shape& b);
// Emits y = act(a op b), y blocked of shape `out`, which a and b broadcast to.
void emit_map(PlanCtx& p, const Tensor& a, const Tensor& b, MapOp op, Act act, float alpha, float beta, const Place& y, const Shape& out);

// Whether work of so many bytes moved or floating-point operations pays for a second thread.
inline bool worth_parallel(int64_t bytes, double flops = 0) { return bytes > (1 << 18) || flops > 1e6; }

}  // namespace sx
