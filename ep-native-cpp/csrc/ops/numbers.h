// Element types as C++ types, and dispatch on a DType.
#pragma once
#include <cmath>
#include <limits>

#include "engine/types.h"

namespace sx {

// IEEE half precision, as storage: reads and writes convert by way of float, rounding to nearest even.
struct Half {
  uint16_t bits;
  Half() = default;
  explicit Half(float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    const uint32_t sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      bits = static_cast<uint16_t>(sign | 0x7e00u);
    } else if (magnitude >= 0x477ff000u) {
      bits = static_cast<uint16_t>(sign | 0x7c00u);
    } else if (magnitude < 0x38800000u) {
      // Subnormal: adding 0.5 leaves the rounded mantissa in the low bits.
      float m;
      std::memcpy(&m, &magnitude, 4);
      m += 0.5f;
      uint32_t r;
      std::memcpy(&r, &m, 4);
      bits = static_cast<uint16_t>(sign | (r - 0x3f000000u));
    } else {
      const uint32_t odd = magnitude >> 13 & 1u;
      bits = static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
    }
  }
  operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
    uint32_t u;
    if (rest >= 0x7c00u) {
      u = sign | 0x7f800000u | (rest & 0x3ffu) << 13;
    } else if (rest >= 0x400u) {
      u = sign | ((rest << 13) + 0x38000000u);
    } else {
      const float m = static_cast<float>(rest) * 0x1p-24f;
      std::memcpy(&u, &m, 4);
      u |= sign;
    }
    float f;
    std::memcpy(&f, &u, 4);
    return f;
  }
};

// bfloat16, as storage.
struct BFloat {
  uint16_t bits;
  BFloat() = default;
  explicit BFloat(float f) {
    uint32_t u;
    std::memcpy(&u, &f, 4);
    if ((u & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<uint16_t>(u >> 16 | 0x40u);
    else
      bits = static_cast<uint16_t>((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
  }
  operator float() const {
    const uint32_t u = static_cast<uint32_t>(bits) << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
  }
};

template <typename T>
constexpr bool is_half = std::is_same<T, Half>::value || std::is_same<T, BFloat>::value;
template <typename T>
constexpr bool is_real = std::is_floating_point<T>::value || is_half<T>;

// The type to compute in: float for the halves, else T itself.
template <typename T>
using Wide = typename std::conditional<is_half<T>, float, T>::type;

inline bool is_real_type(DType t) { return t <= DType::bf16; }

// Calls f(T()) with the C++ type of an element type.
template <typename F>
auto with_type(DType t, F&& f) {
  switch (t) {
    case DType::f32: return f(float());
    case DType::f64: return f(double());
    case DType::f16: return f(Half());
    case DType::bf16: return f(BFloat());
    case DType::i8: return f(int8_t());
    case DType::u8: return f(uint8_t());
    case DType::i16: return f(int16_t());
    case DType::u16: return f(uint16_t());
    case DType::i32: return f(int32_t());
    case DType::u32: return f(uint32_t());
    case DType::i64: return f(int64_t());
    case DType::u64: return f(uint64_t());
    default: return f(bool());
  }
}

// As with_type, for the types float32, float64, float16 and bfloat16.
template <typename F>
auto with_real(DType t, F&& f) {
  switch (t) {
    case DType::f32: return f(float());
    case DType::f64: return f(double());
    case DType::f16: return f(Half());
    default: return f(BFloat());
  }
}

// Calls f with an unsigned integer of an element's size.
template <typename F>
auto with_size(size_t item, F&& f) {
  switch (item) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    default: return f(uint64_t());
  }
}

// Calls f with int32_t or int64_t, the types of indices.
template <typename F>
auto with_index(DType t, F&& f) {
  return t == DType::i32 ? f(int32_t()) : f(int64_t());
}

// A real number as an integer type: rounded to nearest even and clipped to its range, NaN as 0.
template <typename T>
T saturated(double x) {
  if (!(x == x)) return T(0);
  x = std::nearbyint(x);
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  // The greatest integer of 64 bits rounds up to a power of two as a double.
  constexpr double above = static_cast<double>(std::numeric_limits<T>::max() / 2 + 1) * 2;
  return x <= low ? std::numeric_limits<T>::min() : x >= above ? std::numeric_limits<T>::max() : static_cast<T>(x);
}

}  // namespace sx
