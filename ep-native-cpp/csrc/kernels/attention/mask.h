// Scaling and masking of a row of attention scores.
#pragma once
#include "kernels/rows/activation.h"

namespace sx {
namespace SX_ISA {

// Masks: what they make of W scores, or of one, from column j on.
struct NoMask {
  inline vf many(vf x, int64_t) const { return x; }
  inline float one(float x, int64_t) const { return x; }
};

// Added: a value per key, or one for all where the stride is 0.
struct AddedMask {
  const float* at;
  int64_t stride;
  inline vf many(vf x, int64_t j) const { return x + (stride ? load(at + j) : splat(at[0])); }
  inline float one(float x, int64_t j) const { return x + at[j * stride]; }
};

// Keys where the byte is 0 are left out.
struct KeptKeys {
  const uint8_t* at;
  int64_t stride;
  inline vf many(vf x, int64_t j) const {
    typedef uint8_t bytes __attribute__((vector_size(W)));
    bytes b;
    if (!stride) return at[0] ? x : splat(-kInf);
    __builtin_memcpy(&b, at + j, W);
    return select(__builtin_convertvector(b, vi) != 0, x, splat(-kInf));
  }
  inline float one(float x, int64_t j) const { return at[j * stride] ? x : -kInf; }
};

// s[j] = mask(scale s[j]) for j < n; returns the greatest of each lane of the whole vectors, NaNs left aside.
template <typename Mask>
static inline vf mask_scores(Mask mask, float* s, int64_t n, float scale) {
  vf top = splat(-kInf);
  int64_t j = 0;
  for (; j + W <= n; j += W) {
    const vf x = mask.many(load(s + j) * scale, j);
    store(s + j, x);
    top = greater(x, top);
  }
  for (; j < n; j++) s[j] = mask.one(s[j] * scale, j);
  return top;
}

static inline bool any_nan(const float* s, int64_t n) {
  for (int64_t j = 0; j < n; j++)
    if (s[j] != s[j]) return true;
  return false;
}

}  // namespace SX_ISA
}  // namespace sx
