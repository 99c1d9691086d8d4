// Vectors of the instruction set this file is compiled for, in namespace sx::SX_ISA.
//
// vf holds W floats, vi W int32. Arithmetic is the compiler's vector extension (a * b + c contracts to an FMA), which
// measured as fast as intrinsics; only what the extension lacks is spelt here. Functions are `static inline`: they must
// not be shared between instruction sets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#if !defined(SX_ISA) || !defined(SX_WIDTH)
#error "kernel sources are compiled by CMake with SX_ISA (namespace) and SX_WIDTH (floats per vector)"
#endif
#if SX_WIDTH > 4
#include <immintrin.h>
#endif

namespace sx {
namespace SX_ISA {

constexpr int W = SX_WIDTH;
typedef float vf __attribute__((vector_size(SX_WIDTH * 4), may_alias));
typedef int32_t vi __attribute__((vector_size(SX_WIDTH * 4), may_alias));
typedef float vf_unaligned __attribute__((vector_size(SX_WIDTH * 4), may_alias, aligned(4)));
typedef int32_t vi_unaligned __attribute__((vector_size(SX_WIDTH * 4), may_alias, aligned(4)));

static inline vf load(const float* p) { return *reinterpret_cast<const vf_unaligned*>(p); }
static inline void store(float* p, vf v) { *reinterpret_cast<vf_unaligned*>(p) = v; }
static inline vi load(const int32_t* p) { return *reinterpret_cast<const vi_unaligned*>(p); }
static inline void store(int32_t* p, vi v) { *reinterpret_cast<vi_unaligned*>(p) = v; }
// Not `vf{} + x`: 0 + x is an addition to the compiler, since it turns -0 into 0.
#if SX_WIDTH == 16
static inline vf splat(float x) { return (vf)_mm512_set1_ps(x); }
#elif SX_WIDTH == 8
static inline vf splat(float x) { return (vf)_mm256_set1_ps(x); }
#else
static inline vf splat(float x) { return vf{x, x, x, x}; }
#endif
static inline vi splat(int32_t x) { return vi{} + x; }
static inline vi as_int(vf v) { return reinterpret_cast<vi&>(v); }
static inline vf as_float(vi v) { return reinterpret_cast<vf&>(v); }
static inline vf select(vi mask, vf a, vf b) { return as_float((mask & as_int(a)) | (~mask & as_int(b))); }

// The first n lanes of memory (0 <= n <= W), other lanes zero; and the store to match.
#if SX_WIDTH == 16
static inline vf load_part(const float* p, int n) { return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p); }
static inline void store_part(float* p, vf v, int n) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v); }
#elif SX_WIDTH == 8
static inline __m256i lane_mask(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
static inline vf load_part(const float* p, int n) { return (vf)_mm256_maskload_ps(p, lane_mask(n)); }
static inline void store_part(float* p, vf v, int n) { _mm256_maskstore_ps(p, lane_mask(n), (__m256)v); }
#else
static inline vf load_part(const float* p, int n) {
  vf v{};
  for (int i = 0; i < n; i++) v[i] = p[i];
  return v;
}
static inline void store_part(float* p, vf v, int n) {
  for (int i = 0; i < n; i++) p[i] = v[i];
}
#endif

// IEEE maximum and minimum that keep a NaN of either side (ONNX's Max, Min). x86 gives the second operand where one is NaN.
static inline vf vmax(vf a, vf b) {
#if SX_WIDTH == 16
  vf m = (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif SX_WIDTH == 8
  vf m = (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
  vf m = a > b ? a : b;
#endif
  return select(a != a, a, m);
}
static inline vf vmin(vf a, vf b) {
#if SX_WIDTH == 16
  vf m = (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif SX_WIDTH == 8
  vf m = (vf)_mm256_min_ps((__m256)a, (__m256)b);
#else
  vf m = a < b ? a : b;
#endif
  return select(a != a, a, m);
}
// One-instruction forms, for values known not to be NaN in the second operand: max(x, 0) of a NaN x is NaN on x86 when
// x is the second source operand.
static inline vf vmax_keep(vf x, vf floor) {
#if SX_WIDTH == 16
  return (vf)_mm512_max_ps((__m512)floor, (__m512)x);
#elif SX_WIDTH == 8
  return (vf)_mm256_max_ps((__m256)floor, (__m256)x);
#else
  return select(floor > x, floor, x);
#endif
}
static inline vf vmin_keep(vf x, vf ceiling) {
#if SX_WIDTH == 16
  return (vf)_mm512_min_ps((__m512)ceiling, (__m512)x);
#elif SX_WIDTH == 8
  return (vf)_mm256_min_ps((__m256)ceiling, (__m256)x);
#else
  return select(ceiling < x, ceiling, x);
#endif
}
// The larger of both where neither is a NaN.
static inline vf greater(vf a, vf b) { return vmax_keep(b, a); }
static inline vf vabs(vf v) { return as_float(as_int(v) & 0x7fffffff); }
static inline vf vsqrt(vf v) {
#if SX_WIDTH == 16
  return (vf)_mm512_sqrt_ps((__m512)v);
#elif SX_WIDTH == 8
  return (vf)_mm256_sqrt_ps((__m256)v);
#else
  vf r;
  for (int i = 0; i < W; i++) r[i] = __builtin_sqrtf(v[i]);
  return r;
#endif
}
// Round to nearest even.
static inline vf vround(vf v) {
#if SX_WIDTH == 16
  return (vf)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif SX_WIDTH == 8
  return (vf)_mm256_round_ps((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  vf r;
  for (int i = 0; i < W; i++) r[i] = __builtin_rintf(v[i]);
  return r;
#endif
}
static inline vi to_int(vf v) { return __builtin_convertvector(v, vi); }
static inline vf to_float(vi v) { return __builtin_convertvector(v, vf); }

// Over all lanes: halves onto halves.
#if SX_WIDTH == 16
static inline float hsum(vf v) { return _mm512_reduce_add_ps((__m512)v); }
static inline float hmax(vf v) { return _mm512_reduce_max_ps((__m512)v); }
#elif SX_WIDTH == 8
static inline float hsum(vf v) {
  __m128 x = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
  x = _mm_add_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}
static inline float hmax(vf v) {
  __m128 x = _mm_max_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
  x = _mm_max_ps(x, _mm_movehl_ps(x, x));
  return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}
#else
static inline float hsum(vf v) { return (v[0] + v[2]) + (v[1] + v[3]); }
static inline float hmax(vf v) {
  const float a = v[0] > v[2] ? v[0] : v[2], b = v[1] > v[3] ? v[1] : v[3];
  return a > b ? a : b;
}
#endif

static inline void prefetch1(const void* p) { __builtin_prefetch(p, 0, 2); }
static inline void prefetch0(const void* p) { __builtin_prefetch(p, 0, 3); }

}  // namespace SX_ISA
}  // namespace sx
