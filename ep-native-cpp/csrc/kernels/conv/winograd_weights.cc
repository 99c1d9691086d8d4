// Winograd's transform of weights, G g G', in double: the products that follow lose enough digits.
#include "kernels/conv/tile.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

constexpr int kDoubles = W / 2;
typedef double vd __attribute__((vector_size(kDoubles * 8)));
typedef float Narrow __attribute__((vector_size(kDoubles * 4), may_alias, aligned(4)));

template <int M>
struct Weights;

template <>
struct Weights<4> {
  static inline __attribute__((always_inline)) void transform(vd a, vd b, vd c, vd (&o)[6]) {
    const vd even = (a + c) * (1. / 6), odd = b * (1. / 6), u = a * (1. / 24) + c * (1. / 6), v = b * (1. / 12);
    o[0] = a * .25;
    o[1] = -even - odd;
    o[2] = odd - even;
    o[3] = u + v;
    o[4] = u - v;
    o[5] = c;
  }
};

template <>
struct Weights<2> {
  static inline __attribute__((always_inline)) void transform(vd a, vd b, vd c, vd (&o)[4]) {
    const vd even = (a + c) * .5, odd = b * .5;
    o[0] = a;
    o[1] = even + odd;
    o[2] = even - odd;
    o[3] = c;
  }
};

template <int M>
static void transform_weights(const float* w, float* u, int64_t oc, int64_t channels) {
  constexpr int A = M + 2;
  const int64_t tiles = (oc + kTileChannels - 1) / kTileChannels, plane = channels * kTileChannels;
  alignas(64) double k[9][kTileChannels] = {};
  for (int64_t b = 0; b < tiles; b++) {
    const int64_t left = oc - b * kTileChannels, n = left < kTileChannels ? left : kTileChannels;
    if (n < kTileChannels) __builtin_memset(k, 0, sizeof k);
    for (int64_t c = 0; c < channels; c++) {
      for (int64_t j = 0; j < n; j++) {
        float from[9];  // which may lie at any alignment
        __builtin_memcpy(from, w + ((b * kTileChannels + j) * channels + c) * 9, sizeof from);
        for (int i = 0; i < 9; i++) k[i][j] = from[i];
      }
      float* to = u + b * A * A * plane + c * kTileChannels;
      for (int j = 0; j < kTileChannels; j += kDoubles) {
        auto at = [&](int i) { return *reinterpret_cast<const vd*>(&k[i][j]); };
        vd t[3][A];
#pragma GCC unroll 3
        for (int i = 0; i < 3; i++) Weights<M>::transform(at(i), at(3 + i), at(6 + i), t[i]);
#pragma GCC unroll 6
        for (int r = 0; r < A; r++) {
          vd o[A];
          Weights<M>::transform(t[0][r], t[1][r], t[2][r], o);
#pragma GCC unroll 6
          for (int s = 0; s < A; s++) *reinterpret_cast<Narrow*>(to + (r * A + s) * plane + j) = __builtin_convertvector(o[s], Narrow);
        }
      }
    }
  }
}

void winograd_weights(const float* w, float* u, int64_t oc, int64_t channels, int32_t m) {
  if (m == 4)
    transform_weights<4>(w, u, oc, channels);
  else
    transform_weights<2>(w, u, oc, channels);
}

}  // namespace SX_ISA
}  // namespace sx
