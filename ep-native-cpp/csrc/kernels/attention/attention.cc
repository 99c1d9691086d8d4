// Fused attention: a few query rows at a time, their scores in cache, never a whole score matrix.
//
// K and V are packed into panels once per head. Queries, keys, values and output are read and written with the strides of
// the products around them, so no head is ever transposed. Where keys and values do not stay in L2, several tiles of query
// rows pass over each panel together.
#include "kernels/attention/mask.h"
#include "kernels/movement/transpose.h"
#include "kernels/parts.h"
#include "kernels/rows/activation.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

#if SX_WIDTH == 16
constexpr int kRows = 14, kPanelVectors = 2;
#else
constexpr int kRows = 6, kPanelVectors = 2;
#endif
constexpr int64_t kPanel = kPanelVectors * W;
constexpr int kTiles = 4;                       // at most, that pass together
constexpr int64_t kNearFloats = 48 * 1024;      // of keys and values that stay in L2 (192 KB)
constexpr int64_t kScoreFloats = 40 * 1024;     // of scores that do

static int64_t padded(int64_t t) { return (t + kPanel - 1) / kPanel * kPanel; }

static int64_t tiles_together(int64_t t, int64_t width) {
  if (t * width <= kNearFloats) return 1;
  const int64_t fit = kScoreFloats / (kRows * padded(t));
  return fit < 1 ? 1 : fit < kTiles ? fit : kTiles;
}

int64_t attention_packed_size(int64_t t, int64_t d, int64_t dv) { return padded(t) * d + t * (dv / kPanel * kPanel); }
int64_t attention_scores_size(int64_t t, int64_t d, int64_t dv) { return tiles_together(t, d + dv) * kRows * padded(t); }
int64_t attention_few_rows() { return 4; }

void attention_pack(const AttentionHead& a) {
  for (int64_t t0 = 0; t0 < a.t; t0 += kPanel) {
    float* out = a.packed + t0 * a.d;
    const int64_t n = a.t - t0 < kPanel ? a.t - t0 : kPanel;
    transpose_block(reinterpret_cast<const uint32_t*>(a.k + t0 * a.k_s), a.k_s, reinterpret_cast<uint32_t*>(out), kPanel, a.d, n);
    for (int64_t j = n; j < kPanel; j++)
      for (int64_t i = 0; i < a.d; i++) out[i * kPanel + j] = 0;
  }
  float* values = a.packed + padded(a.t) * a.d;
  for (int64_t j = 0; j < a.t; j++)
    for (int64_t col = 0; col + kPanel <= a.dv; col += kPanel)
      __builtin_memcpy(values + col * a.t + j * kPanel, a.v + j * a.v_s + col, kPanel * sizeof(float));
}

// acc += rows of `a` (stride lda) times the panel `b` (row stride ldb).
template <int MR, int NV>
static inline __attribute__((always_inline)) void multiply(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t k, vf (&acc)[MR][NV]) {
#pragma GCC unroll 1
  for (int64_t i = 0; i < k; i++) {
    vf w[NV];
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) w[v] = load(b + v * W);
#pragma GCC unroll 16
    for (int r = 0; r < MR; r++) {
      const vf x = splat(a[r * lda + i]);
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) acc[r][v] += x * w[v];
    }
    b += ldb;
  }
}

template <int MR>
static void score_tile(const AttentionHead& a, int64_t row, int64_t t0, float* scores, int64_t ld) {
  vf acc[MR][kPanelVectors] = {};
  multiply<MR, kPanelVectors>(a.q + row * a.q_s, a.q_s, a.packed + t0 * a.d, kPanel, a.d, acc);
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < kPanelVectors; v++) store(scores + r * ld + t0 + v * W, acc[r][v]);
}

// MR output rows: probabilities [MR, t] times columns of V, whose rows are v_s floats apart; each row then scaled by 1 / its sum.
template <int MR, int NV>
static void value_tile(const AttentionHead& a, int64_t row, int64_t col, const float* v, int64_t v_s, const float* p, int64_t ld, const float* inverse, int64_t keys) {
  vf acc[MR][NV] = {};
  multiply<MR, NV>(p, ld, v, v_s, keys, acc);
#pragma GCC unroll 16
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) store(a.o + (row + r) * a.o_s + col + v * W, acc[r][v] * inverse[r]);
}

