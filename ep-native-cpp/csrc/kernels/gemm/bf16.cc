// Products with weights kept as bfloat16, and sums in float32.
//
// A panel is [ceil(K / 2)][width] lanes of 32 bits, each with two steps of K of one column: the even one in the lower half.
// Either half is a float's upper half, so shifts give both; or, where the processor multiplies pairs of
// bfloat16 and adds them up, A is rounded as well, in blocks, and nothing is taken apart.
#include "kernels/gemm/tile.h"
#include "kernels/table.h"
#if defined(SX_HAS_avx512_vnni)
#include <immintrin.h>
#endif

namespace sx {
namespace SX_ISA {

typedef uint32_t vu __attribute__((vector_size(SX_WIDTH * 4), may_alias));

static inline vf even_half(vu pair) { return as_float((vi)(pair << 16)); }
// Not by a mask, which would take a register, and which g++ would make of the two shifts.
static inline vf odd_half(vu pair) {
  vu high = pair >> 16;
#if defined(__SSE2__)
  asm("" : "+x"(high));
#endif
  return as_float((vi)(high << 16));
}

// Rows of a tile: fewer than float32's where the registers hold the halves of the weights as well.
#if defined(SX_HAS_avx512_vnni)
constexpr int kWideRowsBf16 = 6, kNarrowRowsBf16 = 10;
#elif SX_WIDTH == 4
constexpr int kWideRowsBf16 = 3, kNarrowRowsBf16 = 3;
#else
constexpr int kWideRowsBf16 = kWideRows, kNarrowRowsBf16 = kNarrowRows;
#endif

// The float at x, of any alignment, to the nearest bfloat16, ties to even; NaN stays one.
static inline uint32_t rounded(const float* x) {
  uint32_t bits;
  __builtin_memcpy(&bits, x, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;
}

int64_t gemm_packed_size_bf16(int64_t k, int64_t n) {
  const int64_t width = panel_width(n);
  return (n + width - 1) / width * width * ((k + 1) / 2);
}

void pack_b_bf16(const PackB& p, int64_t first, int64_t last) {
  const int64_t width = panel_width(p.n), pairs = (p.k + 1) / 2;
  for (int64_t panel = first; panel < last; panel++) {
    const int64_t col = panel * width, cols = p.n - col < width ? p.n - col : width;
    auto* out = reinterpret_cast<uint32_t*>(p.out) + panel * width * pairs;
    // Blocks of K, so that each row of a transposed source is read in whole lines.
    for (int64_t i0 = 0; i0 < pairs; i0 += 8) {
      const int64_t i1 = i0 + 8 < pairs ? i0 + 8 : pairs;
      for (int64_t j = 0; j < width; j++)
        for (int64_t i = i0; i < i1; i++) {
          const float* b = p.b + 2 * i * p.stride_k + (col + j) * p.stride_n;
          out[i * width + j] = j >= cols ? 0 : rounded(b) | (2 * i + 1 < p.k ? rounded(b + p.stride_k) << 16 : 0);
        }
    }
  }
}

#if defined(SX_HAS_avx512_vnni)

constexpr int64_t kBlockPairs = 128;

// `pairs` pairs of a row, the last one half if k is odd.
static void round_row(const float* a, int64_t k, uint32_t* out) {
  int64_t i = 0;
  for (; i + 2 * W <= k; i += 2 * W) {
    const __m512bh both = _mm512_cvtne2ps_pbh((__m512)load(a + i + W), (__m512)load(a + i));
    __builtin_memcpy(out + i / 2, &both, sizeof both);
  }
  for (; i < k; i += 2) out[i / 2] = rounded(a + i) | (i + 1 < k ? rounded(a + i + 1) << 16 : 0);
}

template <int MR, int NV, int PANELS>
static inline __attribute__((always_inline)) void pair_products(const float* a, int64_t lda, const uint32_t* const (&b)[PANELS], int64_t k, vf (&acc)[MR][PANELS * NV]) {
  uint32_t x[MR][kBlockPairs];
  const int64_t pairs = (k + 1) / 2;
  for (int64_t i0 = 0; i0 < pairs; i0 += kBlockPairs) {
    const int64_t n = pairs - i0 < kBlockPairs ? pairs - i0 : kBlockPairs;
    for (int r = 0; r < MR; r++) round_row(a + r * lda + 2 * i0, i0 + n == pairs ? k - 2 * i0 : 2 * n, x[r]);
#pragma GCC unroll 1
    for (int64_t i = 0; i < n; i++)
#pragma GCC unroll 4
      for (int p = 0; p < PANELS; p++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) {
          const vu w = *reinterpret_cast<const vu*>(b[p] + ((i0 + i) * NV + v) * W);
#pragma GCC unroll 16
          for (int r = 0; r < MR; r++) {
            vf& sum = acc[r][p * NV + v];
            sum = (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)(vu{} + x[r][i]), (__m512bh)w);
          }
        }
  }
}

#else

template <int MR, int NV, int PANELS>
static inline __attribute__((always_inline)) void pair_products(const float* a, int64_t lda, const uint32_t* const (&b)[PANELS], int64_t k, vf (&acc)[MR][PANELS * NV]) {
  const int64_t pairs = (k + 1) / 2, whole = k / 2;
#pragma GCC unroll 1
  for (int64_t i = 0; i < pairs; i++) {
    const bool both = i < whole;
#pragma GCC unroll 4
    for (int p = 0; p < PANELS; p++) {
      const uint32_t* from = b[p] + i * NV * W;
      vf w[NV];
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) w[v] = even_half(*reinterpret_cast<const vu*>(from + v * W));
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++) {
        const vf x = splat(a[r * lda + 2 * i]);
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) acc[r][p * NV + v] += x * w[v];
      }
      if (!both) continue;
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) w[v] = odd_half(*reinterpret_cast<const vu*>(from + v * W));
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++) {
        const vf x = splat(a[r * lda + 2 * i + 1]);
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) acc[r][p * NV + v] += x * w[v];
      }
    }
  }
}

