// Softmax and LogSoftmax along contiguous rows, and along an axis with others behind it.
#include "kernels/rows/activation.h"
#include "kernels/rows/lanes.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

float row_max(const float* x, int64_t n) {
  vf a = splat(-kInf), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) {
    a = greater(a, load(x + i));
    b = greater(b, load(x + i + W));
    c = greater(c, load(x + i + 2 * W));
    d = greater(d, load(x + i + 3 * W));
  }
  for (; i + W <= n; i += W) a = greater(a, load(x + i));
  if (i < n) b = greater(b, load_or(x + i, static_cast<int>(n - i), splat(-kInf)));
  return hmax(greater(greater(a, b), greater(c, d)));
}

// y = exp(x - shift), and the sum.
float row_exp(const float* x, float* y, int64_t n, float shift) {
  vf a{}, b{};
  int64_t i = 0;
  for (; i + 2 * W <= n; i += 2 * W) {
    const vf e = vexp_short(load(x + i) - shift), f = vexp_short(load(x + i + W) - shift);
    store(y + i, e);
    store(y + i + W, f);
    a += e;
    b += f;
  }
  for (; i < n; i += W) {
    const int part = n - i < W ? static_cast<int>(n - i) : W;
    const vf e = vexp_short(load_or(x + i, part, splat(-kInf)) - shift);
    store_part(y + i, e, part);
    a += e;
  }
  return hsum(a + b);
}

template <typename F>
inline void row_map(const float* x, float* y, int64_t n, F f) {
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, f(load(x + i)));
  if (i < n) store_part(y + i, f(load_part(x + i, static_cast<int>(n - i))), static_cast<int>(n - i));
}

// One strip: `width` (a multiple of W, or a partial last vector) columns of n rows, `inner` floats apart.
void strip(const float* x, float* y, int64_t n, int64_t inner, int64_t width, bool log) {
  constexpr int kVectors = static_cast<int>(kStrip) / W;
  const int vectors = static_cast<int>((width + W - 1) / W);
  vf top[kVectors], sum[kVectors];
  auto part = [&](int v) { return width - v * W < W ? static_cast<int>(width - v * W) : W; };
  for (int v = 0; v < vectors; v++) {
    top[v] = splat(-kInf);
    sum[v] = vf{};
  }
  for (int64_t i = 0; i < n; i++)
    for (int v = 0; v < vectors; v++) {
      const float* p = x + i * inner + v * W;
      top[v] = greater(top[v], part(v) == W ? load(p) : load_part(p, part(v)));
    }
  for (int64_t i = 0; i < n; i++)
    for (int v = 0; v < vectors; v++) {
      const float* p = x + i * inner + v * W;
      float* q = y + i * inner + v * W;
      const vf d = (part(v) == W ? load(p) : load_part(p, part(v))) - top[v], e = vexp_short(d);
      sum[v] += e;
      if (part(v) == W)
        store(q, log ? d : e);
      else
        store_part(q, log ? d : e, part(v));
    }
  for (int v = 0; v < vectors; v++) sum[v] = log ? vlog(sum[v]) : 1.0f / sum[v];
  for (int64_t i = 0; i < n; i++)
    for (int v = 0; v < vectors; v++) {
      float* q = y + i * inner + v * W;
      const vf e = part(v) == W ? load(q) : load_part(q, part(v));
      const vf r = log ? e - sum[v] : e * sum[v];
      if (part(v) == W)
        store(q, r);
      else
        store_part(q, r, part(v));
    }
}

}  // namespace

void softmax_rows(const Softmax& s, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; r++) {
    const float* x = s.x + r * s.n;
    float* y = s.y + r * s.n;
    const float top = row_max(x, s.n);
    if (s.log) {
      const float sum = row_sum(x, s.n, splat(-kInf), [top](vf v) { return vexp_short(v - top); });
      const float shift = vlog(splat(sum))[0];
      row_map(x, y, s.n, [top, shift](vf v) { return (v - top) - shift; });
    } else {
      const float scale = 1.0f / row_exp(x, y, s.n, top);
      row_map(y, y, s.n, [scale](vf v) { return v * scale; });
    }
  }
}

void softmax_strips(const Softmax& s, int64_t begin, int64_t end) {
  const int64_t strips = (s.inner + kStrip - 1) / kStrip;
  for (int64_t u = begin; u < end; u++) {
    const int64_t column = u % strips * kStrip, at = u / strips * s.n * s.inner + column;
    strip(s.x + at, s.y + at, s.n, s.inner, s.inner - column < kStrip ? s.inner - column : kStrip, s.log);
  }
}

}  // namespace SX_ISA
}  // namespace sx
