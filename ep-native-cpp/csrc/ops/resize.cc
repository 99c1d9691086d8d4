// Resize in all its modes.
#include <algorithm>
#include <cmath>

#include "kernels/isa.h"
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/map_copy.h"
#include "ops/movement.h"
#include "ops/numbers.h"
#include "ops/place.h"
#include "ops/resize_axis.h"

namespace sx {
namespace {

ResizeMode mode_of(const Attributes& a) {
  ResizeMode m;
  m.mode = a.gets("mode", m.mode);
  m.transformation = a.gets("coordinate_transformation_mode", m.transformation);
  m.nearest = a.gets("nearest_mode", m.nearest);
  m.cubic = a.getf("cubic_coeff_a", m.cubic);
  m.exclude_outside = a.get("exclude_outside", 0) != 0;
  m.antialias = a.get("antialias", 0) != 0;
  return m;
}

constexpr double kMostScale = 1e9;

struct Sizes {
  Shape out;
  std::vector<Scale> scales;
  std::vector<int> axes;
};

// Output shape and scales from the inputs `scales` or `sizes`, of which exactly one is given.
template <typename Context>
Sizes sizes_of(Context& c) {
  const Shape& in = c.shape(0);
  Sizes s;
  s.out = in;
  s.scales.resize(static_cast<size_t>(in.rank));
  s.axes = c.op.attrs.has("axes") ? normal_axes(c.op.attrs.list("axes"), in.rank) : all_axes(in.rank);
  const bool by_scale = c.has(2) && c.shape(2).size() > 0, by_size = c.has(3) && c.shape(3).size() > 0;
  if (by_scale == by_size) throw OpError("Resize takes exactly one of scales and sizes");
  const auto given = by_scale ? c.numbers(2) : c.numbers(3);
  if (given.size() != s.axes.size()) throw OpError("Resize got " + std::to_string(given.size()) + " scales or sizes for " + std::to_string(s.axes.size()) + " axes of " + in.str());
  for (size_t i = 0; i < given.size(); i++) {
    const int a = s.axes[i];
    Scale& scale = s.scales[static_cast<size_t>(a)];
    if (by_scale) {
      if (!(given[i] > 0 && given[i] <= kMostScale)) throw OpError("scale " + std::to_string(given[i]) + " must be positive, and at most " + std::to_string(kMostScale));
      scale.up = given[i];
      s.out[a] = scaled_size(in[a], given[i]);
    } else {
      const int64_t size = static_cast<int64_t>(given[i]);
      if (size < 0 || (in[a] == 0) != (size == 0)) throw OpError("axis " + std::to_string(a) + " of size " + std::to_string(in[a]) + " cannot be resized to " + std::to_string(size));
      scale = in[a] ? Scale{static_cast<double>(size), static_cast<double>(in[a])} : Scale{};
      s.out[a] = size;
    }
  }
  const std::string policy = c.op.attrs.gets("keep_aspect_ratio_policy", "stretch");
  if (by_size && policy != "stretch" && !s.axes.empty()) {
    if (policy != "not_larger" && policy != "not_smaller") throw OpError("keep_aspect_ratio_policy " + policy + " is none of stretch, not_larger, not_smaller");
    auto less = [&](int a, int b) {
      const Scale &x = s.scales[static_cast<size_t>(a)], &y = s.scales[static_cast<size_t>(b)];
      return x.up * y.down < y.up * x.down;
    };
    const auto chosen = policy == "not_larger" ? std::min_element(s.axes.begin(), s.axes.end(), less) : std::max_element(s.axes.begin(), s.axes.end(), less);
    const Scale common = s.scales[static_cast<size_t>(*chosen)];
    const int64_t up = static_cast<int64_t>(common.up), down = static_cast<int64_t>(common.down);
    for (int a : s.axes) {
      s.scales[static_cast<size_t>(a)] = common;
      s.out[a] = (2 * up * in[a] + down) / (2 * down);
    }
  }
  return s;
}

void infer_resize(InferCtx& c) { c.output(0, sizes_of(c).out); }

std::shared_ptr<Buffer> weights_as(const std::vector<double>& weights, bool wide) {
  if (wide) return buffer_of(weights);
  const std::vector<float> narrow(weights.begin(), weights.end());
  return buffer_of(narrow);
}

// Conversions to and from the type the sums are made in: float for float32 and the halves, double for the rest.
struct ConvertArgs {
  const char* from;
  char* to;
  int64_t count;
};

template <typename T, typename W>
void widen_step(const void* args, Runtime&) {
  auto& a = *static_cast<const ConvertArgs*>(args);
  for (int64_t i = 0; i < a.count; i++) reinterpret_cast<W*>(a.to)[i] = static_cast<W>(reinterpret_cast<const T*>(a.from)[i]);
}

template <typename T, typename W>
void narrow_step(const void* args, Runtime&) {
  auto& a = *static_cast<const ConvertArgs*>(args);
  for (int64_t i = 0; i < a.count; i++) {
    const W x = reinterpret_cast<const W*>(a.from)[i];
    T& to = reinterpret_cast<T*>(a.to)[i];
    if constexpr (is_real<T>)
      to = static_cast<T>(x);
    else if constexpr (std::is_same<T, bool>::value)
      to = std::nearbyint(x) != 0;
    else
      to = saturated<T>(x);
  }
}

struct PassArgs {
  Resample r;
  int64_t outer, chunks;
  decltype(Kernels::resample_f32) run;
};

void pass_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const PassArgs*>(args);
  if (a.chunks == 1)
    a.run(a.r, 0, a.outer);
  else
    rt.pool->parallel(a.chunks, [&a](int64_t i) { a.run(a.r, a.outer * i / a.chunks, a.outer * (i + 1) / a.chunks); });
}

struct PlaneArgs {
  ResamplePlane r;
  float* scratch;
  int64_t units, chunks;
  decltype(Kernels::resample_plane) run;
};

void plane_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const PlaneArgs*>(args);
  auto part = [&a](int64_t i) { a.run(a.r, a.scratch + i * a.r.ring * a.r.out_w, a.units * i / a.chunks, a.units * (i + 1) / a.chunks); };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

class Passes {
 public:
  Passes(PlanCtx& p, bool wide) : p_(p), wide_(wide) {}

