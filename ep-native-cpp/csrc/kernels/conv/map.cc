// Elementwise arithmetic on blocked planes.
#include "kernels/conv/nan.h"
#include "kernels/conv/tail.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

template <MapOp op>
static inline vf combine(vf x, vf b, vf c) {
  switch (op) {
    case MapOp::add: return x + b;
    case MapOp::sub: return x - b;
    case MapOp::rsub: return b - x;
    case MapOp::mul: return x * b;
    case MapOp::div: return x / b;
    case MapOp::rdiv: return b / x;
    case MapOp::max: return max_or_nan(x, b);
    case MapOp::min: return min_or_nan(x, b);
    case MapOp::affine: return x * b + c;
    case MapOp::none: return x;
  }
  return x;
}

template <MapOp op, bool relu>
static void apply(const PlaneMap& m) {
  auto done = [](vf v) { return relu ? vmax_keep(v, vf{}) : v; };
  if (m.operand == MapOperand::same) {
    for (int64_t i = 0; i < m.n; i += W) store(m.y + i, done(combine<op>(load(m.x + i), load(m.b + i), vf{})));
    return;
  }
  if (m.operand == MapOperand::pixel) {
    for (int64_t i = 0; i < m.n; i += 16) {
      const vf b = splat(m.b[i]);
#pragma GCC unroll 4
      for (int v = 0; v < 16; v += W) store(m.y + i + v, done(combine<op>(load(m.x + i + v), b, vf{})));
    }
    return;
  }
  vf b[kLanes16], c[kLanes16];
#pragma GCC unroll 4
  for (int v = 0; v < kLanes16; v++) {
    b[v] = m.operand == MapOperand::lanes ? load(m.b + v * W) : m.b ? splat(m.b[0]) : vf{};
    c[v] = m.c ? load(m.c + v * W) : vf{};
  }
  for (int64_t i = 0; i < m.n; i += 16)
#pragma GCC unroll 4
    for (int v = 0; v < kLanes16; v++) store(m.y + i + v * W, done(combine<op>(load(m.x + i + v * W), b[v], c[v])));
}

template <MapOp op>
static void apply_act(const PlaneMap& m) {
  if (m.act == Act::relu)
    apply<op, true>(m);
  else
    apply<op, false>(m);
}

// In stretches that stay in L1 where an activation makes a second pass.
void map_plane(const PlaneMap& whole) {
  const bool second = whole.act != Act::none && whole.act != Act::relu;
  const int64_t stretch = second ? 2048 : whole.n;
  for (int64_t at = 0; at < whole.n; at += stretch) {
    PlaneMap m = whole;
    m.x += at;
    m.y += at;
    m.n = whole.n - at < stretch ? whole.n - at : stretch;
    if (m.operand == MapOperand::same || m.operand == MapOperand::pixel) m.b += at;
    switch (m.op) {
      case MapOp::none: apply_act<MapOp::none>(m); break;
      case MapOp::add: apply_act<MapOp::add>(m); break;
      case MapOp::sub: apply_act<MapOp::sub>(m); break;
      case MapOp::rsub: apply_act<MapOp::rsub>(m); break;
      case MapOp::mul: apply_act<MapOp::mul>(m); break;
      case MapOp::div: apply_act<MapOp::div>(m); break;
      case MapOp::rdiv: apply_act<MapOp::rdiv>(m); break;
      case MapOp::max: apply_act<MapOp::max>(m); break;
      case MapOp::min: apply_act<MapOp::min>(m); break;
      case MapOp::affine: apply_act<MapOp::affine>(m); break;
    }
    if (second) activate_floats(m.act, m.y, m.n, m.alpha, m.beta);
  }
}

}  // namespace SX_ISA
}  // namespace sx
