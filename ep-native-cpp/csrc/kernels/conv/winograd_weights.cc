// Winograd's transform of weights, G g G', in double: the products that follow lose enough digits.
#include "kernels/conv/tile.h"
#include "kernels/conv/winograd_form.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

constexpr int kDoubles = W / 2;
typedef double vd __attribute__((vector_size(kDoubles * 8)));
typedef float Narrow __attribute__((vector_size(kDoubles * 4), may_alias, aligned(4)));

// Taps to the points of winograd.cc. At a point the taps are a polynomial's coefficients, divided by what the products of a
// tile would be multiplied with otherwise.
static inline __attribute__((always_inline)) void to_points(const vd (&g)[1], vd (&o)[1]) { o[0] = g[0]; }
static inline __attribute__((always_inline)) void to_points(const vd (&g)[3], vd (&o)[4]) {
  const vd even = (g[0] + g[2]) * .5, odd = g[1] * .5;
  o[0] = g[0];
  o[1] = even + odd;
  o[2] = even - odd;
  o[3] = g[2];
}
template <int K>
static inline __attribute__((always_inline)) void to_points(const vd (&g)[K], vd (&o)[6]) {
  vd even = g[0] + g[2], odd = g[1], even2 = g[0] + g[2] * 4., odd2 = g[1] * 2.;
  if constexpr (K == 5) {
    even += g[4];
    odd += g[3];
    even2 += g[4] * 16.;
    odd2 += g[3] * 8.;
  }
  o[0] = g[0] * .25;
  o[1] = (even + odd) * (-1. / 6);
  o[2] = (odd - even) * (1. / 6);
  o[3] = (even2 + odd2) * (1. / 24);
  o[4] = (even2 - odd2) * (1. / 24);
  o[5] = g[K - 1];
}

template <typename T>
static void transform_weights(const float* w, float* u, int64_t oc, int64_t channels) {
  constexpr int taps = T::kh * T::kw;
  const int64_t tiles = (oc + kTileChannels - 1) / kTileChannels, plane = channels * kTileChannels;
  alignas(64) double k[taps][kTileChannels] = {};
  for (int64_t b = 0; b < tiles; b++) {
    const int64_t left = oc - b * kTileChannels, n = left < kTileChannels ? left : kTileChannels;
    if (n < kTileChannels) __builtin_memset(k, 0, sizeof k);
    for (int64_t c = 0; c < channels; c++) {
      for (int64_t j = 0; j < n; j++) {
        float from[taps];  // which may lie at any alignment
        __builtin_memcpy(from, w + ((b * kTileChannels + j) * channels + c) * taps, sizeof from);
        for (int i = 0; i < taps; i++) k[i][j] = from[i];
      }
      float* to = u + b * T::ah * T::aw * plane + c * kTileChannels;
      for (int j = 0; j < kTileChannels; j += kDoubles) {
        vd t[T::kw][T::ah];
#pragma GCC unroll 5
        for (int i = 0; i < T::kw; i++) {
          vd g[T::kh];
#pragma GCC unroll 5
          for (int r = 0; r < T::kh; r++) g[r] = *reinterpret_cast<const vd*>(&k[r * T::kw + i][j]);
          to_points(g, t[i]);
        }
#pragma GCC unroll 6
        for (int r = 0; r < T::ah; r++) {
          vd g[T::kw], o[T::aw];
#pragma GCC unroll 5
          for (int i = 0; i < T::kw; i++) g[i] = t[i][r];
          to_points(g, o);
#pragma GCC unroll 6
          for (int s = 0; s < T::aw; s++) *reinterpret_cast<Narrow*>(to + (r * T::aw + s) * plane + j) = __builtin_convertvector(o[s], Narrow);
        }
      }
    }
  }
}

void winograd_weights(const float* w, float* u, int64_t oc, int64_t channels, const WinogradForm& form) {
  with_form(form, [&](auto f) { transform_weights<decltype(f)>(w, u, oc, channels); });
}

}  // namespace SX_ISA
}  // namespace sx
