// One level of Strassen's algorithm in Winograd's form, for products with constant weights.
//
// B is packed as for a plain product. Its combinations T1..T4 are formed per pair of panels (column j of the left half,
// column j of the right half) and block of rows, each beside a product that comes before its own. A's sums S1..S4 are formed
// once per block of rows. Per pair, with the accumulators started from a buffer of half a block of rows:
//   p1 = A11 B11; p5 = S1 T1; C11 = p1 + A12 B21; u2 = p1 + S2 T2; u3 = u2 + S3 T3; C21 = u3 + A22 (-T4);
//   C22 = u3 + p5; C12 = (u2 + p5) + S4 B22,
//   where T1 = B12 - B11, T2 = B22 - T1, T3 = B22 - B12, -T4 = B21 - T2.
// With an odd number of rows the lower half is one row short; its sums take that row as zero.
#include "kernels/gemm/tile.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

bool strassen_pays(int64_t m, int64_t n, int64_t k) {
  return SX_WIDTH > 4 && m >= 96 && n >= 256 && k >= 256 && k % 2 == 0 && n % (2 * panel_width(n)) == 0;
}

int64_t strassen_buffer(int64_t block, int64_t n, int64_t k) { return (3 * ((block + 1) / 2) + k) * panel_width(n); }

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

// out = x - y over n floats, a multiple of W, a little at a time; then what lies `ahead` is fetched.
struct Difference {
  const float *x, *y;
  float* out;
  int64_t n, done;
  Ahead ahead;
  inline __attribute__((always_inline)) void one() {
    *reinterpret_cast<vf*>(out + done) = *reinterpret_cast<const vf*>(x + done) - *reinterpret_cast<const vf*>(y + done);
    done += W;
  }
  inline __attribute__((always_inline)) void operator()() {
    if (done < n) one();
    if (done < n)
      one();
    else
      ahead();
  }
};

template <int MR, int NV>
static void stage_tile(const Gemm& g, const Stage& t, int64_t r0, int64_t k2, Difference& beside) {
  constexpr int64_t width = NV * W;
  vf acc[MR][NV];
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) acc[r][v] = t.init ? load(t.init + (r0 + r) * width + v * W) : vf{};
  tile_product<MR, NV>(t.a + r0 * t.lda, t.lda, t.panel, k2, beside, acc);
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

// One product, and beside it the difference that a later one needs as its panel.
template <int MR, int NV>
static void stage(const Gemm& g, const Stage& t, int64_t rows, int64_t k2, Difference beside, const float* next) {
  beside.ahead = {reinterpret_cast<const char*>(next ? next : t.panel), 0};
  const char* end = next ? beside.ahead.next + NV * W * k2 * static_cast<int64_t>(sizeof(float)) : beside.ahead.next;
  in_parts(0, rows, MR, [&](int64_t row, int64_t n) {
    beside.ahead.step = beside.ahead.next < end ? kLine : 0;
    with_rows<MR>(n, [&](auto count) { stage_tile<count.value, NV>(g, t, row, k2, beside); });
  });
  while (beside.done < beside.n) beside.one();
}

template <int MR, int NV>
static void pairs(const Strassen& s, int64_t b0, int64_t b1, int64_t pair0, int64_t pair1, float* buffers) {
  constexpr int64_t width = NV * W;
  const Gemm& g = s.g;
  const int64_t k2 = g.k / 2, n2 = g.n / 2, part = k2 * width, rows = (s.block + 1) / 2;
  float *t13 = buffers, *t24 = t13 + part, *u2 = t24 + part, *u3 = u2 + rows * width, *p5 = u3 + rows * width;
  const Difference none{};
  auto difference = [part](float* out, const float* x, const float* y) { return Difference{x, y, out, part, 0, {}}; };
  for (int64_t b = b0; b < b1; b++) {
    const Half h = half(s, b);
    const float *a11 = g.a + h.first * g.lda, *a12 = a11 + k2, *a22 = a12 + h.upper * g.lda;
    for (int64_t pair = pair0; pair < pair1; pair++) {
      const float *b11 = g.b + 2 * pair * part, *b21 = b11 + part, *b12 = b11 + n2 * g.k, *b22 = b12 + part;
      const float* next = pair + 1 < pair1 ? b11 + 2 * part : b + 1 < b1 ? g.b + 2 * pair0 * part : reinterpret_cast<const float*>(g.next);
      const int64_t left = pair * width, right = n2 + left, low = h.first + h.upper;
      stage<MR, NV>(g, {a11, g.lda, b11, nullptr, u2, 0, 0}, h.upper, k2, difference(t13, b12, b11), b22);
      stage<MR, NV>(g, {sum(s, 1, b), k2, t13, nullptr, p5, 0, 0}, h.upper, k2, difference(t24, b22, t13), nullptr);
      stage<MR, NV>(g, {a12, g.lda, b21, u2, nullptr, h.first, left}, h.upper, k2, difference(t13, b22, b12), nullptr);
      stage<MR, NV>(g, {sum(s, 2, b), k2, t24, u2, u2, 0, 0}, h.upper, k2, none, next);
      stage<MR, NV>(g, {sum(s, 3, b), k2, t13, u2, u3, 0, 0}, h.lower, k2, difference(t24, b21, t24), nullptr);
      stage<MR, NV>(g, {a22, g.lda, t24, u3, nullptr, low, left}, h.lower, k2, none, next ? next + n2 * g.k : nullptr);
      for (int64_t r = 0; r < h.lower; r++) {
        vf acc[1][NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; v++)
          acc[0][v] = load(u3 + r * width + v * W) + load(p5 + r * width + v * W) + bias_at(g, right + v * W);
        put_tile<1, NV>(g, low + r, right, acc);
      }
      for (int64_t i = 0; i < h.upper * width; i += W) store(u2 + i, load(u2 + i) + load(p5 + i));
      stage<MR, NV>(g, {sum(s, 4, b), k2, b22, u2, nullptr, h.first, right}, h.upper, k2, none, next ? next + part : nullptr);
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