#endif

// MR rows against PANELS panels from p0 on.
template <int MR, int NV, int PANELS>
static void tile_bf16(const Gemm& g, int64_t row, int64_t p0) {
  const int64_t width = NV * W, pairs = (g.k + 1) / 2;
  const uint32_t* b[PANELS];
  for (int p = 0; p < PANELS; p++) b[p] = reinterpret_cast<const uint32_t*>(g.b) + (p0 + p) * width * pairs;
  vf acc[MR][PANELS * NV];
#pragma GCC unroll 8
  for (int v = 0; v < PANELS * NV; v++) {
    const vf bias = bias_at(g, p0 * width + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) acc[r][v] = bias;
  }
  pair_products<MR, NV, PANELS>(g.a + row * g.lda, g.lda, b, g.k, acc);
#pragma GCC unroll 4
  for (int p = 0; p < PANELS; p++) {
    vf part[MR][NV];
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) part[r][v] = acc[r][p * NV + v];
    put_tile<MR, NV>(g, row, (p0 + p) * width, part);
  }
}

// A row, or two, against several panels at once: with one panel there are too few sums to hide the FMA's latency.
template <int MR, int NV, int PANELS>
static void few_rows_bf16(const Gemm& g, int64_t row, int64_t p0, int64_t p1) {
  int64_t p = p0;
  for (; p + PANELS <= p1; p += PANELS) tile_bf16<MR, NV, PANELS>(g, row, p);
  for (; p < p1; p++) tile_bf16<MR, NV, 1>(g, row, p);
}

template <int MR, int NV>
static void product_bf16(const Gemm& g, int64_t m0, int64_t m1, int64_t p0, int64_t p1) {
  if (m1 - m0 == 1) return few_rows_bf16<1, NV, W == 4 ? 2 : 4>(g, m0, p0, p1);
  if (m1 - m0 == 2) return few_rows_bf16<2, NV, W == 4 ? 1 : 2>(g, m0, p0, p1);
  in_parts(m0, m1, near_rows<MR>(g.k), [&](int64_t b0, int64_t rows) {
    for (int64_t p = p0; p < p1; p++)
      in_parts(b0, b0 + rows, MR, [&](int64_t row, int64_t n) {
        with_rows<MR>(n, [&](auto count) { tile_bf16<count.value, NV, 1>(g, row, p); });
      });
  });
}

void gemm_bf16(const Gemm& g, int64_t m0, int64_t m1, int64_t p0, int64_t p1) {
  if (is_wide(g.n))
    product_bf16<kWideRowsBf16, kWide>(g, m0, m1, p0, p1);
  else
    product_bf16<kNarrowRowsBf16, kNarrow>(g, m0, m1, p0, p1);
}

}  // namespace SX_ISA
}  // namespace sx
