// From float to small integers and back, and products of 8-bit matrices.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// Rounding to nearest even by adding and taking away 1.5 * 2^23, for numbers that were clamped to +-2^18 before: what
// lies beyond saturates in any type and with any zero point.
static inline float rounded(float r) {
  constexpr float magic = 12582912.0f, limit = 262144.0f;
  r = r < -limit ? -limit : r;
  r = r > limit ? limit : r;
  return (r + magic) - magic;
}

template <typename T>
static inline T saturate(float r, float low, float high) {
  r = r < low ? low : r;
  r = r > high ? high : r;
  r = r == r ? r : 0;
  return static_cast<T>(static_cast<int32_t>(r));
}

template <typename T>
static void quantize_as(const float* __restrict x, T* __restrict y, int64_t n, float scale, float zero, float low, float high) {
  for (int64_t i = 0; i < n; i++) y[i] = saturate<T>(rounded(x[i] / scale) + zero, low, high);
}

template <typename T>
static void dequantize_as(const T* __restrict x, float* __restrict y, int64_t n, float scale, float zero) {
  for (int64_t i = 0; i < n; i++) y[i] = (static_cast<float>(x[i]) - zero) * scale;
}

template <typename T>
static void requantize_as(const int32_t* __restrict x, T* __restrict y, int64_t n, float multiplier, float zero, float low, float high) {
  for (int64_t i = 0; i < n; i++) y[i] = saturate<T>(rounded(static_cast<float>(x[i]) * multiplier) + zero, low, high);
}

void quantize_run(const float* x, void* y, int64_t n, float scale, float zero, QType type) {
  switch (type) {
    case QType::i8: return quantize_as(x, static_cast<int8_t*>(y), n, scale, zero, -128, 127);
    case QType::u8: return quantize_as(x, static_cast<uint8_t*>(y), n, scale, zero, 0, 255);
    case QType::i16: return quantize_as(x, static_cast<int16_t*>(y), n, scale, zero, -32768, 32767);
    case QType::u16: return quantize_as(x, static_cast<uint16_t*>(y), n, scale, zero, 0, 65535);
  }
}

void dequantize_run(const void* x, float* y, int64_t n, float scale, float zero, QType type) {
  switch (type) {
    case QType::i8: return dequantize_as(static_cast<const int8_t*>(x), y, n, scale, zero);
    case QType::u8: return dequantize_as(static_cast<const uint8_t*>(x), y, n, scale, zero);
    case QType::i16: return dequantize_as(static_cast<const int16_t*>(x), y, n, scale, zero);
    case QType::u16: return dequantize_as(static_cast<const uint16_t*>(x), y, n, scale, zero);
  }
}

void requantize(const Requantize& r) {
  const float zero = static_cast<float>(r.zero);
  switch (r.type) {
    case QType::i8: return requantize_as(r.total, static_cast<int8_t*>(r.out), r.count, r.multiplier, zero, -128, 127);
    case QType::u8: return requantize_as(r.total, static_cast<uint8_t*>(r.out), r.count, r.multiplier, zero, 0, 255);
    case QType::i16: return requantize_as(r.total, static_cast<int16_t*>(r.out), r.count, r.multiplier, zero, -32768, 32767);
    case QType::u16: return requantize_as(r.total, static_cast<uint16_t*>(r.out), r.count, r.multiplier, zero, 0, 65535);
  }
}

template <typename A>
static inline int32_t number(const uint8_t* p, int64_t i) {
  return p ? static_cast<int32_t>(reinterpret_cast<const A*>(p)[i]) : 0;
}

template <typename A, typename B>
static void product_rows(const IntegerProduct& p, int64_t m0, int64_t m1) {
  // Columns in runs whose int32 sums stay in L1. Unsigned sums wrap around.
  constexpr int64_t kRun = 1024;
  for (int64_t m = m0; m < m1; m++) {
    const A* a = reinterpret_cast<const A*>(p.a) + m * p.k;
    const int32_t a_zero = number<A>(p.a_zero, m * p.a_zero_step);
    for (int64_t n0 = 0; n0 < p.n; n0 += kRun) {
      const int64_t n = p.n - n0 < kRun ? p.n - n0 : kRun;
      uint32_t* c = reinterpret_cast<uint32_t*>(p.c) + m * p.n + n0;
      for (int64_t j = 0; j < n; j++) c[j] = 0;
      uint32_t a_sum = 0;
      for (int64_t k = 0; k < p.k; k++) {
        const int32_t x = static_cast<int32_t>(a[k]) - a_zero;
        a_sum += static_cast<uint32_t>(x);
        const B* b = reinterpret_cast<const B*>(p.b) + k * p.n + n0;
        for (int64_t j = 0; j < n; j++) c[j] += static_cast<uint32_t>(x * static_cast<int32_t>(b[j]));
      }
      if (p.b_zero)
        for (int64_t j = 0; j < n; j++) c[j] -= a_sum * static_cast<uint32_t>(number<B>(p.b_zero, (n0 + j) * p.b_zero_step));
    }
  }
}

void integer_rows(const IntegerProduct& p, int64_t m0, int64_t m1) {
  if (p.a_signed)
    p.b_signed ? product_rows<int8_t, int8_t>(p, m0, m1) : product_rows<int8_t, uint8_t>(p, m0, m1);
  else
    p.b_signed ? product_rows<uint8_t, int8_t>(p, m0, m1) : product_rows<uint8_t, uint8_t>(p, m0, m1);
}

}  // namespace SX_ISA
}  // namespace sx
