// Cast between any two element types. The rules are those of sardonyx.ep.shape_kernels.cast: float to integer cuts toward
// zero and keeps the low bits of what does not fit; NaN, infinities and |x| >= 2^63 become 0, except that uint64 covers
// its own range. Every rounding to a float type is a single one.
#include "kernels/rows/half.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

template <typename T>
struct Is {
  static constexpr bool half = false, floating = false, boolean = false;
};
template <>
struct Is<Half> {
  static constexpr bool half = true, floating = true, boolean = false;
};
template <>
struct Is<Brain> {
  static constexpr bool half = true, floating = true, boolean = false;
};
template <>
struct Is<float> {
  static constexpr bool half = false, floating = true, boolean = false;
};
template <>
struct Is<double> {
  static constexpr bool half = false, floating = true, boolean = false;
};
template <>
struct Is<Bool> {
  static constexpr bool half = false, floating = false, boolean = true;
};

// x as float32 for a later rounding to a shorter type: what does not fit is rounded to odd, which keeps the second
// rounding right (Boldo and Melquiond, IEEE Trans. Computers 57, 2008).
inline float to_odd(double x) {
  const float y = static_cast<float>(x);
  if (static_cast<double>(y) == x || x != x) return y;
  uint32_t b = bits_of(y);
  if (__builtin_fabs(static_cast<double>(y)) > __builtin_fabs(x)) b--;
  return from_bits(b | 1);
}
// As to_odd, by way of a float64 that keeps whether anything was cut off.
template <typename T>
inline float integer_to_odd(T x) {
  const uint64_t size = x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  if (size < uint64_t{1} << 53) return to_odd(static_cast<double>(x));
  const T low = x & 2047;
  return to_odd(static_cast<double>((x & ~static_cast<T>(2047)) | static_cast<T>(low != 0 ? 1024 : 0)));
}

template <typename T, typename F>
inline T to_integer(F x) {
  if (sizeof(T) == 8 && static_cast<T>(-1) > 0 && x >= static_cast<F>(0x1p63)) return x < static_cast<F>(0x1p64) ? static_cast<T>(x) : 0;
  const bool fits = x > static_cast<F>(-0x1p63) && x < static_cast<F>(0x1p63);
  return static_cast<T>(static_cast<int64_t>(fits ? x : 0));
}

template <typename From, typename To>
inline To convert_one(From x) {
  if constexpr (Is<From>::boolean) {
    return convert_one<uint8_t, To>(static_cast<uint8_t>(x.bits != 0));
  } else if constexpr (Is<From>::half) {
    return convert_one<float, To>(widen(x));
  } else if constexpr (Is<To>::boolean) {
    return {static_cast<uint8_t>(x != 0)};
  } else if constexpr (Is<To>::half) {
    float y;
    if constexpr (sizeof(From) == 4 && Is<From>::floating)
      y = x;
    else if constexpr (Is<From>::floating)
      y = to_odd(x);
    else
      y = integer_to_odd(x);
    if constexpr (sizeof(To) == sizeof(Half) && __is_same(To, Half))
      return to_half(y);
    else
      return to_brain(y);
  } else if constexpr (Is<From>::floating && !Is<To>::floating) {
    return to_integer<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void convert(void* out, const void* a, const void*, const void*, int64_t n, const float*) {
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(out);
  int64_t i = 0;
#if SX_WIDTH > 4
  if constexpr (__is_same(From, Half) && __is_same(To, float)) {
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  } else if constexpr (__is_same(From, float) && __is_same(To, Half)) {
    for (; i + 8 <= n; i += 8) _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  for (; i < n; i++) y[i] = convert_one<From, To>(x[i]);
}

// float32 to a shorter integer: by vectors of int32 where the whole vector fits.
template <typename To>
void cut(void* out, const void* a, const void*, const void*, int64_t n, const float*) {
  const float* x = static_cast<const float*>(a);
  To* y = static_cast<To*>(out);
  int64_t i = 0;
  for (; i + W <= n; i += W) {
    const vf v = load(x + i);
    const vi fits = vabs(v) < 2147483648.0f;
    int all = -1;
    for (int j = 0; j < W; j++) all &= fits[j];
    if (all) {
      alignas(64) int32_t lane[W];
      *reinterpret_cast<vi*>(lane) = to_int(v);
      for (int j = 0; j < W; j++) y[i + j] = static_cast<To>(lane[j]);
    } else {
      for (int j = 0; j < W; j++) y[i + j] = convert_one<float, To>(x[i + j]);
    }
  }
  for (; i < n; i++) y[i] = convert_one<float, To>(x[i]);
}

template <typename From>
Loop to(int type) {
  // In the order of the engine's DType.
  static constexpr Loop kLoops[] = {convert<From, float>,   convert<From, double>,   convert<From, Half>,    convert<From, Brain>,
                                    convert<From, int8_t>,  convert<From, uint8_t>,  convert<From, int16_t>, convert<From, uint16_t>,
                                    convert<From, int32_t>, convert<From, uint32_t>, convert<From, int64_t>, convert<From, uint64_t>,
                                    convert<From, Bool>};
  return kLoops[type];
}

}  // namespace

Loop convert_loop(int from, int type) {
  if (from == 0) {
    switch (type) {
      case 4: return cut<int8_t>;
      case 5: return cut<uint8_t>;
      case 6: return cut<int16_t>;
      case 7: return cut<uint16_t>;
      case 8: return cut<int32_t>;
      default: return to<float>(type);
    }
  }
  switch (from) {
    case 1: return to<double>(type);
    case 2: return to<Half>(type);
    case 3: return to<Brain>(type);
    case 4: return to<int8_t>(type);
    case 5: return to<uint8_t>(type);
    case 6: return to<int16_t>(type);
    case 7: return to<uint16_t>(type);
    case 8: return to<int32_t>(type);
    case 9: return to<uint32_t>(type);
    case 10: return to<int64_t>(type);
    case 11: return to<uint64_t>(type);
    case 12: return to<Bool>(type);
    default: return nullptr;
  }
}

}  // namespace SX_ISA
}  // namespace sx
