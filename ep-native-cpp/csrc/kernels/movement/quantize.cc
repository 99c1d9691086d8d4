// From float to small integers and back.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

template <typename T>
struct Bounds;
template <>
struct Bounds<int8_t> {
  static constexpr float low = -128, high = 127;
};
template <>
struct Bounds<uint8_t> {
  static constexpr float low = 0, high = 255;
};
template <>
struct Bounds<int16_t> {
  static constexpr float low = -32768, high = 32767;
};
template <>
struct Bounds<uint16_t> {
  static constexpr float low = 0, high = 65535;
};

// saturate(round(r) + zero) as int32; NaN gives 0. Rounds to nearest even by adding and taking away 1.5 * 2^23, which
// numbers within +-2^18 allow: what lies beyond saturates in any type and with any zero point.
template <typename T>
static inline vi saturated(vf r, vf zero) {
  const vf magic = splat(12582912.0f), limit = splat(262144.0f), whole = (vmin_keep(vmax_keep(r, -limit), limit) + magic) - magic;
  const vf y = vmin_keep(vmax_keep(whole + zero, splat(Bounds<T>::low)), splat(Bounds<T>::high));
  return to_int(select(r == r, y, vf{}));
}

// y[i] = saturated(real(i, n)) for runs of up to W elements from i on, where real() gives a vector.
template <typename T, typename F>
static inline __attribute__((always_inline)) void quantize_all(T* y, int64_t n, F real) {
  constexpr int U = 4;
  int64_t i = 0;
  alignas(64) int32_t whole[U * W];
  for (; i + U * W <= n; i += U * W) {
#pragma GCC unroll 4
    for (int u = 0; u < U; u++) *reinterpret_cast<vi*>(whole + u * W) = real(i + u * W, W);
    for (int k = 0; k < U * W; k++) y[i + k] = static_cast<T>(whole[k]);
  }
  for (; i < n; i += W) {
    const int part = n - i < W ? static_cast<int>(n - i) : W;
    *reinterpret_cast<vi*>(whole) = real(i, part);
    for (int k = 0; k < part; k++) y[i + k] = static_cast<T>(whole[k]);
  }
}

static inline vf load_some(const float* p, int n) { return n == W ? load(p) : load_part(p, n); }

// Eight- and sixteen-bit integers as floats.
template <typename T>
static inline vf load_small(const T* p, int n) {
  vf v{};
  if (n == W)
    for (int i = 0; i < W; i++) v[i] = static_cast<float>(p[i]);
  else
    for (int i = 0; i < n; i++) v[i] = static_cast<float>(p[i]);
  return v;
}

template <typename T>
static void quantize_as(const float* x, T* y, int64_t n, float scale, float zero) {
  const vf s = splat(scale), z = splat(zero);
  quantize_all(y, n, [&](int64_t i, int part) { return saturated<T>(load_some(x + i, part) / s, z); });
}

template <typename T>
static void quantize_each_as(const float* x, T* y, int64_t n, const float* scale, const T* zero) {
  quantize_all(y, n, [&](int64_t i, int part) {
    // Lanes beyond the end divide by 0 and are not stored.
    return saturated<T>(load_some(x + i, part) / load_some(scale + i, part), zero ? load_small(zero + i, part) : vf{});
  });
}

template <typename T>
static void dequantize_as(const T* __restrict x, float* __restrict y, int64_t n, float scale, float zero) {
  for (int64_t i = 0; i < n; i++) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

template <typename T>
static void dequantize_each_as(const T* __restrict x, float* __restrict y, int64_t n, const float* __restrict scale, const T* __restrict zero) {
  if (!zero)
    for (int64_t i = 0; i < n; i++) y[i] = static_cast<float>(x[i]) * scale[i];
  else
    for (int64_t i = 0; i < n; i++) y[i] = (static_cast<float>(x[i]) - static_cast<float>(zero[i])) * scale[i];
}

template <typename T>
static void requantize_as(const int32_t* x, T* y, int64_t n, float multiplier, float zero) {
  const vf m = splat(multiplier), z = splat(zero);
  quantize_all(y, n, [&](int64_t i, int part) {
    vi v{};
    if (part == W)
      v = load(x + i);
    else
      for (int k = 0; k < part; k++) v[k] = x[i + k];
    return saturated<T>(to_float(v) * m, z);
  });
}

// Calls f with the type that `type` names.
template <typename F>
static inline __attribute__((always_inline)) void with_type(QType type, F f) {
  switch (type) {
    case QType::i8: return f(int8_t());
    case QType::u8: return f(uint8_t());
    case QType::i16: return f(int16_t());
    case QType::u16: return f(uint16_t());
  }
}

void quantize_run(const float* x, void* y, int64_t n, float scale, float zero, QType type) {
  with_type(type, [&](auto t) { quantize_as(x, static_cast<decltype(t)*>(y), n, scale, zero); });
}

void dequantize_run(const void* x, float* y, int64_t n, float scale, float zero, QType type) {
  with_type(type, [&](auto t) { dequantize_as(static_cast<const decltype(t)*>(x), y, n, scale, zero); });
}

void quantize_each(const float* x, void* y, int64_t n, const float* scale, const void* zero, QType type) {
  with_type(type, [&](auto t) { quantize_each_as(x, static_cast<decltype(t)*>(y), n, scale, static_cast<const decltype(t)*>(zero)); });
}

void dequantize_each(const void* x, float* y, int64_t n, const float* scale, const void* zero, QType type) {
  with_type(type, [&](auto t) { dequantize_each_as(static_cast<const decltype(t)*>(x), y, n, scale, static_cast<const decltype(t)*>(zero)); });
}

void requantize(const Requantize& r) {
  with_type(r.type, [&](auto t) { requantize_as(r.total, static_cast<decltype(t)*>(r.out), r.count, r.multiplier, static_cast<float>(r.zero)); });
}

void range_of(const float* x, int64_t n, float* low, float* high) {
  constexpr int U = 4;
  vf least[U] = {}, most[U] = {};
  int64_t i = 0;
  for (; i + U * W <= n; i += U * W)
#pragma GCC unroll 4
    for (int u = 0; u < U; u++) {
      const vf v = load(x + i + u * W);
      // The second operand is kept where the first is NaN.
      least[u] = select(v < least[u], v, least[u]);
      most[u] = select(v > most[u], v, most[u]);
    }
  for (; i < n; i += W) {
    const vf v = load_some(x + i, n - i < W ? static_cast<int>(n - i) : W);
    least[0] = select(v < least[0], v, least[0]);
    most[0] = select(v > most[0], v, most[0]);
  }
  *low = *high = 0;
  for (int u = 0; u < U; u++)
    for (int k = 0; k < W; k++) {
      if (least[u][k] < *low) *low = least[u][k];
      if (most[u][k] > *high) *high = most[u][k];
    }
}

}  // namespace SX_ISA
}  // namespace sx