  void axis(const Shape& shape, int axis, const AxisPlan& plan, Place from, Place to) {
    auto* a = p_.emit<PassArgs>(pass_step);
    a->run = wide_ ? kernels().resample_f64 : kernels().resample_f32;
    a->outer = shape.size(0, axis);
    a->r.size = shape[axis];
    a->r.out_size = plan.size;
    a->r.inner = shape.size(axis + 1, shape.rank);
    a->r.taps = plan.taps;
    a->chunks = std::min(a->outer, chunks_for(p_, 4 * plan.taps * a->outer * plan.size * a->r.inner));
    from.bind(p_, a->r.in);
    to.bind(p_, a->r.out);
    p_.bind_packed(a->r.index, buffer_of(plan.index));
    p_.bind_packed(a->r.weights, weights_as(plan.weights, wide_));
  }

  // The last two axes in one go; false where a ring of rows would be large.
  bool plane(const Shape& shape, const AxisPlan& rows, const AxisPlan& columns, Place from, Place to) {
    int64_t span = 1;
    for (int64_t y = 0; y < rows.size; y++) {
      const auto first = rows.index.begin() + y * rows.taps;
      const auto ends = std::minmax_element(first, first + rows.taps);
      span = std::max<int64_t>(span, *ends.second - *ends.first + 1);
    }
    int64_t ring = 1;
    while (ring < span) ring *= 2;
    if (ring > 64) return false;
    const int64_t planes = shape.size(0, shape.rank - 2), units = planes * rows.size;
    const int64_t chunks = std::min(units, chunks_for(p_, 4 * units * columns.size * (rows.taps + columns.taps)));
    const size_t scratch = p_.scratch(static_cast<size_t>(chunks * ring * columns.size) * sizeof(float));
    auto* a = p_.emit<PlaneArgs>(plane_step);
    a->run = kernels().resample_plane;
    a->units = units;
    a->chunks = chunks;
    a->r.h = shape[shape.rank - 2];
    a->r.w = shape[shape.rank - 1];
    a->r.out_h = rows.size;
    a->r.out_w = columns.size;
    a->r.row_taps = rows.taps;
    a->r.column_taps = columns.taps;
    a->r.ring = ring;
    from.bind(p_, a->r.in);
    to.bind(p_, a->r.out);
    p_.bind_scratch(a->scratch, scratch);
    p_.bind_packed(a->r.rows, buffer_of(rows.index));
    p_.bind_packed(a->r.columns, buffer_of(columns.index));
    p_.bind_packed(a->r.row_weights, weights_as(rows.weights, false));
    p_.bind_packed(a->r.column_weights, weights_as(columns.weights, false));
    return true;
  }

