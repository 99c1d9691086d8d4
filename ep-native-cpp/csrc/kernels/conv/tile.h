// The register tile of convolutions: MR output pixels by NB blocks of 16 channels.
//
// Accumulators stay in registers over the whole sum; inputs are broadcast from where they lie, one float at a time, so
// the pixels of a tile may be any constant distance apart. Sizes follow from the register file: 6 pixels x 16 channels of
// 16 AVX registers, 14 x 32 of 32 AVX-512 registers, 3 x 16 of 16 SSE registers. The k loop is not unrolled: a full unroll
// makes g++ interleave steps and spill.
#pragma once
#include "kernels/conv/tail.h"

namespace sx {
namespace SX_ISA {

#if SX_WIDTH == 16
constexpr int kTileBlocks = 2, kTilePixels = 14;
#elif SX_WIDTH == 8
constexpr int kTileBlocks = 1, kTilePixels = 6;
#else
constexpr int kTileBlocks = 1, kTilePixels = 3;
#endif
constexpr int kTileChannels = kTileBlocks * 16;

// acc += `len` steps from x on; w advances.
template <int MR, int NB>
static inline __attribute__((always_inline)) void tile_steps(const float* x, int64_t pixel, int64_t len, const float*& w, vf (&acc)[MR][NB * kLanes16]) {
  constexpr int NV = NB * kLanes16;
#pragma GCC unroll 1
  for (int64_t k = 0; k < len; k++, w += kTileChannels) {
    vf b[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) b[v] = *reinterpret_cast<const vf*>(w + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) {
      const vf a = splat(x[r * pixel + k]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[r][v] += a * b[v];
    }
  }
}

// The inputs of the next row or plane, whose distance the hardware does not guess.
template <int MR>
static inline __attribute__((always_inline)) void fetch_inputs(const float* x, int64_t pixel) {
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++) prefetch0(x + r * pixel);
}

static inline __attribute__((always_inline)) const char* fetch_weights(const char* next, int64_t step) {
  prefetch1(next);
  prefetch1(next + 64);
  prefetch1(next + 128);
  prefetch1(next + 192);
  return next + step;
}

// acc += the sum over runs and taps; `offset` is the first pixel's, in floats from a run's x. Returns where the fetching of
// weights has come to.
template <int MR, int NB>
static inline __attribute__((always_inline)) const char* tile_sum(const ConvRows& c, int64_t offset, const float* w, const char* next, int64_t next_step,
                                                                  vf (&acc)[MR][NB * kLanes16]) {
  const ConvRun* run = c.runs;
  const ConvRun* const end = run + c.n_runs;
  const int64_t pixel = c.pixel;
  if (c.kh == 1 && c.kw == 1) {
    for (; run != end; run++) {
      fetch_inputs<MR>(run[1].x + offset, pixel);
      next = fetch_weights(next, next_step);
      tile_steps<MR, NB>(run->x + offset, pixel, run->len, w, acc);
    }
    return next;
  }
  const bool apart = pixel >= 16;
  for (; run != end; run++) {
    const float* row = run->x + offset;
    for (int64_t h = 0; h < c.kh; h++, row += c.step_h) {
      if (apart) fetch_inputs<MR>(h + 1 < c.kh ? row + c.step_h : run[1].x + offset, pixel);
      const float* x = row;
      for (int64_t t = 0; t < c.kw; t++, x += c.step_w) {
        next = fetch_weights(next, next_step);
        tile_steps<MR, NB>(x, pixel, run->len, w, acc);
      }
    }
  }
  return next;
}

// Which part of a sum a pass over some of its runs is: the first begins with the bias and others with what lies in y, the
// last goes through the tail.
struct Part {
  bool first, last;
};

// MR pixels from `offset` on, written to y (pixels 16 floats apart, blocks c.y_plane apart).
template <int MR, int NB>
static const char* tile(const ConvRows& c, int64_t offset, const float* w, const float* bias, const float* residual, float* y, const char* next, int64_t next_step, Part part) {
  constexpr int NV = NB * kLanes16;
  // What the end of a short sum would wait for.
  for (int b = 0; b < NB; b++) {
    if (residual) fetch_inputs<MR>(residual + b * c.y_plane, 16);
    fetch_inputs<MR>(y + b * c.y_plane, 16);
  }
  vf acc[MR][NV];
  if (part.first) {
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) {
      const vf start = load(bias + v * W);
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++) acc[r][v] = start;
    }
  } else {
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[r][v] = load(y + v / kLanes16 * c.y_plane + r * 16 + v % kLanes16 * W);
  }
  next = tile_sum<MR, NB>(c, offset, w, next, next_step, acc);
  const ConvTail& t = c.tail;
  if (is_simple(t) || !part.last) {
    if (residual && part.last) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) acc[r][v] += load(residual + v / kLanes16 * c.y_plane + r * 16 + v % kLanes16 * W);
    }
    if (t.act == Act::relu && part.last) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) acc[r][v] = vmax_keep(acc[r][v], vf{});
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) store(y + v / kLanes16 * c.y_plane + r * 16 + v % kLanes16 * W, acc[r][v]);
    return next;
  }
  alignas(64) float sums[NB][MR * 16];
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) store(sums[v / kLanes16] + r * 16 + v % kLanes16 * W, acc[r][v]);
  for (int b = 0; b < NB; b++) finish_floats(t, sums[b], residual ? residual + b * c.y_plane : nullptr, y + b * c.y_plane, MR * 16);
  return next;
}

template <int MR, int NB>
struct Tiles {
  static const char* run(int pixels, const ConvRows& c, int64_t offset, const float* w, const float* bias, const float* residual, float* y, const char* next,
                         int64_t next_step, Part part) {
    if (pixels == MR) return tile<MR, NB>(c, offset, w, bias, residual, y, next, next_step, part);
    return Tiles<MR - 1, NB>::run(pixels, c, offset, w, bias, residual, y, next, next_step, part);
  }
};
template <int NB>
struct Tiles<0, NB> {
  static const char* run(int, const ConvRows&, int64_t, const float*, const float*, const float*, float*, const char* next, int64_t, Part) { return next; }
};

}  // namespace SX_ISA
}  // namespace sx
