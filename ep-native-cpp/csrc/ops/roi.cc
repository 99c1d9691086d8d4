// RoiAlign and com.microsoft's CropAndResize: regions of images, resampled.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

void check_rois(const Shape& x, const Shape& rois, const Shape& images) {
  if (x.rank != 4 || rois.rank != 2 || rois[1] != 4 || images.rank != 1 || images[0] != rois[0])
    throw OpError("regions of X [N, C, H, W] are rois [R, 4] with an image each, got " + x.str() + ", " + rois.str() + ", " + images.str());
}

struct RoiArgs {
  const char* in;
  const char* rois;
  const void* images;
  char* out;
  int64_t regions, batch, channels, h, w, out_h, out_w, ratio, chunks;
  double scale;
  float extrapolation;
  int32_t half_pixel, largest, nearest, wide_images;

  int64_t image(int64_t r) const { return wide_images ? static_cast<const int64_t*>(images)[r] : static_cast<const int32_t*>(images)[r]; }
};

template <typename T>
bool all_finite(const RoiArgs& a, Runtime& rt) {
  const T* rois = reinterpret_cast<const T*>(a.rois);
  for (int64_t i = 0; i < a.regions * 4; i++)
    if (!std::isfinite(rois[i])) {
      const T* box = rois + i / 4 * 4;
      rt.fail("region %lld of rois is [%g, %g, %g, %g]; its numbers must be finite", static_cast<long long>(i / 4), static_cast<double>(box[0]),
              static_cast<double>(box[1]), static_cast<double>(box[2]), static_cast<double>(box[3]));
      return false;
    }
  return true;
}

