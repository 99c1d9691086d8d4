// The transforms of Winograd's minimal filtering (Lavin and Gray, arXiv 1509.09308), in one or two dimensions: F(2, 3) at the
// points 0, 1, -1 and infinity, F(4, 3) and F(2, 5) at those and 2, -2.
//
// One vector of channels at a time; a tile that overlaps the border is first copied into a buffer with zeros around it.
#include "kernels/conv/tail.h"
#include "kernels/conv/winograd_form.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// A inputs to A points.
static inline __attribute__((always_inline)) void to_points(const vf (&d)[1], vf (&o)[1]) { o[0] = d[0]; }
static inline __attribute__((always_inline)) void to_points(const vf (&d)[4], vf (&o)[4]) {
  o[0] = d[0] - d[2];
  o[1] = d[1] + d[2];
  o[2] = d[2] - d[1];
  o[3] = d[1] - d[3];
}
static inline __attribute__((always_inline)) void to_points(const vf (&d)[6], vf (&o)[6]) {
  o[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
  const vf a = d[4] - 4.0f * d[2], b = d[3] - 4.0f * d[1];
  o[1] = a + b;
  o[2] = a - b;
  const vf c = d[4] - d[2], e = 2.0f * (d[3] - d[1]);
  o[3] = c + e;
  o[4] = c - e;
  o[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
}

// A points to M outputs.
static inline __attribute__((always_inline)) void to_outputs(const vf (&m)[1], vf (&o)[1]) { o[0] = m[0]; }
static inline __attribute__((always_inline)) void to_outputs(const vf (&m)[4], vf (&o)[2]) {
  o[0] = m[0] + m[1] + m[2];
  o[1] = m[1] - m[2] - m[3];
}
static inline __attribute__((always_inline)) void to_outputs(const vf (&m)[6], vf (&o)[2]) {
  o[0] = m[0] + (m[1] + m[2]) + (m[3] + m[4]);
  o[1] = (m[1] - m[2]) + 2.0f * (m[3] - m[4]) + m[5];
}
static inline __attribute__((always_inline)) void to_outputs(const vf (&m)[6], vf (&o)[4]) {
  const vf a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
  o[0] = m[0] + a + c;
  o[1] = b + 2.0f * d;
  o[2] = a + 4.0f * c;
  o[3] = b + 8.0f * d + m[5];
}

// A tile of pixels at x, rows and pixels `line` and `pixel` floats apart, to its points.
template <typename T>
static inline __attribute__((always_inline)) void input_tile(const float* x, int64_t line, int64_t pixel, float* points, int64_t step) {
  for (int v = 0; v < 16; v += W) {
    vf t[T::ah][T::aw];
#pragma GCC unroll 6
    for (int c = 0; c < T::aw; c++) {
      vf d[T::ah], o[T::ah];
#pragma GCC unroll 6
      for (int r = 0; r < T::ah; r++) d[r] = load(x + r * line + c * pixel + v);
      to_points(d, o);
#pragma GCC unroll 6
      for (int r = 0; r < T::ah; r++) t[r][c] = o[r];
    }
#pragma GCC unroll 6
    for (int r = 0; r < T::ah; r++) {
      vf o[T::aw];
      to_points(t[r], o);
#pragma GCC unroll 6
      for (int c = 0; c < T::aw; c++) store(points + (r * T::aw + c) * step + v, o[c]);
    }
  }
}

template <typename T, bool DENSE>
static void input(const WinogradTiles& t) {
  alignas(64) float padded[T::ah * T::aw * 16];
  const int64_t line = t.line, pixel = DENSE ? 16 : t.pixel;
  float* points = t.points;
  for (int64_t r = t.row; r < t.row + t.rows; r++) {
    const int64_t y0 = r * T::mh - t.pad_top;
    for (int64_t c = t.col; c < t.col + t.cols; c++, points += 16) {
      const int64_t x0 = c * T::mw - t.pad_left;
      if (y0 >= 0 && x0 >= 0 && y0 + T::ah <= t.height && x0 + T::aw <= t.width) {
        input_tile<T>(t.x + y0 * line + x0 * pixel, line, pixel, points, t.step);
        continue;
      }
      const int64_t left = x0 < 0 ? -x0 : 0, right = x0 + T::aw <= t.width ? T::aw : t.width - x0;
      for (int64_t i = 0; i < T::ah; i++) {
        float* to = padded + i * T::aw * 16;
        const int64_t y = y0 + i;
        __builtin_memset(to, 0, T::aw * 16 * sizeof(float));
        if (y < 0 || y >= t.height) continue;
        for (int64_t k = left; k < right; k++) __builtin_memcpy(to + k * 16, t.x + y * line + (x0 + k) * pixel, 16 * sizeof(float));
      }
      input_tile<T>(padded, T::aw * 16, 16, points, t.step);
    }
  }
}

void winograd_input(const WinogradTiles& t) {
  with_form(t.form, [&](auto form) { t.pixel == 16 ? input<decltype(form), true>(t) : input<decltype(form), false>(t); });
}

// The outputs of a tile, bias added, to y with rows and pixels `line` and `pixel` floats apart, as the residual's.
template <typename T>
static inline __attribute__((always_inline)) void output_tile(const float* points, int64_t step, const float* bias, const Bounds& bounds, const float* residual, float* y,
                                                              int64_t line, int64_t pixel) {
  for (int v = 0; v < 16; v += W) {
    const vf start = load(bias + v);
    vf t[T::mh][T::aw];
#pragma GCC unroll 6
    for (int c = 0; c < T::aw; c++) {
      vf m[T::ah], o[T::mh];
#pragma GCC unroll 6
      for (int r = 0; r < T::ah; r++) m[r] = load(points + (r * T::aw + c) * step + v);
      to_outputs(m, o);
#pragma GCC unroll 4
      for (int r = 0; r < T::mh; r++) t[r][c] = o[r];
    }
#pragma GCC unroll 4
    for (int r = 0; r < T::mh; r++) {
      vf o[T::mw];
      to_outputs(t[r], o);
#pragma GCC unroll 4
      for (int c = 0; c < T::mw; c++) {
        vf out = o[c] + start;
        if (residual) out += load(residual + r * line + c * pixel + v);
        if (bounds.any) out = bound(bounds, out);
        store(y + r * line + c * pixel + v, out);
      }
    }
  }
}

template <typename T, bool DENSE>
static void output(const WinogradTiles& t) {
  const int64_t line = t.line, pixel = DENSE ? 16 : t.pixel;
  const bool simple = is_simple(t.tail);
  const Bounds bounds = simple ? bounds_of(t.tail) : Bounds{};
  const float* points = t.points;
  for (int64_t r = t.row; r < t.row + t.rows; r++) {
    const int64_t rows = t.height - r * T::mh < T::mh ? t.height - r * T::mh : T::mh;
    for (int64_t c = t.col; c < t.col + t.cols; c++, points += 16) {
      const int64_t cols = t.width - c * T::mw < T::mw ? t.width - c * T::mw : T::mw, at = r * T::mh * line + c * T::mw * pixel;
      float* y = t.y + at;
      const float* residual = t.tail.residual ? t.tail.residual + at : nullptr;
      if (simple && rows == T::mh && cols == T::mw) {
        output_tile<T>(points, t.step, t.tail.bias, bounds, residual, y, line, pixel);
        continue;
      }
      alignas(64) float whole[T::mh * T::mw * 16];
      output_tile<T>(points, t.step, t.tail.bias, Bounds{}, nullptr, whole, T::mw * 16, 16);
      for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < cols; k += DENSE ? cols : 1)
          finish_floats(t.tail, whole + (i * T::mw + k) * 16, residual ? residual + i * line + k * pixel : nullptr, y + i * line + k * pixel, DENSE ? cols * 16 : 16);
    }
  }
}

void winograd_output(const WinogradTiles& t) {
  with_form(t.form, [&](auto form) { t.pixel == 16 ? output<decltype(form), true>(t) : output<decltype(form), false>(t); });
}

}  // namespace SX_ISA
}  // namespace sx
