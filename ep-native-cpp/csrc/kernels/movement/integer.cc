// Exact products of 8-bit matrices, by way of int16: one instruction multiplies pairs and adds the two products.
#include "kernels/parts.h"
#include "kernels/table.h"
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sx {
namespace SX_ISA {

typedef uint32_t vu __attribute__((vector_size(SX_WIDTH * 4), may_alias));
typedef uint32_t vu_unaligned __attribute__((vector_size(SX_WIDTH * 4), may_alias, aligned(2)));

// Per lane of 32 bits: sum, and the products of the two halves of a and b as signed int16. Sums wrap around.
static inline vu add_pairs(vu sum, vu a, vu b) {
#if defined(SX_HAS_avx512_vnni)
  return (vu)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
#elif SX_WIDTH == 16
  return sum + (vu)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif SX_WIDTH == 8
  return sum + (vu)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return sum + (vu)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  for (int i = 0; i < W; i++) sum[i] += static_cast<uint32_t>(static_cast<int16_t>(a[i]) * static_cast<int16_t>(b[i]) + static_cast<int16_t>(a[i] >> 16) * static_cast<int16_t>(b[i] >> 16));
  return sum;
#endif
}

constexpr int kVectors = 2, kRows = SX_WIDTH == 16 ? 12 : 6;
constexpr int64_t kPanel = kVectors * W;

int64_t integer_panel() { return kPanel; }

template <int MR>
static void integer_tile(const IntegerGemm& g, int64_t row, int64_t panel) {
  vu acc[MR][kVectors] = {};
  const int16_t* a = g.a + row * g.lda;
  const int16_t* b = g.b + panel * g.pairs * kPanel * 2;
#pragma GCC unroll 1
  for (int64_t k = 0; k < g.pairs; k++) {
    vu w[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; v++) w[v] = *reinterpret_cast<const vu_unaligned*>(b + (k * kVectors + v) * W * 2);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) {
      uint32_t pair;
      __builtin_memcpy(&pair, a + r * g.lda + 2 * k, 4);
      const vu x = vu{} + pair;
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; v++) acc[r][v] = add_pairs(acc[r][v], x, w[v]);
    }
  }
  const int64_t col = panel * kPanel, left = g.n - col < kPanel ? g.n - col : kPanel;
  for (int r = 0; r < MR; r++) {
    int32_t* c = g.c + (row + r) * g.ldc + col;
    if (left == kPanel)
      __builtin_memcpy(c, acc[r], sizeof acc[r]);
    else
      __builtin_memcpy(c, acc[r], static_cast<size_t>(left) * sizeof(int32_t));
  }
}

void integer_gemm(const IntegerGemm& g, int64_t m0, int64_t m1, int64_t p0, int64_t p1) {
  for (int64_t p = p0; p < p1; p++)
    in_parts(m0, m1, kRows, [&](int64_t row, int64_t n) { with_rows<kRows>(n, [&](auto count) { integer_tile<count.value>(g, row, p); }); });
}

template <typename T>
static void shift_as(const T* __restrict x, int64_t stride, int64_t n, int32_t zero, int16_t* __restrict out) {
  if (stride == 1)
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<int16_t>(x[i] - zero);
  else
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<int16_t>(x[i * stride] - zero);
}

void shift_row(const uint8_t* x, bool is_signed, int64_t stride, int64_t n, int32_t zero, int16_t* out) {
  if (is_signed)
    shift_as(reinterpret_cast<const int8_t*>(x), stride, n, zero, out);
  else
    shift_as(x, stride, n, zero, out);
}

void interleave_pair(const int16_t* even, const int16_t* odd, int64_t n, int16_t* out, int64_t panel_stride) {
  for (; n > 0; n -= kPanel, even += kPanel, odd += kPanel, out += panel_stride) {
    const int64_t cols = n < kPanel ? n : kPanel;
    for (int64_t i = 0; i < cols; i++) {
      out[2 * i] = even[i];
      out[2 * i + 1] = odd[i];
    }
    for (int64_t i = 2 * cols; i < 2 * kPanel; i++) out[i] = 0;
  }
}

}  // namespace SX_ISA
}  // namespace sx
