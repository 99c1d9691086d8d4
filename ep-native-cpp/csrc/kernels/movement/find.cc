// Scans for the few elements that matter.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// Whether any lane of a comparison's result is set.
static inline bool any_lane(vi mask) {
#if SX_WIDTH == 16
  return _mm512_movepi32_mask((__m512i)mask) != 0;
#elif SX_WIDTH == 8
  return _mm256_movemask_ps((__m256)mask) != 0;
#else
  return (mask[0] | mask[1] | mask[2] | mask[3]) != 0;
#endif
}

int64_t find_passing(const float* x, int64_t begin, int64_t end, float bar, bool largest) {
  const vf limit = splat(bar);
  int64_t i = begin;
  for (; i + 2 * W <= end; i += 2 * W) {
    const vf a = load(x + i), b = load(x + i + W);
    const vi passing = largest ? ~(a <= limit) | ~(b <= limit) : ~(a >= limit) | ~(b >= limit);
    if (any_lane(passing)) break;
  }
  for (; i < end; i++)
    if (largest ? !(x[i] <= bar) : !(x[i] >= bar)) return i;
  return end;
}

}  // namespace SX_ISA
}  // namespace sx
