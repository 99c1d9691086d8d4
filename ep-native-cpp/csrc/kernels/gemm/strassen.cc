// One level of Strassen's algorithm in Winograd's form, for products with constant weights.
//
// B is packed as for a plain product. Its combinations T1..T4 are formed per pair of panels (column j of the left half,
// column j of the right half) and block of rows, as they are used. A's sums S1..S4 are formed once per block of rows.
// Per pair, with the accumulators started from a buffer of half a block of rows:
//   p1 = A11 B11; C11 = p1 + A12 B21; u2 = p1 + S2 T2; u3 = u2 + S3 T3; C21 = u3 + A22 (-T4);
//   p5 = S1 T1; C22 = u3 + p5; C12 = (u2 + p5) + S4 B22.
// With an odd number of rows the lower half is one row short; its sums take that row as zero.
#include "kernels/gemm/tile.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

bool strassen_pays(int64_t m, int64_t n, int64_t k) {
  return SX_WIDTH > 4 && m >= 96 && n >= 256 && k >= 512 && k % 2 == 0 && n % (2 * panel_width(n)) == 0;
}

int64_t strassen_buffer(int64_t block, int64_t n, int64_t k) { return (3 * ((block + 1) / 2) + k / 2) * panel_width(n); }

// Rows of a block: [first, first + upper) and [first + upper, first + upper + lower).
struct Half {
  int64_t first, upper, lower;
};
static Half half(const Strassen& s, int64_t block) {
  const int64_t first = block * s.block, rows = s.g.m - first < s.block ? s.g.m - first : s.block;
  return {first, (rows + 1) / 2, rows / 2};
}
static float* sum(const Strassen& s, int which, int64_t block) {
  const int64_t rows = (s.block + 1) / 2;
  return s.sums + ((which - 1) * s.blocks + block) * rows * (s.g.k / 2);
}

void strassen_sums(const Strassen& s, int64_t b0, int64_t b1) {
  const int64_t k2 = s.g.k / 2, lda = s.g.lda;
  for (int64_t b = b0; b < b1; b++) {
    const Half h = half(s, b);
    for (int64_t r = 0; r < h.upper; r++) {
      const float* up = s.g.a + (h.first + r) * lda;
      const float* down = r < h.lower ? up + h.upper * lda : nullptr;
      float *s1 = sum(s, 1, b) + r * k2, *s2 = sum(s, 2, b) + r * k2, *s3 = sum(s, 3, b) + r * k2, *s4 = sum(s, 4, b) + r * k2;
      for (int64_t i = 0; i < k2; i++) {
        const float a11 = up[i], a12 = up[k2 + i], a21 = down ? down[i] : 0, a22 = down ? down[k2 + i] : 0;
        const float x1 = a21 + a22, x2 = x1 - a11;
        s1[i] = x1;
        s2[i] = x2;
        s3[i] = a11 - a21;
        s4[i] = a12 - x2;
      }
    }
  }
}

// What one stage does with a tile: started from `init` (or zero), stored to `out`, put into C, or both with u3.
struct Stage {
  const float* a;
  int64_t lda;
  const float* panel;
  const float* init;  // [rows][panel], or null
  float* out;         // [rows][panel], or null
  int64_t row, col;   // of C, where out is null
};

template <int MR, int NV>
static void stage_tile(const Gemm& g, const Stage& t, int64_t r0, int64_t k2, const char*& next, int64_t step) {
  constexpr int64_t width = NV * W;
  vf acc[MR][NV];
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) acc[r][v] = t.init ? load(t.init + (r0 + r) * width + v * W) : vf{};
  tile_product<MR, NV>(t.a + r0 * t.lda, t.lda, t.panel, k2, next, step, acc);
  if (t.out) {
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) store(t.out + (r0 + r) * width + v * W, acc[r][v]);
    return;
  }
#pragma GCC unroll 4
  for (int v = 0; v < NV; v++) {
    const vf bias = bias_at(g, t.col + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) acc[r][v] += bias;
  }
  put_tile<MR, NV>(g, t.row + r0, t.col, acc);
}