static void value_column(const AttentionHead& a, int64_t row, int64_t col, const float* p, float inverse, int64_t keys) {
  float s = 0;
  for (int64_t j = 0; j < keys; j++) s += p[j] * a.v[j * a.v_s + col];
  a.o[row * a.o_s + col] = s * inverse;
}

// Scale, softcap, mask and exponentials of one row of products, in place; returns their sum. Columns up to round_up(keys) are set.
static float soften(const AttentionHead& a, int64_t row, float* s, int64_t keys) {
  float scale = a.scale;
  if (a.softcap > 0) {
    for (int64_t j = 0; j < keys; j += W) store(s + j, vtanh(load(s + j) * (scale / a.softcap)) * a.softcap);
    scale = 1;
  }
  const int64_t end = padded(keys), limit = !a.mask && !a.keep ? keys : a.mask_cols < keys ? a.mask_cols : keys;
  vf top = a.mask   ? mask_scores(AddedMask{a.mask + row * a.mask_s, a.mask_t}, s, limit, scale)
           : a.keep ? mask_scores(KeptKeys{a.keep + row * a.mask_s, a.mask_t}, s, limit, scale)
                    : mask_scores(NoMask{}, s, limit, scale);
  for (int64_t j = limit; j < end; j++) s[j] = -kInf;
  for (int64_t j = limit / W * W; j < end; j += W) top = greater(top, load(s + j));
  const float most = hmax(top);
  if (most == -kInf && !any_nan(s, keys)) {
    // Every key is masked out: no weights, rather than NaN.
    for (int64_t j = 0; j < end; j++) s[j] = 0;
    return 0;
  }
  const vf shift = splat(most);
  vf sum0{}, sum1{};
  for (int64_t j = 0; j < end; j += 2 * W) {
    const vf e0 = vexp_short(load(s + j) - shift), e1 = vexp_short(load(s + j + W) - shift);
    store(s + j, e0);
    store(s + j + W, e1);
    sum0 += e0;
    sum1 += e1;
  }
  return hsum(sum0 + sum1);
}

// A tile of query rows, the keys that some row of it sees, and its scores.
struct Tile {
  int64_t row, keys;
  int rows;
  float* scores;
  float inverse[kRows];
};

static void soften_tile(const AttentionHead& a, Tile& t, int64_t ld) {
  for (int r = 0; r < t.rows; r++) {
    int64_t seen = a.causal < 0 ? a.t : t.row + r + a.causal + 1;
    if (seen > t.keys) seen = t.keys;
    float* scores = t.scores + r * ld;
    const float sum = soften(a, t.row + r, scores, seen);
    t.inverse[r] = sum > 0 ? 1.0f / sum : sum == 0 ? 0.0f : sum;
    for (int64_t j = padded(seen); j < t.keys; j++) scores[j] = 0;
  }
}

static void together(const AttentionHead& a, Tile* tiles, int n, int64_t ld) {
  int64_t keys = 0;
  for (int i = 0; i < n; i++) {
    Tile& t = tiles[i];
    t.keys = a.causal >= 0 && t.row + t.rows + a.causal < a.t ? t.row + t.rows + a.causal : a.t;
    keys = t.keys > keys ? t.keys : keys;
  }
  for (int64_t t0 = 0; t0 < keys; t0 += kPanel)
    for (int i = 0; i < n; i++)
      if (t0 < tiles[i].keys) with_rows<kRows>(tiles[i].rows, [&](auto count) { score_tile<count.value>(a, tiles[i].row, t0, tiles[i].scores, ld); });
  for (int i = 0; i < n; i++) soften_tile(a, tiles[i], ld);
  const float* values = a.packed + padded(a.t) * a.d;
  int64_t col = 0;
  auto each = [&](auto vectors, const float* v, int64_t v_s) {
    for (int i = 0; i < n; i++) {
      const Tile& t = tiles[i];
      with_rows<kRows>(t.rows, [&](auto count) { value_tile<count.value, vectors.value>(a, t.row, col, v, v_s, t.scores, ld, t.inverse, t.keys); });
    }
  };
  for (; col + kPanel <= a.dv; col += kPanel) each(Count<kPanelVectors>{}, values + col * a.t, kPanel);
  for (; col + W <= a.dv; col += W) each(Count<1>{}, a.v + col, a.v_s);
  for (; col < a.dv; col++)
    for (int i = 0; i < n; i++)
      for (int r = 0; r < tiles[i].rows; r++) value_column(a, tiles[i].row + r, col, tiles[i].scores + r * ld, tiles[i].inverse[r], tiles[i].keys);
}