 private:
  PlanCtx& p_;
  bool wide_;
};

// Elements outside the region of tf_crop_and_resize.
struct OutsideArgs {
  char* out;
  const char* outside;
  int64_t outer, dim, inner;
  uint64_t bits;
};

template <typename T>
void outside_step(const void* args, Runtime&) {
  auto& a = *static_cast<const OutsideArgs*>(args);
  T* out = reinterpret_cast<T*>(a.out);
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t i = 0; i < a.dim; i++)
      if (a.outside[i]) std::fill_n(out + (o * a.dim + i) * a.inner, a.inner, static_cast<T>(a.bits));
}

uint64_t bits_of(double value, DType t) {
  uint64_t bits = 0;
  with_type(t, [&](auto tag) {
    using T = decltype(tag);
    T x;
    if constexpr (is_real<T>)
      x = static_cast<T>(static_cast<Wide<T>>(value));
    else if constexpr (std::is_same<T, bool>::value)
      x = value != 0;
    else
      x = saturated<T>(std::trunc(value));
    std::memcpy(&bits, &x, sizeof x);
  });
  return bits;
}

void emit_outside(PlanCtx& p, int axis, const AxisPlan& plan, uint64_t bits) {
  const Shape& out = p.out_shape(0);
  auto* a = p.emit<OutsideArgs>(with_size(item_size(p.dtype(0)), [](auto t) -> StepFn { return outside_step<decltype(t)>; }));
  a->outer = out.size(0, axis);
  a->dim = out[axis];
  a->inner = out.size(axis + 1, out.rank);
  a->bits = bits;
  p.bind_out(a->out, 0);
  p.bind_packed(a->outside, buffer_of(plan.outside));
}

