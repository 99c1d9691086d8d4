// GridSample: values interpolated at arbitrary points.
#include <algorithm>
#include <cmath>

#include "ops/copy.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

constexpr int kMostAxes = 3, kMostTaps = 64;
enum class Mode : int32_t { nearest, linear, cubic };
enum class Padding : int32_t { zeros, border, reflection };

struct GridArgs {
  const char* in;
  const char* grid;
  char* out;
  int64_t batch, channels, points;
  int32_t axes;
  Mode mode;
  Padding padding;
  int32_t align;
  int64_t size[kMostAxes];  // of the input's spatial axes
  int64_t chunks;  // per image
};

// x mirrored at low and high until it lies between them; x itself where it already does.
template <typename G>
G reflect(G x, G low, G high) {
  const G span = high - low;
  if (span == 0) return low;
  const G beyond = x < low ? low - x : x > high ? x - high : x != x ? x : G(0);
  if (!(beyond > 0)) return x;
  const G turns = std::floor(beyond / span), rest = beyond - turns * span;
  const bool from_low = (x < low) == (std::fmod(turns, G(2)) == 0);
  return from_low ? low + rest : high - rest;
}

constexpr int64_t kFar = int64_t(1) << 40;

template <typename G>
int64_t index_of(G x) {
  if (x != x) return -kFar;
  return static_cast<int64_t>(std::min<G>(std::max<G>(x, -static_cast<G>(kFar)), static_cast<G>(kFar)));
}

// Up to four indices on an axis, with weights; -1 where an index reads nothing.
template <typename G>
struct Taps {
  int count;
  int64_t index[4];
  G weight[4];
};

template <typename G>
Taps<G> taps_of(const GridArgs& a, G g, int64_t size) {
  const G n = static_cast<G>(size);
  G x = a.align ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
  const G low = a.align ? G(0) : G(-0.5), high = a.align ? n - 1 : n - G(0.5);
  if (a.mode == Mode::nearest) x = std::nearbyint(x);
  if (a.padding == Padding::reflection) x = reflect(x, low, high);
  Taps<G> t{};
  if (a.mode == Mode::nearest) {
    t.count = 1;
    t.index[0] = index_of(std::nearbyint(x));
    t.weight[0] = 1;
  } else {
    // An infinite position is a far one; NaN stays.
    if (x == x) x = std::min(std::max(x, -static_cast<G>(kFar)), static_cast<G>(kFar));
    const G base = std::floor(x), far = x - base;
    const int64_t first = index_of(base);
    if (a.mode == Mode::linear) {
      t.count = 2;
      t.weight[0] = 1 - far;
      t.weight[1] = far;
    } else {
      constexpr G c = G(-0.75);
      auto inner = [](G d) { return ((c + 2) * d - (c + 3)) * d * d + 1; };
      auto outer = [](G d) { return ((c * d - 5 * c) * d + 8 * c) * d - 4 * c; };
      t.count = 4;
      t.weight[0] = outer(far + 1);
      t.weight[1] = inner(far);
      t.weight[2] = inner(1 - far);
      t.weight[3] = outer(2 - far);
    }
    for (int k = 0; k < t.count; k++) t.index[k] = first + k - (a.mode == Mode::cubic);
  }
  for (int k = 0; k < t.count; k++) {
    int64_t& i = t.index[k];
    if (a.padding == Padding::reflection) i = index_of(reflect(static_cast<double>(i), static_cast<double>(low), static_cast<double>(high)));
    if (a.padding != Padding::zeros) i = std::min(std::max<int64_t>(i, 0), size - 1);
    // A weight of 0 reads nothing, so that no NaN or inf comes from it.
    if (i < 0 || i >= size || t.weight[k] == 0) i = -1;
  }
  return t;
}

// The elements that one point reads, with weights: exactly `want` of them. A tap that reads nothing takes over half of
// the heaviest other one, so that no NaN or inf comes from it; false if none reads anything.
template <typename W>
bool complete(int64_t* offsets, W* weights, int count, int want) {
  if (count == 0) return false;
  if (count == want) return true;
  int heaviest = 0;
  for (int i = 1; i < count; i++)
    if (std::fabs(weights[i]) > std::fabs(weights[heaviest])) heaviest = i;
  for (int i = count; i < want; i++) {
    weights[heaviest] /= 2;
    weights[i] = weights[heaviest];
    offsets[i] = offsets[heaviest];
  }
  return true;
}

// All elements and weights of point p of image n; their number, `want` at most. A point that is nowhere is NaN.
template <typename Grid, typename W>
int taps_of_point(const GridArgs& a, int64_t p, int64_t* offsets, W* weights, int want) {
  using G = Wide<Grid>;
  auto* grid = reinterpret_cast<const Grid*>(a.grid) + p * a.axes;
  int count = 1;
  offsets[0] = 0;
  weights[0] = 1;
  for (int k = 0; k < a.axes; k++) {
    // The grid counts axes from the last.
    const Taps<G> t = taps_of<G>(a, static_cast<G>(grid[a.axes - 1 - k]), a.size[k]);
    if (t.weight[0] != t.weight[0]) {
      std::fill(offsets, offsets + want, 0);
      std::fill(weights, weights + want, std::numeric_limits<W>::quiet_NaN());
      return want;
    }
    int64_t more[kMostTaps];
    W more_weights[kMostTaps];
    int next = 0;
    for (int i = 0; i < count; i++)
      for (int j = 0; j < t.count; j++)
        if (t.index[j] >= 0) {
          more[next] = offsets[i] * a.size[k] + t.index[j];
          more_weights[next++] = weights[i] * static_cast<W>(t.weight[j]);
        }
    count = next;
    std::copy(more, more + count, offsets);
    std::copy(more_weights, more_weights + count, weights);
  }
  return count;
}

