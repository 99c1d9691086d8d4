// Reductions of float32 along rows and columns.
#include "kernels/rows/activation.h"
#include "kernels/rows/lanes.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

// What is added up, or otherwise joined.
template <Reduction kind>
inline vf term(vf v) {
  if (kind == Reduction::sum_square) return v * v;
  if (kind == Reduction::l1) return vabs(v);
  return v;
}
template <Reduction kind>
inline vf join(vf a, vf b) {
  if (kind == Reduction::max) return vmax(a, b);
  if (kind == Reduction::min) return vmin(a, b);
  if (kind == Reduction::prod) return a * b;
  return a + b;
}
template <Reduction kind>
inline float neutral() {
  return kind == Reduction::max ? -kInf : kind == Reduction::min ? kInf : kind == Reduction::prod ? 1.0f : 0.0f;
}
template <Reduction kind>
constexpr bool adds = kind == Reduction::sum || kind == Reduction::sum_square || kind == Reduction::l1;

template <Reduction kind>
float row(const float* x, int64_t n) {
  if constexpr (adds<kind>) {
    return row_sum(x, n, vf{}, [](vf v) { return term<kind>(v); });
  } else {
    const vf none = splat(neutral<kind>());
    vf a = none, b = none, c = none, d = none;
    int64_t i = 0;
    for (; i + 4 * W <= n; i += 4 * W) {
      a = join<kind>(a, load(x + i));
      b = join<kind>(b, load(x + i + W));
      c = join<kind>(c, load(x + i + 2 * W));
      d = join<kind>(d, load(x + i + 3 * W));
    }
    for (; i + W <= n; i += W) a = join<kind>(a, load(x + i));
    if (i < n) b = join<kind>(b, load_or(x + i, static_cast<int>(n - i), none));
    a = join<kind>(join<kind>(a, b), join<kind>(c, d));
    float r = a[0];
    for (int k = 1; k < W; k++) r = join<kind>(splat(r), splat(a[k]))[0];
    return r;
  }
}

float log_sum_exp(const float* x, int64_t n) {
  const float top = row<Reduction::max>(x, n);
  const float shift = top - top == 0 ? top : 0;
  return vlog(splat(row_sum(x, n, splat(-kInf), [shift](vf v) { return vexp(v - shift); })))[0] + shift;
}

constexpr int64_t kColumns = 256;

// Columns [0, width) of n rows, `inner` floats apart, into `out`. Longer columns are joined by stretches, whose sums are
// added in float64.
template <Reduction kind>
void columns(const float* x, int64_t n, int64_t inner, int64_t width, float* out) {
  alignas(64) float sum[kColumns];
  double total[kColumns];
  const int64_t padded = (width + W - 1) / W * W;
  const vf none = splat(neutral<kind>());
  constexpr int64_t kStretch = 256;
  for (int64_t from = 0; from < n; from += kStretch) {
    const int64_t to = n - from < kStretch ? n : from + kStretch;
    for (int64_t j = 0; j < padded; j += W) store(sum + j, none);
    for (int64_t i = from; i < to; i++) {
      const float* p = x + i * inner;
      int64_t j = 0;
      for (; j + W <= width; j += W) store(sum + j, join<kind>(load(sum + j), term<kind>(load(p + j))));
      if (j < width) store(sum + j, join<kind>(load(sum + j), term<kind>(load_part(p + j, static_cast<int>(width - j)))));
    }
    for (int64_t j = 0; j < width; j++)
      if (from == 0)
        out[j] = sum[j], total[j] = static_cast<double>(sum[j]);
      else if constexpr (adds<kind>)
        out[j] = static_cast<float>(total[j] += static_cast<double>(sum[j]));
      else
        out[j] = join<kind>(splat(out[j]), splat(sum[j]))[0];
  }
}

void log_sum_exp_columns(const float* x, int64_t n, int64_t inner, int64_t width, float* out) {
  alignas(64) float top[kColumns] = {}, sum[kColumns] = {};
  columns<Reduction::max>(x, n, inner, width, top);
  for (int64_t j = 0; j < width; j++) top[j] = top[j] - top[j] == 0 ? top[j] : 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < width; j += W) {
      const int part = width - j < W ? static_cast<int>(width - j) : W;
      store(sum + j, load(sum + j) + vexp(load_part(x + i * inner + j, part) - load(top + j)));
    }
  for (int64_t j = 0; j < width; j += W) {
    store(sum + j, vlog(load(sum + j)) + load(top + j));
    for (int64_t k = j; k < width && k < j + W; k++) out[k] = sum[k];
  }
}

template <Reduction kind>
void outer(const Reduce& r, const float* x, float* y) {
  if (r.inner == 1) {
    *y = kind == Reduction::log_sum_exp ? log_sum_exp(x, r.n) : row<kind>(x, r.n);
    return;
  }
  for (int64_t j = 0; j < r.inner; j += kColumns) {
    const int64_t width = r.inner - j < kColumns ? r.inner - j : kColumns;
    if constexpr (kind == Reduction::log_sum_exp)
      log_sum_exp_columns(x + j, r.n, r.inner, width, y + j);
    else
      columns<kind>(x + j, r.n, r.inner, width, y + j);
  }
}

void one(const Reduce& r, const float* x, float* y) {
  switch (r.kind) {
    case Reduction::sum: return outer<Reduction::sum>(r, x, y);
    case Reduction::sum_square: return outer<Reduction::sum_square>(r, x, y);
    case Reduction::l1: return outer<Reduction::l1>(r, x, y);
    case Reduction::max: return outer<Reduction::max>(r, x, y);
    case Reduction::min: return outer<Reduction::min>(r, x, y);
    case Reduction::prod: return outer<Reduction::prod>(r, x, y);
    case Reduction::log_sum_exp: return outer<Reduction::log_sum_exp>(r, x, y);
  }
}

}  // namespace

void reduce_f32(const Reduce& r, int64_t begin, int64_t end) {
  const float* x = static_cast<const float*>(r.x);
  float* y = static_cast<float*>(r.y);
  for (int64_t o = begin; o < end; o++) {
    float* out = y + o * r.inner;
    if (r.n > 0)
      one(r, x + o * r.n * r.inner, out);
    else
      for (int64_t j = 0; j < r.inner; j++) out[j] = static_cast<float>(r.empty);
    if (r.finish == Finish::none) continue;
    const float count = static_cast<float>(r.count);
    for (int64_t j = 0; j < r.inner; j++)
      out[j] = r.finish == Finish::mean ? out[j] / count : r.finish == Finish::root ? __builtin_sqrtf(out[j]) : vlog(splat(out[j]))[0];
  }
}

}  // namespace SX_ISA
}  // namespace sx
