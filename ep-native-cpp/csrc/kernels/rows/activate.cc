// Activations of stretches of floats: a loop each, so that nothing is chosen or called per vector.
#include "kernels/rows/activation.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

template <typename F>
static inline void each(float* p, int64_t n, F&& f) {
  for (int64_t i = 0; i < n; i += W) store(p + i, f(load(p + i)));
}

void activate_floats(Act act, float* p, int64_t n, float alpha, float beta) {
  switch (act) {
    case Act::none: return;
    case Act::relu: return each(p, n, [](vf x) { return vmax_keep(x, vf{}); });
    case Act::sigmoid: return each(p, n, [](vf x) { return vsigmoid(x); });
    case Act::swish: return each(p, n, [alpha](vf x) { return x * vsigmoid(x * alpha); });
    case Act::gelu: return each(p, n, [](vf x) { return vgelu(x); });
    case Act::gelu_tanh: return each(p, n, [](vf x) { return vgelu_tanh(x); });
    case Act::tanh: return each(p, n, [](vf x) { return vtanh(x); });
    case Act::mish: return each(p, n, [](vf x) { return vmish(x); });
    case Act::hard_swish: return each(p, n, [](vf x) { return activate(Act::hard_swish, x, 0, 0); });
    case Act::hard_sigmoid: return each(p, n, [alpha, beta](vf x) { return activate(Act::hard_sigmoid, x, alpha, beta); });
    default: return each(p, n, [act, alpha, beta](vf x) { return activate(act, x, alpha, beta); });
  }
}

}  // namespace SX_ISA
}  // namespace sx
