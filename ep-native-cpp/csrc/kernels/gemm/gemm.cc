// Single-precision matrix product over packed panels.
#include "kernels/gemm/tile.h"
#include "kernels/movement/transpose.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

int64_t gemm_panel(int64_t n) { return panel_width(n); }

int64_t gemm_packed_size(int64_t k, int64_t n) {
  const int64_t width = panel_width(n);
  return (n + width - 1) / width * width * k;
}

void pack_b(const PackB& p, int64_t first, int64_t last) {
  const int64_t width = panel_width(p.n);
  for (int64_t panel = first; panel < last; panel++) {
    const int64_t col = panel * width, cols = p.n - col < width ? p.n - col : width;
    float* out = p.out + panel * width * p.k;
    const float* b = p.b + col * p.stride_n;
    if (p.stride_n == 1) {
      for (int64_t i = 0; i < p.k; i++, out += width) {
        __builtin_memcpy(out, b + i * p.stride_k, cols * sizeof(float));
        for (int64_t j = cols; j < width; j++) out[j] = 0;
      }
      continue;
    }
    if (p.stride_k == 1) {
      transpose_block(reinterpret_cast<const uint32_t*>(b), p.stride_n, reinterpret_cast<uint32_t*>(out), width, p.k, cols);
      for (int64_t i = 0; cols < width && i < p.k; i++)
        for (int64_t j = cols; j < width; j++) out[i * width + j] = 0;
      continue;
    }
    // Blocks of k, so that each source row is read in whole lines.
    for (int64_t k0 = 0; k0 < p.k; k0 += 16) {
      const int64_t k1 = k0 + 16 < p.k ? k0 + 16 : p.k;
      for (int64_t j = 0; j < width; j++)
        for (int64_t i = k0; i < k1; i++) out[i * width + j] = j < cols ? b[i * p.stride_k + j * p.stride_n] : 0;
    }
  }
}

// A few rows against several panels at once: with one panel they leave too few accumulators to hide the FMA's latency.
template <int ROWS, int NV, int PANELS>
static void few_rows(const Gemm& g, int64_t row, int64_t p0) {
  constexpr int64_t width = NV * W;
  const float* a = g.a + row * g.lda;
  const float* b[PANELS];
  vf acc[ROWS][PANELS][NV];
  for (int p = 0; p < PANELS; p++) b[p] = g.b + (p0 + p) * width * g.k;
#pragma GCC unroll 4
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
    for (int p = 0; p < PANELS; p++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[r][p][v] = vf{};
#pragma GCC unroll 2
  for (int64_t i = 0; i < g.k; i++) {
    vf x[ROWS];
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++) x[r] = splat(a[r * g.lda + i]);
#pragma GCC unroll 8
    for (int p = 0; p < PANELS; p++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) {
        const vf w = *reinterpret_cast<const vf*>(b[p] + i * width + v * W);
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) acc[r][p][v] += x[r] * w;
      }
  }
  for (int r = 0; r < ROWS; r++)
    for (int p = 0; p < PANELS; p++)
      for (int v = 0; v < NV; v++) {
        const int64_t col = (p0 + p) * width + v * W, n = g.n - col;
        if (n <= 0) break;
        const int part = n >= W ? W : static_cast<int>(n);
        vf y = acc[r][p][v];
        if (g.e.bias) y += load_part(g.e.bias + col, part);
        alignas(64) float residual[W] = {};
        if (g.e.residual) __builtin_memcpy(residual, g.e.residual + (row + r) * g.e.ldr + col, part * sizeof(float));
        store_part(g.c + (row + r) * g.ldc + col, finish(y, g.e, g.e.residual ? residual : nullptr), part);
      }
}

template <int ROWS, int NV>
static void few_rows_product(const Gemm& g, int64_t row, int64_t p0, int64_t p1) {
  constexpr int registers = W == 16 ? 24 : W == 8 ? 12 : 8, panels = ROWS == 1 ? 4 : registers / (ROWS * NV);
  int64_t p = p0;
  for (; p + panels <= p1; p += panels) few_rows<ROWS, NV, panels>(g, row, p);
  for (; p < p1; p++) few_rows<ROWS, NV, 1>(g, row, p);
}

template <int MR, int NV>
static void product(const Gemm& g, int64_t m0, int64_t m1, int64_t p0, int64_t p1) {
  constexpr int64_t width = NV * W;
  if (m1 - m0 == 1) return few_rows_product<1, NV>(g, m0, p0, p1);
  if (m1 - m0 == 2) return few_rows_product<2, NV>(g, m0, p0, p1);
  if (m1 - m0 == 3) return few_rows_product<3, NV>(g, m0, p0, p1);
  const int64_t panel_bytes = width * g.k * static_cast<int64_t>(sizeof(float));
  in_parts(m0, m1, near_rows<MR>(g.k), [&](int64_t b0, int64_t rows) {
    for (int64_t p = p0; p < p1; p++) {
      const float* panel = g.b + p * width * g.k;
      const bool last = p + 1 == p1;
      // A null target prefetches nothing useful: it stands still on the panel itself.
      const char* next = last ? g.next : reinterpret_cast<const char*>(panel) + panel_bytes;
      Ahead ahead{next ? next : reinterpret_cast<const char*>(panel), 0};
      const char* end = next ? next + (last ? g.next_bytes : panel_bytes) : ahead.next;
      in_parts(b0, b0 + rows, MR, [&](int64_t row, int64_t n) {
        ahead.step = ahead.next < end ? kLine : 0;
        with_rows<MR>(n, [&](auto count) { tile<count.value, NV>(g, row, p * width, panel, ahead); });
      });
    }
  });
}

void gemm(const Gemm& g, int64_t m0, int64_t m1, int64_t p0, int64_t p1) {
  if (is_wide(g.n))
    product<kWideRows, kWide>(g, m0, m1, p0, p1);
  else
    product<kNarrowRows, kNarrow>(g, m0, m1, p0, p1);
}

}  // namespace SX_ISA
}  // namespace sx
