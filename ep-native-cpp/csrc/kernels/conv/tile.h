// The register tile of convolutions: MR output pixels by NV vectors of channels.
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
constexpr int kTileChannels = kTileBlocks * 16, kTileVectors = kTileChannels / W;
// A tile of which half the channels at most are wanted: half as wide, and longer where the registers allow.
constexpr int kHalfVectors = kTileVectors / 2, kHalfPixels = W == 16 ? 14 : 2 * kTilePixels;

// acc += `len` steps from x on; w advances.
template <int MR, int NV>
static inline __attribute__((always_inline)) void tile_steps(const float* x, int64_t pixel, int64_t len, const float*& w, vf (&acc)[MR][NV]) {
#pragma GCC unroll 1
  for (int64_t k = 0; k < len; k++, w += kTileChannels) {
    vf b[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) b[v] = *reinterpret_cast<const vf*>(w + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) {
      const vf a = splat(x[r * pixel + k]);
#if SX_WIDTH == 4
      // 16 registers have no room for the weights beside the accumulators: unasked, g++ keeps them, and spills.
      const float* from = w;
      asm("" : "+r"(from));
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) b[v] = *reinterpret_cast<const vf*>(from + v * W);
#endif
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

// `step` bytes of weights to come, a multiple of 256.
static inline __attribute__((always_inline)) const char* fetch_weights(const char* next, int64_t step) {
#pragma GCC unroll 1
  for (int64_t i = 0; i < step; i += 256, next += 256) {
    prefetch1(next);
    prefetch1(next + 64);
    prefetch1(next + 128);
    prefetch1(next + 192);
  }
  return next;
}

// How much to fetch at each block of channels, so that `passes` over one tile's weights bring those of the next.
static inline int64_t fetch_step(int64_t passes) {
  constexpr int64_t block = 16 * kTileChannels * sizeof(float), most = 8 * 256;
  const int64_t step = (block / passes + 255) / 256 * 256;
  return step < most ? step : most;
}

// acc += the sum over runs and taps; `offset` is the first pixel's, in floats from a run's x. Returns where the fetching of
// weights has come to.
template <int MR, int NV>
static inline __attribute__((always_inline)) const char* tile_sum(const ConvRows& c, int64_t offset, const float* w, const char* next, int64_t next_step,
                                                                  vf (&acc)[MR][NV]) {
  const ConvRun* run = c.runs;
  const ConvRun* const end = run + c.n_runs;
  const int64_t pixel = c.pixel;
  if (c.kh == 1 && c.kw == 1) {
    for (; run != end; run++) {
      fetch_inputs<MR>(run[1].x + offset, pixel);
      next = fetch_weights(next, next_step);
      w += run->skip;
      tile_steps<MR, NV>(run->x + offset, pixel, run->len, w, acc);
    }
    return next;
  }
  if (pixel < 16) {
    // A plain input, whose rows share lines: nothing to fetch.
    for (; run != end; run++) {
      const float* row = run->x + offset;
      for (int64_t h = 0; h < c.kh; h++, row += c.step_h) {
        const float* x = row;
        for (int64_t t = 0; t < c.kw; t++, x += c.step_w) tile_steps<MR, NV>(x, pixel, run->len, w, acc);
      }
    }
    return next;
  }
  for (; run != end; run++) {
    const float* row = run->x + offset;
    for (int64_t h = 0; h < c.kh; h++, row += c.step_h) {
      fetch_inputs<MR>(h + 1 < c.kh ? row + c.step_h : run[1].x + offset, pixel);
      const float* x = row;
      for (int64_t t = 0; t < c.kw; t++, x += c.step_w) {
        next = fetch_weights(next, next_step);
        tile_steps<MR, NV>(x, pixel, run->len, w, acc);
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
template <int MR, int NV>
static const char* tile(const ConvRows& c, int64_t offset, const float* w, const float* bias, const float* residual, float* y, const char* next, int64_t next_step, Part part) {
  constexpr int blocks = (NV + kLanes16 - 1) / kLanes16;
  // What the end of a short sum would wait for.
  for (int b = 0; b < blocks; b++) {
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
  next = tile_sum<MR, NV>(c, offset, w, next, next_step, acc);
  const ConvTail& t = c.tail;
  if (is_simple(t) || !part.last) {
    if (residual && part.last) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) acc[r][v] += load(residual + v / kLanes16 * c.y_plane + r * 16 + v % kLanes16 * W);
    }
    if (part.last && t.act != Act::none) {
      const Bounds bounds = bounds_of(t);
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++) acc[r][v] = bound(bounds, acc[r][v]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) store(y + v / kLanes16 * c.y_plane + r * 16 + v % kLanes16 * W, acc[r][v]);
    if (NV < kLanes16) {
#pragma GCC unroll 16
      for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
        for (int v = NV; v < kLanes16; v++) store(y + r * 16 + v * W, vf{});
    }
    return next;
  }
  alignas(64) float sums[blocks][MR * 16];
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < blocks * kLanes16; v++) store(sums[v / kLanes16] + r * 16 + v % kLanes16 * W, v < NV ? acc[r][v < NV ? v : 0] : vf{});
  for (int b = 0; b < blocks; b++) finish_floats(t, sums[b], residual ? residual + b * c.y_plane : nullptr, y + b * c.y_plane, MR * 16);
  return next;
}

template <int MR, int NV>
struct Tiles {
  static const char* run(int pixels, const ConvRows& c, int64_t offset, const float* w, const float* bias, const float* residual, float* y, const char* next,
                         int64_t next_step, Part part) {
    if (pixels == MR) return tile<MR, NV>(c, offset, w, bias, residual, y, next, next_step, part);
    return Tiles<MR - 1, NV>::run(pixels, c, offset, w, bias, residual, y, next, next_step, part);
  }
};
template <int NV>
struct Tiles<0, NV> {
  static const char* run(int, const ConvRows&, int64_t, const float*, const float*, const float*, float*, const char* next, int64_t, Part) { return next; }
};

}  // namespace SX_ISA
}  // namespace sx
