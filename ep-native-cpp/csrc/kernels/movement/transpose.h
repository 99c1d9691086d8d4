// Transposition of a matrix of elements of 1, 2, 4 or 8 bytes in registers.
//
// A tile is read as rows of 16 bytes, N = 16 / sizeof(T) elements, two rows of tiles side by side in a 32-byte vector
// where there are such. log2(N) passes that interleave row i with row i + N / 2 transpose it.
#pragma once
#include "kernels/movement/copy.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sx {
namespace SX_ISA {

#if SX_WIDTH >= 8
typedef __m256i TileRow;
constexpr int kLanes = 2;
static inline TileRow load_rows(const void* a, const void* b) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(a))), _mm_loadu_si128(static_cast<const __m128i*>(b)), 1);
}
static inline void store_row(void* p, TileRow v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
#define SX_INTERLEAVE(type, bits)                                                                  \
  static inline TileRow low_half(type, TileRow a, TileRow b) { return _mm256_unpacklo_epi##bits(a, b); } \
  static inline TileRow high_half(type, TileRow a, TileRow b) { return _mm256_unpackhi_epi##bits(a, b); }
#elif defined(__SSE2__)
typedef __m128i TileRow;
constexpr int kLanes = 1;
static inline TileRow load_rows(const void* a, const void*) { return _mm_loadu_si128(static_cast<const __m128i*>(a)); }
static inline void store_row(void* p, TileRow v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
#define SX_INTERLEAVE(type, bits)                                                                  \
  static inline TileRow low_half(type, TileRow a, TileRow b) { return _mm_unpacklo_epi##bits(a, b); } \
  static inline TileRow high_half(type, TileRow a, TileRow b) { return _mm_unpackhi_epi##bits(a, b); }
#else
constexpr int kLanes = 1;
#endif

#ifdef SX_INTERLEAVE
SX_INTERLEAVE(uint8_t, 8)
SX_INTERLEAVE(uint16_t, 16)
SX_INTERLEAVE(uint32_t, 32)
SX_INTERLEAVE(uint64_t, 64)
#undef SX_INTERLEAVE

// out[r * ldo + c] = in[c * lda + r] for r < N, c < N * kLanes.
template <typename T>
static inline __attribute__((always_inline)) void transpose_tile(const T* in, int64_t lda, T* out, int64_t ldo) {
  constexpr int N = 16 / sizeof(T);
  TileRow a[N], b[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; i++) a[i] = load_rows(in + i * lda, in + (i + N) * lda);
#pragma GCC unroll 4
  for (int pass = 1; pass < N; pass *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; i++) {
      b[2 * i] = low_half(T(), a[i], a[i + N / 2]);
      b[2 * i + 1] = high_half(T(), a[i], a[i + N / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; i++) a[i] = b[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; i++) store_row(out + i * ldo, a[i]);
}
#else
template <typename T>
static inline void transpose_tile(const T* in, int64_t lda, T* out, int64_t ldo) {
  constexpr int N = 16 / sizeof(T);
  for (int r = 0; r < N; r++)
    for (int c = 0; c < N; c++) put(out + r * ldo + c, get(in + c * lda + r));
}
#endif

template <typename T>
static inline void transpose_scalar(const T* in, int64_t lda, T* out, int64_t ldo, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < cols; c++) put(out + r * ldo + c, get(in + c * lda + r));
}

// out[rows, cols] with row stride ldo from in[cols, rows] with row stride lda. A stripe of 64 bytes of the input's rows at
// a time, so that every line that is read is used up.
template <typename T>
static void transpose_block(const T* in, int64_t lda, T* out, int64_t ldo, int64_t rows, int64_t cols) {
  constexpr int64_t N = 16 / sizeof(T), C = N * kLanes, S = 64 / sizeof(T);
  const int64_t whole_rows = rows / N * N, whole_cols = cols / C * C;
  for (int64_t r0 = 0; r0 < whole_rows; r0 += S) {
    const int64_t r1 = r0 + S < whole_rows ? r0 + S : whole_rows;
    for (int64_t c = 0; c < whole_cols; c += C)
      for (int64_t r = r0; r < r1; r += N) transpose_tile(in + c * lda + r, lda, out + r * ldo + c, ldo);
    if (whole_cols < cols) transpose_scalar(in + whole_cols * lda + r0, lda, out + r0 * ldo + whole_cols, ldo, r1 - r0, cols - whole_cols);
  }
  if (whole_rows < rows) transpose_scalar(in + whole_rows, lda, out + whole_rows * ldo, ldo, rows - whole_rows, cols);
}

}  // namespace SX_ISA
}  // namespace sx