template <typename F>
void for_regions(const RoiArgs& a, Runtime& rt, F&& f) {
  for (int64_t r = 0; r < a.regions; r++)
    if (a.image(r) < 0 || a.image(r) >= a.batch) return rt.fail("batch index %lld is not in [0, %lld)", static_cast<long long>(a.image(r)), static_cast<long long>(a.batch));
  // A job is a region and a run of its channels.
  constexpr int64_t kRun = 64;
  const int64_t runs = (a.channels + kRun - 1) / kRun, n = a.regions * runs;
  auto part = [&](int64_t i) {
    for (int64_t k = n * i / a.chunks; k < n * (i + 1) / a.chunks; k++) f(k / runs, k % runs * kRun, std::min(a.channels, (k % runs + 1) * kRun));
  };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

// Where sample number i of a bin lies on an axis, with its two neighbours. More than one element outside it is 0.
struct Sample {
  int64_t low, high;
  double near, far;
  bool outside;
};

// The bins of one axis of a region.
struct Bins {
  double start, step;
  int64_t count, size;

  Bins(double from, double to, int64_t n, int64_t bins, int64_t ratio, bool half_pixel) : start(from), size(n) {
    const double length = half_pixel ? to - from : std::max(to - from, 1.0);
    step = length / static_cast<double>(bins);
    count = n == 0 ? 0 : ratio > 0 ? ratio : std::max<int64_t>(0, static_cast<int64_t>(std::ceil(std::min(step, 1e9))));
  }
  // Of the `total` samples of all bins, [first, last) holds those that are not outside: of a region far larger than the image, few.
  std::pair<int64_t, int64_t> inside(int64_t total) const {
    const double unit = step / static_cast<double>(std::max<int64_t>(count, 1));
    if (!std::isfinite(unit) || !std::isfinite(start)) return {0, 0};
    if (unit <= 0) return {0, total};
    auto sample = [&](double x, double more) {
      return static_cast<int64_t>(std::min(std::max(std::floor((x - start) / unit - 0.5) + more, 0.0), static_cast<double>(total)));
    };
    return {sample(-1, 0), sample(static_cast<double>(size), 2)};
  }
  Sample at(int64_t bin, int64_t i) const {
    double x = start + static_cast<double>(bin) * step + (static_cast<double>(i) + 0.5) * step / static_cast<double>(std::max<int64_t>(count, 1));
    Sample s;
    s.outside = !(x >= -1 && x <= static_cast<double>(size));
    x = std::min(std::max(x, 0.0), static_cast<double>(size - 1));
    s.low = s.outside ? 0 : static_cast<int64_t>(x);
    s.far = s.outside ? 0 : x - static_cast<double>(s.low);
    s.near = 1 - s.far;
    s.high = s.far > 0 ? s.low + 1 : s.low;
    return s;
  }
};

// The samples of all bins of an axis as elements with weights; those outside have weights of 0.
template <typename T>
struct Line {
  static constexpr int64_t kMost = 1024;
  int64_t low[kMost], high[kMost];
  T near[kMost], far[kMost];
  bool outside[kMost];

  void fill(const Bins& bins, int64_t from, int64_t to) {
    for (int64_t k = from; k < to; k++) {
      const Sample s = bins.at(k / bins.count, k % bins.count);
      const int64_t i = k - from;
      low[i] = s.low;
      high[i] = s.high;
      // A sample on an element is half of it twice, so that no weight of 0 makes NaN of inf.
      near[i] = s.far > 0 ? static_cast<T>(s.near) : T(0.5);
      far[i] = s.far > 0 ? static_cast<T>(s.far) : T(0.5);
      outside[i] = s.outside;
    }
  }
};

// Adds to a row of bins what one row of samples gives; columns [first, first + n) of samples, `count` per bin.
template <typename T>
void add_samples(const T* top, const T* bottom, T near, T far, const Line<T>& x, int64_t first, int64_t n, int64_t count, T* out) {
  for (int64_t i = 0; i < n; i++) {
    if (x.outside[i]) continue;
    const T above = top[x.low[i]] * x.near[i] + top[x.high[i]] * x.far[i], below = bottom[x.low[i]] * x.near[i] + bottom[x.high[i]] * x.far[i];
    out[(first + i) / count] += above * near + below * far;
  }
}

// The averages of all bins of a region, for channels [c0, c1) of an image. `in` and `out` point to channel c0.
template <typename T>
void average(const RoiArgs& a, const T* in, T* out, const Bins& rows, const Bins& columns, int64_t channels) {
  const int64_t pixels = a.out_h * a.out_w;
  std::fill(out, out + channels * pixels, T(0));
  if (rows.count == 0 || columns.count == 0) return;
  Line<T> x, y;
  const auto [left, right] = columns.inside(a.out_w * columns.count);
  const auto [top, bottom] = rows.inside(a.out_h * rows.count);
  for (int64_t first = left; first < right; first += Line<T>::kMost) {
    const int64_t n = std::min(right - first, Line<T>::kMost);
    x.fill(columns, first, first + n);
    for (int64_t k0 = top; k0 < bottom; k0 += Line<T>::kMost) {
      const int64_t k1 = std::min(bottom, k0 + Line<T>::kMost);
      y.fill(rows, k0, k1);
      for (int64_t c = 0; c < channels; c++)
        for (int64_t k = k0; k < k1; k++) {
          const int64_t i = k - k0;
          if (y.outside[i]) continue;
          const T* plane = in + c * a.h * a.w;
          add_samples(plane + y.low[i] * a.w, plane + y.high[i] * a.w, y.near[i], y.far[i], x, first, n, columns.count, out + c * pixels + k / rows.count * a.out_w);
        }
    }
  }
  const T share = T(1) / (static_cast<T>(rows.count) * static_cast<T>(columns.count));
  for (int64_t i = 0; i < channels * pixels; i++) out[i] *= share;
}

// Mode max, as onnx's test data and onnxruntime have it: the largest weighted neighbour of any sample.
template <typename T>
T bin_largest(const RoiArgs& a, const T* in, const Bins& rows, const Bins& columns, int64_t y, int64_t x) {
  T most = 0;
  bool any = false;
  auto take = [&](T value) {
    if (!any || value > most || value != value) most = value;
    any = true;
  };
  const auto [top, bottom] = rows.inside(a.out_h * rows.count);
  const auto [left, right] = columns.inside(a.out_w * columns.count);
  const int64_t i0 = std::max(top - y * rows.count, int64_t{0}), i1 = std::min(bottom - y * rows.count, rows.count);
  const int64_t j0 = std::max(left - x * columns.count, int64_t{0}), j1 = std::min(right - x * columns.count, columns.count);
  // Samples outside are 0, all of them.
  if (rows.count * columns.count > 0 && (i0 > 0 || j0 > 0 || i1 < rows.count || j1 < columns.count)) take(T(0));
  for (int64_t i = i0; i < i1; i++)
    for (int64_t j = j0; j < j1; j++) {
      const Sample r = rows.at(y, i), c = columns.at(x, j);
      if (r.outside || c.outside) {
        take(T(0));
        continue;
      }
      take(in[r.low * a.w + c.low] * static_cast<T>(r.near * c.near));
      take(in[r.low * a.w + c.high] * static_cast<T>(r.near * c.far));
      take(in[r.high * a.w + c.low] * static_cast<T>(r.far * c.near));
      take(in[r.high * a.w + c.high] * static_cast<T>(r.far * c.far));
    }
  return most;
}

template <typename T>
void roi_align_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const RoiArgs*>(args);
  if (!all_finite<T>(a, rt)) return;
  for_regions(a, rt, [&](int64_t region, int64_t c0, int64_t c1) {
    auto* box = reinterpret_cast<const T*>(a.rois) + region * 4;
    const double shift = a.half_pixel ? 0.5 : 0;
    auto corner = [&](int i) { return static_cast<double>(box[i]) * a.scale - shift; };
    const Bins rows(corner(1), corner(3), a.h, a.out_h, a.ratio, a.half_pixel), columns(corner(0), corner(2), a.w, a.out_w, a.ratio, a.half_pixel);
    const T* in = reinterpret_cast<const T*>(a.in) + (a.image(region) * a.channels + c0) * a.h * a.w;
    T* out = reinterpret_cast<T*>(a.out) + (region * a.channels + c0) * a.out_h * a.out_w;
    if (!a.largest) return average(a, in, out, rows, columns, c1 - c0);
    for (int64_t c = c0; c < c1; c++, in += a.h * a.w, out += a.out_h * a.out_w)
      for (int64_t y = 0; y < a.out_h; y++)
        for (int64_t x = 0; x < a.out_w; x++) out[y * a.out_w + x] = bin_largest(a, in, rows, columns, y, x);
  });
}

