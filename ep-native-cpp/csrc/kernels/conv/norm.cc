// Normalisation over the channels of every pixel of a blocked tensor.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

constexpr int64_t kPixels = 8;  // whose channels stay in L1 for the three passes

// The lanes of vector v of a block of which `lanes` are channels.
static inline vi channel_mask(int64_t lanes, int v) {
  vi index;
  for (int i = 0; i < W; i++) index[i] = v + i;
  return index < splat(static_cast<int32_t>(lanes));
}

// Calls f(block, first lane, mask) for the vectors of a pixel's channels; lanes that are no channels are off in the mask.
template <typename F>
static inline __attribute__((always_inline)) void each_vector(int64_t channels, F&& f) {
  int64_t b = 0;
  for (; (b + 1) * 16 <= channels; b++)
#pragma GCC unroll 4
    for (int v = 0; v < 16; v += W) f(b, v, splat(-1));
  if (b * 16 < channels)
    for (int v = 0; v < 16; v += W) f(b, v, channel_mask(channels - b * 16, v));
}

void norm_pixels(const NormPixels& n, int64_t first, int64_t last) {
  const float count = static_cast<float>(n.channels);
  for (int64_t p = first; p < last; p += kPixels) {
    const int64_t pixels = last - p < kPixels ? last - p : kPixels;
    const float* x = n.x + p * 16;
    float* y = n.y + p * 16;
    vf sum[kPixels] = {}, square[kPixels] = {}, mean[kPixels], factor[kPixels];
    each_vector(n.channels, [&](int64_t b, int v, vi mask) {
      for (int64_t i = 0; i < pixels; i++) sum[i] += as_float(as_int(load(x + b * n.plane + i * 16 + v)) & mask);
    });
    for (int64_t i = 0; i < pixels; i++) mean[i] = splat(hsum(sum[i]) / count);
    each_vector(n.channels, [&](int64_t b, int v, vi mask) {
      for (int64_t i = 0; i < pixels; i++) {
        const vf d = as_float(as_int(load(x + b * n.plane + i * 16 + v) - mean[i]) & mask);
        square[i] += d * d;
      }
    });
    for (int64_t i = 0; i < pixels; i++) factor[i] = splat(1.0f / __builtin_sqrtf(hsum(square[i]) / count + n.epsilon));
    for (int64_t b = 0; b * 16 < n.channels; b++)
      for (int v = 0; v < 16; v += W) {
        const vf scale = load(n.scale + b * 16 + v), shift = load(n.shift + b * 16 + v);
        for (int64_t i = 0; i < pixels; i++) store(y + b * n.plane + i * 16 + v, (load(x + b * n.plane + i * 16 + v) - mean[i]) * factor[i] * scale + shift);
      }
  }
}

}  // namespace SX_ISA
}  // namespace sx