void plan_resize(PlanCtx& p) {
  const Shape& in = p.shape(0);
  const Sizes sizes = sizes_of(p);
  const ResizeMode mode = mode_of(p.op.attrs);
  std::vector<double> starts(static_cast<size_t>(in.rank), 0), ends(static_cast<size_t>(in.rank), 1);
  if (mode.transformation == "tf_crop_and_resize") {
    const auto roi = p.has(1) ? p.numbers(1) : std::vector<double>();
    const size_t n = sizes.axes.size();
    if (roi.size() != 2 * n) throw OpError("tf_crop_and_resize needs a roi of " + std::to_string(2 * n) + " numbers, got " + std::to_string(roi.size()));
    for (size_t i = 0; i < n; i++) {
      starts[static_cast<size_t>(sizes.axes[i])] = roi[i];
      ends[static_cast<size_t>(sizes.axes[i])] = roi[n + i];
    }
  }
  std::vector<AxisPlan> plans;
  std::vector<int> changed;
  bool weighted = false;
  for (int a = 0; a < in.rank; a++) {
    const size_t i = static_cast<size_t>(a);
    plans.push_back(resize_axis(in[a], sizes.out[a], sizes.scales[i], mode, starts[i], ends[i]));
    if (!plans.back().identity) changed.push_back(a);
    weighted |= !plans.back().weights.empty();
  }
  if (changed.empty()) return p.view(0, 0);
  if (sizes.out.size() == 0) return;
  const uint64_t extrapolation = bits_of(p.op.attrs.getf("extrapolation_value", 0), p.dtype(0));
  if (!weighted) {
    std::vector<AxisMap> maps(static_cast<size_t>(in.rank));
    for (int a : changed) {
      AxisPlan& plan = plans[static_cast<size_t>(a)];
      maps[static_cast<size_t>(a)] = plan.index;
      for (size_t i = 0; i < plan.outside.size(); i++)
        if (plan.outside[i]) maps[static_cast<size_t>(a)][i] = -1;
    }
    return emit_map_copy(p, 0, 0, maps, Fill{-1, extrapolation});
  }
  const DType dtype = p.dtype(0);
  const bool wide = dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16, converted = dtype != DType::f32 && dtype != DType::f64;
  const size_t item = wide ? 8 : 4;
  Passes passes(p, wide);
  Place from{Place::input, 0};
  if (converted) {
    from = {Place::scratch, p.scratch(static_cast<size_t>(in.size()) * item)};
    auto* a = p.emit<ConvertArgs>(with_type(dtype, [](auto t) -> StepFn {
      using T = decltype(t);
      return widen_step<T, typename std::conditional<is_half<T> || std::is_same<T, float>::value, float, double>::type>;
    }));
    a->count = in.size();
    p.bind_in(a->from, 0);
    from.bind(p, a->to);
  }
  // Shrinking axes first; of the growing ones the last first.
  std::stable_sort(changed.begin(), changed.end(), [&](int a, int b) {
    const bool grows_a = plans[static_cast<size_t>(a)].size > in[a], grows_b = plans[static_cast<size_t>(b)].size > in[b];
    return grows_a != grows_b ? grows_b : a > b;
  });
  Shape shape = in;
  const int h = in.rank - 2, w = in.rank - 1;
  const bool both = !wide && changed.size() == 2 && std::min(changed[0], changed[1]) == h && !plans[static_cast<size_t>(h)].weights.empty() && !plans[static_cast<size_t>(w)].weights.empty();
  auto target = [&](bool last) {
    if (last && !converted) return Place{Place::output, 0};
    return Place{Place::scratch, p.scratch(static_cast<size_t>(shape.size()) * item)};
  };
  bool done = false;
  if (both) {
    const Shape before = shape;
    shape = sizes.out;
    const Place to = target(true);
    if ((done = passes.plane(before, plans[static_cast<size_t>(h)], plans[static_cast<size_t>(w)], from, to))) from = to;
    if (!done) shape = before;
  }
  for (size_t i = 0; !done && i < changed.size(); i++) {
    AxisPlan plan = plans[static_cast<size_t>(changed[i])];
    if (plan.weights.empty()) plan.weights.assign(plan.index.size(), 1);
    const Shape before = shape;
    shape[changed[i]] = plan.size;
    const Place to = target(i + 1 == changed.size());
    passes.axis(before, changed[i], plan, from, to);
    from = to;
  }
  if (converted) {
    auto* a = p.emit<ConvertArgs>(with_type(dtype, [](auto t) -> StepFn {
      using T = decltype(t);
      return narrow_step<T, typename std::conditional<is_half<T> || std::is_same<T, float>::value, float, double>::type>;
    }));
    a->count = sizes.out.size();
    from.bind(p, a->from);
    p.bind_out(a->to, 0);
  }
  for (int a : changed)
    if (!plans[static_cast<size_t>(a)].outside.empty()) emit_outside(p, a, plans[static_cast<size_t>(a)], extrapolation);
}

const OpDef kTable[] = {{"Resize", infer_resize, plan_resize, nullptr}};

}  // namespace

OpFamily resize_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