// A row of scores from K as it lies: for few query rows (decoding) a pass over K is all the work there is.
static void score_row(const AttentionHead& a, int64_t row, float* scores, int64_t keys) {
  const float* q = a.q + row * a.q_s;
  for (int64_t j = 0; j < keys; j++) {
    const float* k = a.k + j * a.k_s;
    vf s0 = {}, s1 = {};
    int64_t i = 0;
    for (; i + 2 * W <= a.d; i += 2 * W) {
      s0 += load(q + i) * load(k + i);
      s1 += load(q + i + W) * load(k + i + W);
    }
    float s = hsum(s0 + s1);
    for (; i < a.d; i++) s += q[i] * k[i];
    scores[j] = s;
  }
}

void attention(const AttentionHead& a, int64_t first, int64_t last) {
  const int64_t ld = padded(a.t);
  if (a.s <= attention_few_rows()) {
    for (int64_t row = first; row < last; row++) {
      int64_t keys = a.causal < 0 || row + a.causal + 1 > a.t ? a.t : row + a.causal + 1;
      score_row(a, row, a.scores, keys);
      const float sum = soften(a, row, a.scores, keys);
      const float inverse = sum > 0 ? 1.0f / sum : sum == 0 ? 0.0f : sum;
      int64_t col = 0;
      for (; col + 4 * W <= a.dv; col += 4 * W) value_tile<1, 4>(a, row, col, a.v + col, a.v_s, a.scores, ld, &inverse, keys);
      for (; col + W <= a.dv; col += W) value_tile<1, 1>(a, row, col, a.v + col, a.v_s, a.scores, ld, &inverse, keys);
      for (; col < a.dv; col++) value_column(a, row, col, a.scores, inverse, keys);
    }
    return;
  }
  const int64_t most = tiles_together(a.t, a.d + a.dv);
  Tile tiles[kTiles];
  int n = 0;
  in_parts(first, last, kRows, [&](int64_t row, int64_t rows) {
    tiles[n].row = row;
    tiles[n].rows = static_cast<int>(rows);
    tiles[n].scores = a.scores + n * kRows * ld;
    if (++n < most && row + rows < last) return;
    together(a, tiles, n, ld);
    n = 0;
  });
}

void rotary(const Rotary& a, int64_t first, int64_t last) {
  const int64_t half = a.r / 2;
  for (int64_t n = first; n < last; n++) {
    const int64_t b = n / a.s, s = n % a.s;
    const int64_t at = a.position ? a.position[n] : n;
    const float *c = a.cos + at * half, *z = a.sin + at * half;
    for (int64_t h = 0; h < a.h; h++) {
      const float* x = a.x + b * a.x_b + s * a.x_s + h * a.x_h;
      float* y = a.y + b * a.y_b + s * a.y_s + h * a.y_h;
      if (a.interleaved) {
        for (int64_t i = 0; i < half; i++) {
          const float u = x[2 * i], v = x[2 * i + 1];
          y[2 * i] = u * c[i] - v * z[i];
          y[2 * i + 1] = v * c[i] + u * z[i];
        }
      } else {
        int64_t i = 0;
        for (; i + W <= half; i += W) {
          const vf u = load(x + i), v = load(x + half + i), cv = load(c + i), zv = load(z + i);
          store(y + i, u * cv - v * zv);
          store(y + half + i, v * cv + u * zv);
        }
        for (; i < half; i++) {
          const float u = x[i], v = x[half + i];
          y[i] = u * c[i] - v * z[i];
          y[half + i] = v * c[i] + u * z[i];
        }
      }
      for (int64_t i = a.r; i < a.d; i++) y[i] = x[i];
    }
  }
}

}  // namespace SX_ISA
}  // namespace sx
