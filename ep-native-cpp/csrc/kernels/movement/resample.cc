// Weighted resampling of axes: Resize in modes linear and cubic, RoiAlign.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// out[i] = sum of weights * in[index], single elements.
template <typename T>
static void sample_elements(const T* __restrict in, T* __restrict out, const int32_t* __restrict index, const T* __restrict weights, int64_t n, int64_t taps) {
  if (taps == 2) {
    for (int64_t i = 0; i < n; i++) out[i] = weights[2 * i] * in[index[2 * i]] + weights[2 * i + 1] * in[index[2 * i + 1]];
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    T sum = 0;
    for (int64_t t = 0; t < taps; t++) sum += weights[i * taps + t] * in[index[i * taps + t]];
    out[i] = sum;
  }
}

// out = a * in, or out += a * in.
template <typename T>
static void scale_row(const T* __restrict in, T* __restrict out, T a, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = a * in[i];
}
template <typename T>
static void add_row(const T* __restrict in, T* __restrict out, T a, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] += a * in[i];
}
template <typename T>
static void blend_rows(const T* __restrict x, const T* __restrict y, T* __restrict out, T a, T b, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = a * x[i] + b * y[i];
}

template <typename T>
static void resample(const Resample& r, int64_t begin, int64_t end) {
  auto* weights = static_cast<const T*>(r.weights);
  for (int64_t o = begin; o < end; o++) {
    const T* in = static_cast<const T*>(r.in) + o * r.size * r.inner;
    T* out = static_cast<T*>(r.out) + o * r.out_size * r.inner;
    if (r.inner == 1) {
      sample_elements(in, out, r.index, weights, r.out_size, r.taps);
      continue;
    }
    for (int64_t i = 0; i < r.out_size; i++) {
      const int32_t* index = r.index + i * r.taps;
      const T* w = weights + i * r.taps;
      T* to = out + i * r.inner;
      int64_t t = 1;
      if (r.taps >= 2)
        blend_rows(in + index[0] * r.inner, in + index[1] * r.inner, to, w[0], w[1], r.inner), t = 2;
      else
        scale_row(in + index[0] * r.inner, to, w[0], r.inner);
      for (; t < r.taps; t++) add_row(in + index[t] * r.inner, to, w[t], r.inner);
    }
  }
}

void resample_f32(const Resample& r, int64_t begin, int64_t end) { resample<float>(r, begin, end); }
void resample_f64(const Resample& r, int64_t begin, int64_t end) { resample<double>(r, begin, end); }

void resample_plane(const ResamplePlane& r, float* scratch, int64_t begin, int64_t end) {
  constexpr int64_t kMost = 64;
  int64_t held[kMost];  // which input row a slot of the ring holds
  for (int64_t i = 0; i < r.ring; i++) held[i] = -1;
  int64_t plane = -1;
  const float* in = nullptr;
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t y = unit % r.out_h;
    if (unit / r.out_h != plane) {
      plane = unit / r.out_h;
      in = r.in + plane * r.h * r.w;
      for (int64_t i = 0; i < r.ring; i++) held[i] = -1;
    }
    const int32_t* rows = r.rows + y * r.row_taps;
    const float* weights = r.row_weights + y * r.row_taps;
    float* out = r.out + unit * r.out_w;
    const float* source[2];
    for (int64_t t = 0; t < r.row_taps; t++) {
      const int64_t row = rows[t], slot = row & (r.ring - 1);
      float* line = scratch + slot * r.out_w;
      if (held[slot] != row) {
        sample_elements(in + row * r.w, line, r.columns, r.column_weights, r.out_w, r.column_taps);
        held[slot] = row;
      }
      if (t < 2) source[t] = line;
      if (t == 1) blend_rows(source[0], source[1], out, weights[0], weights[1], r.out_w);
      if (t > 1) add_row<float>(line, out, weights[t], r.out_w);
    }
    if (r.row_taps == 1) scale_row(source[0], out, weights[0], r.out_w);
  }
}

}  // namespace SX_ISA
}  // namespace sx