void infer_roi_align(InferCtx& c) {
  check_rois(c.shape(0), c.shape(1), c.shape(2));
  Shape out;
  out.push(c.shape(1)[0]);
  out.push(c.shape(0)[1]);
  out.push(c.op.attrs.get("output_height", 1));
  out.push(c.op.attrs.get("output_width", 1));
  c.output(0, out);
}

RoiArgs* emit_roi(PlanCtx& p, StepFn fn) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  auto* a = p.emit<RoiArgs>(fn);
  a->regions = out[0];
  a->batch = in[0];
  a->channels = in[1];
  a->h = in[2];
  a->w = in[3];
  a->out_h = out[2];
  a->out_w = out[3];
  a->chunks = std::min(out[0] * out[1], chunks_for(p, 64 * out.size()));
  a->wide_images = p.dtype(2) == DType::i64;
  p.bind_in(a->in, 0);
  p.bind_in(a->rois, 1);
  p.bind_in(a->images, 2);
  p.bind_out(a->out, 0);
  return a;
}

void plan_roi_align(PlanCtx& p) {
  if (p.out_shape(0).size() == 0) return;
  auto* a = emit_roi(p, p.dtype(0) == DType::f64 ? roi_align_step<double> : roi_align_step<float>);
  a->ratio = p.op.attrs.get("sampling_ratio", 0);
  if (a->ratio > 1 << 20) throw OpError("sampling_ratio is " + std::to_string(a->ratio) + "; at most " + std::to_string(1 << 20) + " samples are taken");
  a->scale = p.op.attrs.getf("spatial_scale", 1);
  if (!std::isfinite(a->scale)) throw OpError("spatial_scale must be finite, not " + std::to_string(a->scale));
  a->half_pixel = p.op.attrs.gets("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  a->largest = p.op.attrs.gets("mode", "avg") == "max";
}

// CropAndResize: regions (y1, x1, y2, x2), normalised, with aligned corners.
template <typename Context>
std::vector<int64_t> crop_size(Context& c) {
  const auto size = c.ints(3);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) throw OpError("crop_size must be two positive sizes");
  return size;
}

