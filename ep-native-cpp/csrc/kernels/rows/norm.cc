// Layer, group and batch normalisation. Statistics take two passes over a row, which is then in the first-level cache.
#include "kernels/rows/lanes.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

void add_rows(const float* a, const float* b, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, load(a + i) + load(b + i));
  if (i < n) {
    const int part = static_cast<int>(n - i);
    store_part(y + i, load_part(a + i, part) + load_part(b + i, part), part);
  }
}

float mean_of(const float* x, int64_t n) {
  return row_sum(x, n, vf{}, [](vf v) { return v; }) / static_cast<float>(n);
}

// 1 / sqrt(mean of (x - mean)² + epsilon)
float inverse_deviation(const float* x, int64_t n, float mean, float epsilon) {
  const float squares = row_sum(x, n, splat(mean), [mean](vf v) {
    const vf d = v - mean;
    return d * d;
  });
  return 1.0f / __builtin_sqrtf(squares / static_cast<float>(n) + epsilon);
}

// y = (x - mean) * inverse * scale + bias
template <bool scaled, bool shifted>
void normalize(const float* x, const float* scale, const float* bias, float* y, int64_t n, float mean, float inverse) {
  auto one = [&](vf v, int64_t i, int part) {
    vf r = (v - mean) * inverse;
    if (scaled) r = r * (part == W ? load(scale + i) : load_part(scale + i, part));
    if (shifted) r = r + (part == W ? load(bias + i) : load_part(bias + i, part));
    return r;
  };
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, one(load(x + i), i, W));
  if (i < n) {
    const int part = static_cast<int>(n - i);
    store_part(y + i, one(load_part(x + i, part), i, part), part);
  }
}

// y = (x - mean) * factor + offset
void affine(const float* x, float* y, int64_t n, float mean, float factor, float offset) {
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, (load(x + i) - mean) * factor + offset);
  if (i < n) store_part(y + i, (load_part(x + i, static_cast<int>(n - i)) - mean) * factor + offset, static_cast<int>(n - i));
}

}  // namespace

void norm_rows(const Norm& a, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; r++) {
    const float* x = a.x + r * a.n;
    float* y = a.y + r * a.n;
    if (a.residual) {
      float* sum = a.sum ? a.sum + r * a.n : y;
      add_rows(x, a.residual + r * a.n, sum, a.n);
      x = sum;
    }
    const float mean = a.rms ? 0.0f : mean_of(x, a.n);
    const float inverse = inverse_deviation(x, a.n, mean, a.epsilon);
    if (a.scale && a.bias)
      normalize<true, true>(x, a.scale, a.bias, y, a.n, mean, inverse);
    else if (a.scale)
      normalize<true, false>(x, a.scale, nullptr, y, a.n, mean, inverse);
    else
      normalize<false, false>(x, nullptr, nullptr, y, a.n, mean, inverse);
    if (a.mean) a.mean[r] = mean;
    if (a.inverse) a.inverse[r] = inverse;
  }
}

void group_norm(const GroupNorm& g, int64_t begin, int64_t end) {
  const int64_t size = g.channels * g.inner;
  for (int64_t r = begin; r < end; r++) {
    const float* x = g.x + r * size;
    float* y = g.y + r * size;
    const float mean = mean_of(x, size), inverse = inverse_deviation(x, size, mean, g.epsilon);
    const int64_t first = r % g.groups * g.channels;
    for (int64_t c = 0; c < g.channels; c++) affine(x + c * g.inner, y + c * g.inner, g.inner, mean, inverse * g.scale[first + c], g.bias[first + c]);
  }
}

void batch_norm(const BatchNorm& b, int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; r++) {
    const int64_t c = r % b.channels;
    const float factor = static_cast<float>(b.scale[c] / __builtin_sqrt(static_cast<double>(b.variance[c]) + b.epsilon));
    affine(b.x + r * b.inner, b.y + r * b.inner, b.inner, b.mean[c], factor, b.bias[c]);
  }
}

}  // namespace SX_ISA
}  // namespace sx
