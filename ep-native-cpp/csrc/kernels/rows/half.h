// float16 and bfloat16 as stored, and their conversion from and to float32 (to nearest even).
#pragma once
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

struct Half {
  uint16_t bits;
};
struct Brain {
  uint16_t bits;
};
struct Bool {
  uint8_t bits;
};

static inline uint32_t bits_of(float x) {
  uint32_t b;
  __builtin_memcpy(&b, &x, 4);
  return b;
}
static inline float from_bits(uint32_t b) {
  float x;
  __builtin_memcpy(&x, &b, 4);
  return x;
}

static inline float widen(Brain x) { return from_bits(static_cast<uint32_t>(x.bits) << 16); }
static inline Brain to_brain(float x) {
  const uint32_t b = bits_of(x);
  const uint32_t rounded = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
  return {static_cast<uint16_t>(x != x ? (b >> 16) | 0x40 : rounded)};
}

#if SX_WIDTH > 4
static inline float widen(Half x) { return _cvtsh_ss(x.bits); }
static inline Half to_half(float x) { return {_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)}; }
#else
static inline float widen(Half x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16, rest = static_cast<uint32_t>(x.bits & 0x7fff) << 13;
  if (rest >= 0x0f800000) return from_bits(sign | 0x70000000 | rest | (rest > 0x0f800000 ? 0x400000 : 0));
  return from_bits(sign | bits_of(from_bits(rest) * 0x1p112f));
}
static inline Half to_half(float x) {
  const uint32_t b = bits_of(x), a = b & 0x7fffffff, sign = (b >> 16) & 0x8000;
  uint32_t h;
  if (a > 0x7f800000)
    h = 0x7e00 | ((a >> 13) & 0x3ff);
  else if (a >= 0x477ff000)  // rounds to 65536 or more
    h = 0x7c00;
  else if (a < 0x38800000)  // denormal: the sum rounds at 2^-24
    h = bits_of(from_bits(a) + 0.5f) - 0x3f000000;
  else
    h = (a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13;
  return {static_cast<uint16_t>(sign | h)};
}
#endif

}  // namespace SX_ISA
}  // namespace sx
