// LRN and LpNormalization.
#include "kernels/rows/activation.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// Units are (sample, channel) pairs.
void lrn(const Lrn& l, int64_t begin, int64_t end) {
  for (int64_t u = begin; u < end; u++) {
    const int64_t c = u % l.channels, before = (l.size - 1) / 2, after = l.size / 2;
    const int64_t first = c < before ? -c : -before, last = l.channels - 1 - c < after ? l.channels - 1 - c : after;
    const float* x = l.x + u * l.inner;
    float* y = l.y + u * l.inner;
    for (int64_t i = 0; i < l.inner; i += W) {
      const int part = l.inner - i < W ? static_cast<int>(l.inner - i) : W;
      vf squares{};
      for (int64_t k = first; k <= last; k++) {
        const vf v = load_part(x + k * l.inner + i, part);
        squares += v * v;
      }
      const vf t = squares * (l.alpha / static_cast<float>(l.size)) + l.bias;
      const vf root = vsqrt(t), power = l.beta == 0.75f ? root * vsqrt(root) : vexp(vlog(t) * l.beta);
      store_part(y + i, load_part(x + i, part) / power, part);
    }
  }
}

void lp_norm(const LpNorm& l, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; o++)
    for (int64_t j = 0; j < l.inner; j++) {
      const float* x = l.x + o * l.n * l.inner + j;
      float* y = l.y + o * l.n * l.inner + j;
      double sum = 0;
      for (int64_t i = 0; i < l.n; i++) {
        const double v = x[i * l.inner];
        sum += l.p == 1 ? __builtin_fabs(v) : v * v;
      }
      const float norm = static_cast<float>(l.p == 1 ? sum : __builtin_sqrt(sum));
      for (int64_t i = 0; i < l.n; i++) y[i * l.inner] = norm == 0 ? 0.0f : x[i * l.inner] / norm;
    }
}

}  // namespace SX_ISA
}  // namespace sx