void infer_crop(InferCtx& c) {
  check_rois(c.shape(0), c.shape(1), c.shape(2));
  const auto size = crop_size(c);
  Shape out;
  out.push(c.shape(1)[0]);
  out.push(c.shape(0)[1]);
  out.push(size[0]);
  out.push(size[1]);
  c.output(0, out);
}

Sample crop_at(double from, double to, int64_t size, int64_t out, int64_t i, bool nearest) {
  const double n = static_cast<double>(size - 1);
  double x = out == 1 ? 0.5 * (from + to) * n : from * n + static_cast<double>(i) * (to - from) * n / static_cast<double>(out - 1);
  const double rounded = static_cast<float>(x);
  Sample s{};
  s.outside = !(rounded >= 0 && rounded <= n);
  if (s.outside) return s;
  if (nearest) x = std::floor(rounded + 0.5);
  x = std::min(std::max(x, 0.0), n);
  s.low = static_cast<int64_t>(x);
  s.far = x - static_cast<double>(s.low);
  s.near = 1 - s.far;
  s.high = std::min(s.low + 1, size - 1);
  return s;
}

void crop_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const RoiArgs*>(args);
  if (!all_finite<float>(a, rt)) return;
  for_regions(a, rt, [&](int64_t region, int64_t c0, int64_t c1) {
    auto* box = reinterpret_cast<const float*>(a.rois) + region * 4;
    const float* in = reinterpret_cast<const float*>(a.in) + (a.image(region) * a.channels + c0) * a.h * a.w;
    float* out = reinterpret_cast<float*>(a.out) + (region * a.channels + c0) * a.out_h * a.out_w;
    for (int64_t y = 0; y < a.out_h; y++) {
      const Sample r = crop_at(box[0], box[2], a.h, a.out_h, y, a.nearest);
      for (int64_t x = 0; x < a.out_w; x++) {
        const Sample c = crop_at(box[1], box[3], a.w, a.out_w, x, a.nearest);
        for (int64_t k = 0; k < c1 - c0; k++) {
          float value = a.extrapolation;
          if (!r.outside && !c.outside) {
            auto across = [&](int64_t row) {
              const float* line = in + (k * a.h + row) * a.w;
              return c.far > 0 ? line[c.low] * static_cast<float>(c.near) + line[c.high] * static_cast<float>(c.far) : line[c.low];
            };
            value = across(r.low);
            if (r.far > 0) value = value * static_cast<float>(r.near) + across(r.high) * static_cast<float>(r.far);
          }
          out[(k * a.out_h + y) * a.out_w + x] = value;
        }
      }
    }
  });
}

void plan_crop(PlanCtx& p) {
  if (p.out_shape(0).size() == 0) return;
  auto* a = emit_roi(p, crop_step);
  a->nearest = p.op.attrs.gets("mode", "bilinear") == "nearest";
  a->extrapolation = static_cast<float>(p.op.attrs.getf("extrapolation_value", 0));
}

const OpDef kTable[] = {
    {"RoiAlign", infer_roi_align, plan_roi_align, nullptr},
    {"com.microsoft.CropAndResize", infer_crop, plan_crop, nullptr},
};

}  // namespace

OpFamily roi_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