// `next`, if not null: as many floats as the panel has, to fetch into L2 meanwhile.
template <int MR, int NV>
static void stage(const Gemm& g, const Stage& t, int64_t rows, int64_t k2, const float* ahead) {
  const char* next = reinterpret_cast<const char*>(ahead ? ahead : t.panel);
  const char* end = ahead ? next + NV * W * k2 * static_cast<int64_t>(sizeof(float)) : next;
  in_parts(0, rows, MR, [&](int64_t row, int64_t n) {
    with_rows<MR>(n, [&](auto count) { stage_tile<count.value, NV>(g, t, row, k2, next, next < end ? kLine : 0); });
  });
}

// out = f(vectors at i) over n floats, a multiple of W.
template <typename F>
static inline void form(float* out, int64_t n, F f) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; i += W) *reinterpret_cast<vf*>(out + i) = f(i);
}

template <int MR, int NV>
static void pairs(const Strassen& s, int64_t b0, int64_t b1, int64_t pair0, int64_t pair1, float* buffers) {
  constexpr int64_t width = NV * W;
  const Gemm& g = s.g;
  const int64_t k2 = g.k / 2, n2 = g.n / 2, part = k2 * width, rows = (s.block + 1) / 2;
  float *t = buffers, *u2 = t + part, *u3 = u2 + rows * width, *p5 = u3 + rows * width;
  for (int64_t b = b0; b < b1; b++) {
    const Half h = half(s, b);
    const float *a11 = g.a + h.first * g.lda, *a12 = a11 + k2, *a22 = a12 + h.upper * g.lda;
    for (int64_t pair = pair0; pair < pair1; pair++) {
      const float *b11 = g.b + 2 * pair * part, *b21 = b11 + part, *b12 = b11 + n2 * g.k, *b22 = b12 + part;
      const float* next = pair + 1 < pair1 ? b11 + 2 * part : b + 1 < b1 ? g.b + 2 * pair0 * part : reinterpret_cast<const float*>(g.next);
      const int64_t left = pair * width, right = n2 + left, low = h.first + h.upper;
      stage<MR, NV>(g, {a11, g.lda, b11, nullptr, u2, 0, 0}, h.upper, k2, b12);
      stage<MR, NV>(g, {a12, g.lda, b21, u2, nullptr, h.first, left}, h.upper, k2, b22);
      form(t, part, [&](int64_t i) { return load(b22 + i) - (load(b12 + i) - load(b11 + i)); });
      stage<MR, NV>(g, {sum(s, 2, b), k2, t, u2, u2, 0, 0}, h.upper, k2, nullptr);
      form(t, part, [&](int64_t i) { return load(b22 + i) - load(b12 + i); });
      stage<MR, NV>(g, {sum(s, 3, b), k2, t, u2, u3, 0, 0}, h.lower, k2, nullptr);
      form(t, part, [&](int64_t i) { return load(b21 + i) - (load(b22 + i) - (load(b12 + i) - load(b11 + i))); });
      stage<MR, NV>(g, {a22, g.lda, t, u3, nullptr, low, left}, h.lower, k2, nullptr);
      form(t, part, [&](int64_t i) { return load(b12 + i) - load(b11 + i); });
      stage<MR, NV>(g, {sum(s, 1, b), k2, t, nullptr, p5, 0, 0}, h.upper, k2, next);
      for (int64_t r = 0; r < h.lower; r++) {
        vf acc[1][NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
          acc[0][v] = load(u3 + r * width + v * W) + load(p5 + r * width + v * W) + bias_at(g, right + v * W);
        put_tile<1, NV>(g, low + r, right, acc);
      }
      for (int64_t i = 0; i < h.upper * width; i += W) store(u2 + i, load(u2 + i) + load(p5 + i));
      stage<MR, NV>(g, {sum(s, 4, b), k2, b22, u2, nullptr, h.first, right}, h.upper, k2, next ? next + part : nullptr);
    }
  }
}

void strassen(const Strassen& s, int64_t b0, int64_t b1, int64_t pair0, int64_t pair1, float* buffers) {
  if (is_wide(s.g.n))
    pairs<kWideRows, kWide>(s, b0, b1, pair0, pair1, buffers);
  else
    pairs<kNarrowRows, kNarrow>(s, b0, b1, pair0, pair1, buffers);
}

}  // namespace SX_ISA
}  // namespace sx
