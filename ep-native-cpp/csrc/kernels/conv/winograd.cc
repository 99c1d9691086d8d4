// The transforms of Winograd's minimal filtering F(2x2, 3x3) and F(4x4, 3x3) (Lavin and Gray, arXiv 1509.09308).
//
// One vector of channels at a time; a tile that overlaps the border is first copied into a buffer with zeros around it.
#include "kernels/conv/tail.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

template <int M>
struct Transform;

template <>
struct Transform<4> {
  static inline __attribute__((always_inline)) void input(const vf (&d)[6], vf (&o)[6]) {
    o[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
    const vf a = d[4] - 4.0f * d[2], b = d[3] - 4.0f * d[1];
    o[1] = a + b;
    o[2] = a - b;
    const vf c = d[4] - d[2], e = 2.0f * (d[3] - d[1]);
    o[3] = c + e;
    o[4] = c - e;
    o[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
  }
  static inline __attribute__((always_inline)) void output(const vf (&m)[6], vf (&o)[4]) {
    const vf a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
    o[0] = m[0] + a + c;
    o[1] = b + 2.0f * d;
    o[2] = a + 4.0f * c;
    o[3] = b + 8.0f * d + m[5];
  }
};

template <>
struct Transform<2> {
  static inline __attribute__((always_inline)) void input(const vf (&d)[4], vf (&o)[4]) {
    o[0] = d[0] - d[2];
    o[1] = d[1] + d[2];
    o[2] = d[2] - d[1];
    o[3] = d[1] - d[3];
  }
  static inline __attribute__((always_inline)) void output(const vf (&m)[4], vf (&o)[2]) {
    o[0] = m[0] + m[1] + m[2];
    o[1] = m[1] - m[2] - m[3];
  }
};

// A tile of (M + 2)^2 pixels at x, rows and pixels `line` and `pixel` floats apart, to its points.
template <int M>
static inline __attribute__((always_inline)) void input_tile(const float* x, int64_t line, int64_t pixel, float* points, int64_t step) {
  constexpr int A = M + 2;
  for (int v = 0; v < 16; v += W) {
    vf t[A][A];
#pragma GCC unroll 6
    for (int c = 0; c < A; c++) {
      vf d[A], o[A];
#pragma GCC unroll 6
      for (int r = 0; r < A; r++) d[r] = load(x + r * line + c * pixel + v);
      Transform<M>::input(d, o);
#pragma GCC unroll 6
      for (int r = 0; r < A; r++) t[r][c] = o[r];
    }
#pragma GCC unroll 6
    for (int r = 0; r < A; r++) {
      vf o[A];
      Transform<M>::input(t[r], o);
#pragma GCC unroll 6
      for (int c = 0; c < A; c++) store(points + (r * A + c) * step + v, o[c]);
    }
  }
}

template <int M, bool DENSE>
static void input(const WinogradTiles& t) {
  constexpr int A = M + 2;
  alignas(64) float padded[A * A * 16];
  const int64_t line = t.line, pixel = DENSE ? 16 : t.pixel;
  float* points = t.points;
  for (int64_t r = t.row; r < t.row + t.rows; r++) {
    const int64_t y0 = r * M - t.pad_top;
    for (int64_t c = 0; c < t.cols; c++, points += 16) {
      const int64_t x0 = c * M - t.pad_left;
      if (y0 >= 0 && x0 >= 0 && y0 + A <= t.height && x0 + A <= t.width) {
        input_tile<M>(t.x + y0 * line + x0 * pixel, line, pixel, points, t.step);
        continue;
      }
      const int64_t left = x0 < 0 ? -x0 : 0, right = x0 + A <= t.width ? A : t.width - x0;
      for (int64_t i = 0; i < A; i++) {
        float* to = padded + i * A * 16;
        const int64_t y = y0 + i;
        __builtin_memset(to, 0, A * 16 * sizeof(float));
        if (y < 0 || y >= t.height) continue;
        for (int64_t k = left; k < right; k++) __builtin_memcpy(to + k * 16, t.x + y * line + (x0 + k) * pixel, 16 * sizeof(float));
      }
      input_tile<M>(padded, A * 16, 16, points, t.step);
    }
  }
}

void winograd_input(const WinogradTiles& t) {
  if (t.pixel == 16)
    t.m == 4 ? input<4, true>(t) : input<2, true>(t);
  else
    t.m == 4 ? input<4, false>(t) : input<2, false>(t);
}

// The M x M outputs of a tile, bias added, to y with rows and pixels `line` and `pixel` floats apart, as the residual's.
template <int M>
static inline __attribute__((always_inline)) void output_tile(const float* points, int64_t step, const float* bias, const Bounds& bounds, const float* residual, float* y,
                                                              int64_t line, int64_t pixel) {
  constexpr int A = M + 2;
  for (int v = 0; v < 16; v += W) {
    const vf start = load(bias + v);
    vf t[M][A];
#pragma GCC unroll 6
    for (int c = 0; c < A; c++) {
      vf m[A], o[M];
#pragma GCC unroll 6
      for (int r = 0; r < A; r++) m[r] = load(points + (r * A + c) * step + v);
      Transform<M>::output(m, o);
#pragma GCC unroll 4
      for (int r = 0; r < M; r++) t[r][c] = o[r];
    }
#pragma GCC unroll 4
    for (int r = 0; r < M; r++) {
      vf o[M];
      Transform<M>::output(t[r], o);
#pragma GCC unroll 4
      for (int c = 0; c < M; c++) {
        vf out = o[c] + start;
        if (residual) out += load(residual + r * line + c * pixel + v);
        if (bounds.any) out = bound(bounds, out);
        store(y + r * line + c * pixel + v, out);
      }
    }
  }
}

template <int M, bool DENSE>
static void output(const WinogradTiles& t) {
  const int64_t line = t.line, pixel = DENSE ? 16 : t.pixel;
  const bool simple = is_simple(t.tail);
  const Bounds bounds = simple ? bounds_of(t.tail) : Bounds{};
  const float* points = t.points;
  for (int64_t r = t.row; r < t.row + t.rows; r++) {
    const int64_t rows = t.height - r * M < M ? t.height - r * M : M;
    for (int64_t c = 0; c < t.cols; c++, points += 16) {
      const int64_t cols = t.width - c * M < M ? t.width - c * M : M, at = r * M * line + c * M * pixel;
      float* y = t.y + at;
      const float* residual = t.tail.residual ? t.tail.residual + at : nullptr;
      if (simple && rows == M && cols == M) {
        output_tile<M>(points, t.step, t.tail.bias, bounds, residual, y, line, pixel);
        continue;
      }
      alignas(64) float whole[M * M * 16];
      output_tile<M>(points, t.step, t.tail.bias, Bounds{}, nullptr, whole, M * 16, 16);
      for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k += DENSE ? cols : 1)
          finish_floats(t.tail, whole + (i * M + k) * 16, residual ? residual + i * line + k * pixel : nullptr, y + i * line + k * pixel, DENSE ? cols * 16 : 16);
    }
  }
}

void winograd_output(const WinogradTiles& t) {
  if (t.pixel == 16)
    t.m == 4 ? output<4, true>(t) : output<2, true>(t);
  else
    t.m == 4 ? output<4, false>(t) : output<2, false>(t);
}

}  // namespace SX_ISA
}  // namespace sx