// Points [begin, end), all of one image: in runs, whose taps are found once for all channels.
template <typename T, typename Grid>
void sample_points(const GridArgs& a, int64_t begin, int64_t end) {
  using W = Wide<T>;
  constexpr int64_t kRun = 32;
  int64_t plane = 1;
  int taps = 1;
  for (int k = 0; k < a.axes; k++) {
    plane *= a.size[k];
    taps *= a.mode == Mode::nearest ? 1 : a.mode == Mode::linear ? 2 : 4;
  }
  int64_t offsets[kMostTaps * kRun];
  W weights[kMostTaps * kRun];
  bool inside[kRun];
  const int64_t n = begin / a.points;
  for (int64_t first = begin; first < end; first += kRun) {
    const int64_t run = std::min(kRun, end - first);
    for (int64_t p = 0; p < run; p++) {
      int64_t* o = offsets + p * taps;
      W* w = weights + p * taps;
      int64_t found[kMostTaps];
      W found_weights[kMostTaps];
      inside[p] = complete(found, found_weights, taps_of_point<Grid>(a, first + p, found, found_weights, taps), taps);
      for (int t = 0; t < taps; t++) {
        o[t] = inside[p] ? found[t] : 0;
        w[t] = found_weights[t];
      }
    }
    const T* in = reinterpret_cast<const T*>(a.in) + n * a.channels * plane;
    T* out = reinterpret_cast<T*>(a.out) + n * a.channels * a.points + first % a.points;
    for (int64_t c = 0; c < a.channels; c++, in += plane, out += a.points)
      for (int64_t p = 0; p < run; p++) {
        const int64_t* o = offsets + p * taps;
        const W* w = weights + p * taps;
        if (!inside[p]) {
          out[p] = T(0.0f);
        } else if (a.mode == Mode::nearest) {
          out[p] = in[o[0]];
        } else if (taps == 4) {
          out[p] = static_cast<T>(w[0] * static_cast<W>(in[o[0]]) + w[1] * static_cast<W>(in[o[1]]) + w[2] * static_cast<W>(in[o[2]]) + w[3] * static_cast<W>(in[o[3]]));
        } else {
          W sum = 0;
          for (int t = 0; t < taps; t++) sum += w[t] * static_cast<W>(in[o[t]]);
          out[p] = static_cast<T>(sum);
        }
      }
  }
}

template <typename T, typename Grid>
void grid_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const GridArgs*>(args);
  auto part = [&a](int64_t i) {
    const int64_t n = i / a.chunks, chunk = i % a.chunks;
    sample_points<T, Grid>(a, n * a.points + a.points * chunk / a.chunks, n * a.points + a.points * (chunk + 1) / a.chunks);
  };
  if (a.chunks == 1)
    for (int64_t i = 0; i < a.batch; i++) part(i);
  else
    rt.pool->parallel(a.batch * a.chunks, part);
}

void infer_grid_sample(InferCtx& c) {
  const Shape &in = c.shape(0), &grid = c.shape(1);
  const int axes = in.rank - 2;
  if (axes < 1 || axes > kMostAxes || grid.rank != in.rank || grid[grid.rank - 1] != axes || grid[0] != in[0])
    throw OpError("GridSample takes X [N, C, D1, ...] of up to 3 axes and grid [N, out1, ..., axes], got " + in.str() + " and " + grid.str());
  Shape out;
  out.push(in[0]);
  out.push(in[1]);
  for (int i = 1; i + 1 < grid.rank; i++) out.push(grid[i]);
  if (out.size() > 0 && in.size(2, in.rank) == 0) throw OpError("GridSample cannot sample X " + in.str() + ", which has no elements");
  c.output(0, out);
}

void plan_grid_sample(PlanCtx& p) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  if (out.size() == 0) return;
  const std::string mode = p.op.attrs.gets("mode", "linear"), padding = p.op.attrs.gets("padding_mode", "zeros");
  auto* a = p.emit<GridArgs>(with_real(p.dtype(0), [&](auto t) { return with_real(p.dtype(1), [](auto g) -> StepFn { return grid_step<decltype(t), decltype(g)>; }); }));
  a->mode = mode == "nearest" ? Mode::nearest : mode == "cubic" || mode == "bicubic" ? Mode::cubic : Mode::linear;
  a->padding = padding == "zeros" ? Padding::zeros : padding == "border" ? Padding::border : Padding::reflection;
  a->align = p.op.attrs.get("align_corners", 0) != 0;
  a->batch = in[0];
  a->channels = in[1];
  a->points = out.size(2, out.rank);
  a->axes = in.rank - 2;
  for (int k = 0; k < a->axes; k++) a->size[k] = in[2 + k];
  a->chunks = std::min(a->points, chunks_for(p, 32 * out.size()));
  p.bind_in(a->in, 0);
  p.bind_in(a->grid, 1);
  p.bind_out(a->out, 0);
}

const OpDef kTable[] = {
    {"GridSample", infer_grid_sample, plan_grid_sample, nullptr},
    {"com.microsoft.GridSample", infer_grid_sample, plan_grid_sample, nullptr},
};

}  // namespace

OpFamily sample_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
