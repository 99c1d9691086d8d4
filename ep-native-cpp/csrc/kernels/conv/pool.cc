// Max and average pools of a blocked plane, and the mean and maximum of a whole one.
#include "kernels/conv/nan.h"
#include "kernels/conv/window.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

template <PoolKind kind>
static inline vf join(vf a, vf x) {
  return kind == PoolKind::max ? max_or_nan(a, x) : a + x;
}

template <int P, PoolKind kind>
static inline __attribute__((always_inline)) void window(const Pool2d& p, const float* x, int64_t rows, int64_t cols, float count, float* y) {
  const int64_t pixel = p.stride_w * 16, step = p.dilation_w * 16, line = p.dilation_h * p.width * 16;
  vf acc[P];
#pragma GCC unroll 16
  for (int i = 0; i < P; i++) acc[i] = kind == PoolKind::max ? splat(-__builtin_inff()) : vf{};
  for (int64_t a = 0; a < rows; a++, x += line) {
    const float* at = x;
#pragma GCC unroll 1
    for (int64_t b = 0; b < cols; b++, at += step)
#pragma GCC unroll 16
      for (int i = 0; i < P; i++) acc[i] = join<kind>(acc[i], load(at + i * pixel));
  }
#pragma GCC unroll 16
  for (int i = 0; i < P; i++) store(y + i * 16, kind == PoolKind::max ? acc[i] : acc[i] / count);
}

static inline int64_t clipped(int64_t start, int64_t taps, int64_t dilation, int64_t low, int64_t high) {
  const Taps t = taps_inside(start - low, taps, dilation, high - low);
  return t.to - t.from;
}

template <PoolKind kind>
static void pool_row(const Pool2d& p, int64_t r) {
  constexpr int P = 4;
  const int64_t top = r * p.stride_h - p.pad_top;
  const Taps rows = taps_inside(top, p.kh, p.dilation_h, p.height);
  const Taps inner = outputs_inside(p.out_width, p.stride_w, p.pad_left, (p.kw - 1) * p.dilation_w, p.width);
  const float* line = p.x + (top + rows.from * p.dilation_h) * p.width * 16;
  const int64_t n = rows.to - rows.from;
  const int64_t counted = p.count_padding ? clipped(top, p.kh, p.dilation_h, -p.pad_top, p.bottom) : n;
  float* y = p.y + r * p.out_width * 16;
  for (int v = 0; v < 16; v += W)
    for (int64_t c = 0; c < p.out_width;) {
      const int64_t left = c * p.stride_w - p.pad_left;
      if (c >= inner.from && c + P <= inner.to) {
        window<P, kind>(p, line + left * 16 + v, n, p.kw, static_cast<float>(counted * p.kw), y + c * 16 + v);
        c += P;
        continue;
      }
      const Taps cols = taps_inside(left, p.kw, p.dilation_w, p.width);
      const int64_t wide = p.count_padding ? clipped(left, p.kw, p.dilation_w, -p.pad_left, p.right) : cols.to - cols.from;
      window<1, kind>(p, line + (left + cols.from * p.dilation_w) * 16 + v, n, cols.to - cols.from, static_cast<float>(counted * wide), y + c * 16 + v);
      c++;
    }
}

void pool_rows(const Pool2d& p, int64_t r0, int64_t r1) {
  for (int64_t r = r0; r < r1; r++) {
    if (p.kind == PoolKind::max)
      pool_row<PoolKind::max>(p, r);
    else
      pool_row<PoolKind::average>(p, r);
  }
}

// Sums of blocks of 256 pixels are added up pairwise enough for float32: the error grows with the number of blocks.
void mean_plane(const float* x, int64_t pixels, float* y) {
  for (int v = 0; v < 16; v += W) {
    vf total{};
    for (int64_t i0 = 0; i0 < pixels; i0 += 256) {
      const int64_t i1 = i0 + 256 < pixels ? i0 + 256 : pixels;
      vf s[8] = {};
      int64_t i = i0;
      for (; i + 8 <= i1; i += 8)
#pragma GCC unroll 8
        for (int k = 0; k < 8; k++) s[k] += load(x + (i + k) * 16 + v);
      for (; i < i1; i++) s[0] += load(x + i * 16 + v);
      total += ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
    store(y + v, total / static_cast<float>(pixels));
  }
}

void max_plane(const float* x, int64_t pixels, float* y) {
  for (int v = 0; v < 16; v += W) {
    vf m[4];
    for (int k = 0; k < 4; k++) m[k] = splat(-__builtin_inff());
    int64_t i = 0;
    for (; i + 4 <= pixels; i += 4)
#pragma GCC unroll 4
      for (int k = 0; k < 4; k++) m[k] = max_or_nan(m[k], load(x + (i + k) * 16 + v));
    for (; i < pixels; i++) m[0] = max_or_nan(m[0], load(x + i * 16 + v));
    store(y + v, max_or_nan(max_or_nan(m[0], m[1]), max_or_nan(m[2], m[3])));
  }
}

}  // namespace SX_ISA
}  // namespace sx
