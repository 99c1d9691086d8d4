// The register tile of the GEMM: MR rows of A against one packed panel of NV vectors.
//
// Accumulators stay in registers over the whole of K. Sizes follow from the register file: 6 x 2 vectors of 16 registers
// (AVX2, SSE), 8 x 3 or 14 x 2 of 32 (AVX-512). The k loop is unrolled by hand-set pragma only: a full unroll makes g++
// interleave steps and spill.
#pragma once
#include "kernels/rows/activation.h"
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

constexpr int64_t kLine = 64;

template <int MR, int NV>
static inline __attribute__((always_inline)) void tile_product(const float* a, int64_t lda, const float* b, int64_t k, const char*& next, int64_t next_step,
                                                               vf (&acc)[MR][NV]) {
#pragma GCC unroll 1
  for (int64_t i = 0; i < k; i++) {
    if ((i & 3) == 0) {
      prefetch1(next);
      next += next_step;
    }
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

// As tile_product, then bias, residual, activation and the store of `cols` columns.
template <int MR, int NV>
static void tile(const Gemm& g, int64_t row, int64_t col, const float* panel, const char*& next, int64_t next_step) {
  vf acc[MR][NV];
  const int64_t left = g.n - col;
  const Epilogue& e = g.e;
#pragma GCC unroll 4
  for (int v = 0; v < NV; v++) {
    vf bias{};
    if (e.bias) {
      const int64_t n = left - v * W;
      bias = n >= W ? load(e.bias + col + v * W) : n > 0 ? load_part(e.bias + col + v * W, static_cast<int>(n)) : vf{};
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) acc[r][v] = bias;
  }
  tile_product<MR, NV>(g.a + row * g.lda, g.lda, panel, g.k, next, next_step, acc);
  if (left >= NV * W) {
    if (e.act == Act::none && !e.residual) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) store(g.c + (row + r) * g.ldc + col + v * W, acc[r][v]);
      return;
    }
    // The epilogue over a copy in memory: one loop instead of MR * NV copies of every activation.
    float* c = g.c + row * g.ldc + col;
    alignas(64) float spilled[MR * NV * W];
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) *reinterpret_cast<vf*>(spilled + (r * NV + v) * W) = acc[r][v];
    for (int r = 0; r < MR; r++) {
      const float* residual = e.residual ? e.residual + (row + r) * e.ldr + col : nullptr;
      for (int v = 0; v < NV; v++)
        store(c + r * g.ldc + v * W, finish(*reinterpret_cast<const vf*>(spilled + (r * NV + v) * W), e, residual ? residual + v * W : nullptr));
    }
    return;
  }
  alignas(64) float spilled[MR * NV * W];
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) *reinterpret_cast<vf*>(spilled + (r * NV + v) * W) = acc[r][v];
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) {
      const int64_t n = left - v * W;
      if (n <= 0) break;
      const int part = n >= W ? W : static_cast<int>(n);
      alignas(64) float residual[W] = {};
      if (e.residual) __builtin_memcpy(residual, e.residual + (row + r) * e.ldr + col + v * W, part * sizeof(float));
      const vf y = finish(*reinterpret_cast<const vf*>(spilled + (r * NV + v) * W), e, e.residual ? residual : nullptr);
      store_part(g.c + (row + r) * g.ldc + col + v * W, y, part);
    }
}

}  // namespace SX_ISA
}  // namespace sx
