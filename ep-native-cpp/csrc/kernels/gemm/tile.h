// The register tile of the GEMM: MR rows of A against one packed panel of NV vectors.
//
// Accumulators stay in registers over the whole of K. Sizes follow from the register file: 6 x 2 vectors of 16 registers
// (AVX2, SSE), 8 x 3 or 14 x 2 of 32 (AVX-512). The k loop is unrolled by hand-set pragma only: a full unroll makes g++
// interleave steps and spill.
#pragma once
#include "kernels/parts.h"
#include "kernels/rows/activation.h"
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

constexpr int64_t kLine = 64;

#if SX_WIDTH == 16
constexpr int kWide = 3, kWideRows = 8, kNarrow = 2, kNarrowRows = 14;
#else
constexpr int kWide = 2, kWideRows = 6, kNarrow = 2, kNarrowRows = 6;
#endif
// Whether a matrix of n columns takes the wide panels.
static inline bool is_wide(int64_t n) { return kWide != kNarrow && n % (kWide * W) == 0; }
static inline int64_t panel_width(int64_t n) { return (is_wide(n) ? kWide : kNarrow) * W; }
// Rows, in tiles of MR, whose part of A stays in L2 together with a few panels.
template <int MR>
static inline int64_t near_rows(int64_t k) {
  const int64_t budget = 48 * 1024 / (k > 0 ? k : 1) / MR * MR;
  return budget < 4 * MR ? 4 * MR : budget;
}

// Fetches a stretch of memory into L2, a line at a time; a step of 0 stands still.
struct Ahead {
  const char* next;
  int64_t step;
  inline __attribute__((always_inline)) void operator()() {
    prefetch1(next);
    next += step;
  }
};

// acc += A B over k steps. What is done `beside` comes once every four steps: it runs in the shadow of the multiplications.
template <int MR, int NV, typename Beside>
static inline __attribute__((always_inline)) void tile_product(const float* a, int64_t lda, const float* b, int64_t k, Beside& beside, vf (&acc)[MR][NV]) {
#pragma GCC unroll 1
  for (int64_t i = 0; i < k; i++) {
    if ((i & 3) == 0) beside();
    vf w[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) w[v] = *reinterpret_cast<const vf*>(b + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) {
      const vf x = splat(a[r * lda + i]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[r][v] += x * w[v];
    }
    b += NV * W;
  }
}

// One vector through an epilogue at row r, column j.
static inline __attribute__((always_inline)) vf finish(vf y, const Epilogue& e, const float* residual) {
  if (residual && !e.residual_after) y += load(residual);
  if (e.act == Act::relu)
    y = vmax_keep(y, vf{});
  else if (e.act != Act::none)
    y = activate(e.act, y, e.alpha, e.beta);
  if (residual && e.residual_after) y += load(residual);
  return y;
}

// The bias of one column vector, zero beyond the last column.
static inline vf bias_at(const Gemm& g, int64_t col) {
  if (!g.e.bias) return vf{};
  const int64_t n = g.n - col;
  return n >= W ? load(g.e.bias + col) : n > 0 ? load_part(g.e.bias + col, static_cast<int>(n)) : vf{};
}

static inline vf residual_at(const Gemm& g, int64_t row, int64_t col) {
  const float* p = g.e.residual + row * g.e.ldr + col;
  const int64_t n = g.n - col;
  return n >= W ? load(p) : n > 0 ? load_part(p, static_cast<int>(n)) : vf{};
}

// Residual, activation and store of a tile whose bias is in.
template <int MR, int NV>
static inline __attribute__((always_inline)) void put_tile(const Gemm& g, int64_t row, int64_t col, vf (&acc)[MR][NV]) {
  const int64_t left = g.n - col;
  const Epilogue& e = g.e;
  float* c = g.c + row * g.ldc + col;
  if (left >= NV * W && e.act == Act::none && !e.residual) {
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) store(c + r * g.ldc + v * W, acc[r][v]);
    return;
  }
  // The epilogue over a copy in memory: one loop instead of MR * NV copies of every activation.
  constexpr int width = NV * W;
  alignas(64) float sums[MR * width];
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) {
      if (e.residual && !e.residual_after) acc[r][v] += residual_at(g, row + r, col + v * W);
      *reinterpret_cast<vf*>(sums + r * width + v * W) = acc[r][v];
    }
  activate_floats(e.act, sums, MR * width, e.alpha, e.beta);
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) {
      vf y = *reinterpret_cast<const vf*>(sums + r * width + v * W);
      if (e.residual && e.residual_after) y += residual_at(g, row + r, col + v * W);
      const int64_t n = left - v * W;
      if (n >= W)
        store(c + r * g.ldc + v * W, y);
      else if (n > 0)
        store_part(c + r * g.ldc + v * W, y, static_cast<int>(n));
    }
}

// Bias, product, epilogue of one tile.
template <int MR, int NV>
static void tile(const Gemm& g, int64_t row, int64_t col, const float* panel, Ahead& ahead) {
  vf acc[MR][NV];
#pragma GCC unroll 4
  for (int v = 0; v < NV; v++) {
    const vf bias = bias_at(g, col + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) acc[r][v] = bias;
  }
  tile_product<MR, NV>(g.a + row * g.lda, g.lda, panel, g.k, ahead, acc);
  put_tile<MR, NV>(g, row, col, acc);
}

}  // namespace SX_ISA
}  // namespace sx
