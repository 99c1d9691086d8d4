// Blocked tensors moved about: BlockConcat along the channels, BlockShuffle of channels, BlockResize.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "ops/conv.h"
#include "ops/jobs.h"
#include "ops/table.h"

namespace sx {
namespace {

constexpr int64_t kLine = kBlock * sizeof(float);

// One part of a concatenation: its channels go to [at, at + channels) of the output.
struct ConcatArgs {
  const float* x;
  float* y;
  int64_t images, channels, at, blocks, pixels;
  bool parallel;
};

void concat_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ConcatArgs*>(args);
  const int64_t own = blocks_of(a.channels), plane = a.pixels * kBlock, parts = a.parallel ? std::min<int64_t>(a.pixels, 2 * rt.threads) : 1;
  // By pixels: blocks that are not aligned share lines.
  run_jobs(rt, a.images * parts, a.parallel, [&](int64_t job, int64_t) {
    const int64_t n = job / parts, from = a.pixels * (job % parts) / parts, to = a.pixels * (job % parts + 1) / parts;
    for (int64_t b = 0; b < own; b++) {
      const float* x = a.x + (n * own + b) * plane;
      const int64_t first = a.at + b * kBlock, lane = first % kBlock, count = std::min<int64_t>(kBlock, a.channels - b * kBlock);
      float* y = a.y + (n * a.blocks + first / kBlock) * plane;
      if (lane == 0) {
        // Lanes beyond the part's channels are written by the part that follows.
        std::memcpy(y + from * kBlock, x + from * kBlock, static_cast<size_t>((to - from) * kBlock) * sizeof(float));
        continue;
      }
      const int64_t here = std::min(count, kBlock - lane), over = count - here;
      for (int64_t i = from; i < to; i++) {
        for (int64_t l = 0; l < here; l++) y[i * kBlock + lane + l] = x[i * kBlock + l];
        for (int64_t l = 0; l < over; l++) y[plane + i * kBlock + l] = x[i * kBlock + here + l];
      }
    }
  });
}

void infer_concat(InferCtx& c) {
  Shape out = c.shape(0);
  for (size_t i = 1; i < c.op.in.size(); i++) {
    const Shape& s = c.shape(i);
    bool fits = s.rank == out.rank;
    for (int k = 0; fits && k < s.rank; k++) fits = k == 1 || s[k] == out[k];
    if (!fits) throw OpError("cannot join " + s.str() + " to " + out.str() + " along the channels");
    out[1] += s[1];
  }
  c.output(0, out);
}

void plan_concat(PlanCtx& p) {
  const Shape& out = p.out_shape(0);
  if (out.size() == 0) return;
  std::vector<Place> parts;
  for (size_t i = 0; i < p.op.in.size(); i++) parts.push_back(blocked_input(p, i));
  const Place y = blocked_output(p, 0);
  int64_t at = 0;
  for (size_t i = 0; i < parts.size(); i++) {
    if (p.shape(i).size() == 0) continue;
    auto* a = p.emit<ConcatArgs>(concat_step);
    *a = {nullptr, nullptr, out[0], p.shape(i)[1], at, blocks_of(out[1]), out.size(2, out.rank), false};
    a->parallel = p.threads() > 1 && worth_parallel(p.shape(i).size() * 8);
    parts[i].bind(p, a->x);
    y.bind(p, a->y);
    at += p.shape(i)[1];
  }
  finish_output(p, 0, y);
}

struct ShuffleArgs {
  const float* x;
  float* y;
  const int64_t* from;  // per output channel lane: floats from the image's start
  int64_t images, blocks, pixels;
  bool parallel;
};

void shuffle_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ShuffleArgs*>(args);
  run_jobs(rt, a.images * a.blocks, a.parallel, [&a](int64_t job, int64_t) {
    const int64_t* from = a.from + job % a.blocks * kBlock;
    const float* x = a.x + job / a.blocks * a.blocks * a.pixels * kBlock;
    float* y = a.y + job * a.pixels * kBlock;
    for (int64_t i = 0; i < a.pixels; i++, x += kBlock, y += kBlock)
      for (int l = 0; l < kBlock; l++) y[l] = x[from[l]];
  });
}

void infer_same(InferCtx& c) { c.output(0, c.shape(0)); }

// Output channel j * group + g is input channel g * (C / group) + j.
void plan_shuffle(PlanCtx& p) {
  const Shape& s = p.shape(0);
  const int64_t group = p.op.attrs.get("group", 1), pixels = s.size(2, s.rank);
  if (group < 1 || s[1] % group) throw OpError("cannot shuffle " + s.str() + " in " + std::to_string(group) + " groups");
  if (s.size() == 0) return;
  auto table = std::make_shared<Buffer>(static_cast<size_t>(blocks_of(s[1]) * kBlock) * sizeof(int64_t));
  int64_t* from = static_cast<int64_t*>(table->data);
  for (int64_t i = 0; i < blocks_of(s[1]) * kBlock; i++) {
    const int64_t o = std::min(i, s[1] - 1), c = o % group * (s[1] / group) + o / group;
    from[i] = c / kBlock * pixels * kBlock + c % kBlock;
  }
  const Place x = blocked_input(p, 0), y = blocked_output(p, 0);
  auto* a = p.emit<ShuffleArgs>(shuffle_step);
  *a = {};
  a->images = s[0];
  a->blocks = blocks_of(s[1]);
  a->pixels = pixels;
  a->parallel = p.threads() > 1 && worth_parallel(s.size() * 8);
  x.bind(p, a->x);
  y.bind(p, a->y);
  p.bind_packed(a->from, table);
  finish_output(p, 0, y);
}

// Two taps per output of an axis.
struct Tap {
  int64_t low, high;
  float weight;  // of high
};

struct ResizeArgs {
  const float* x;
  float* y;
  const Tap *rows, *cols;
  int64_t planes, height, width, out_height, out_width;
  bool linear, parallel;
};

void resize_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ResizeArgs*>(args);
  run_jobs(rt, a.planes * a.out_height, a.parallel, [&a](int64_t job, int64_t) {
    const Tap row = a.rows[job % a.out_height];
    const float* x = a.x + job / a.out_height * a.height * a.width * kBlock;
    float* y = a.y + job * a.out_width * kBlock;
    const float *top = x + row.low * a.width * kBlock, *bottom = x + row.high * a.width * kBlock;
    if (!a.linear) {
      for (int64_t i = 0; i < a.out_width; i++) std::memcpy(y + i * kBlock, top + a.cols[i].low * kBlock, kLine);
      return;
    }
    for (int64_t i = 0; i < a.out_width; i++) {
      const Tap col = a.cols[i];
      const float *tl = top + col.low * kBlock, *tr = top + col.high * kBlock, *bl = bottom + col.low * kBlock, *br = bottom + col.high * kBlock;
      for (int l = 0; l < kBlock; l++) {
        const float upper = tl[l] * (1 - col.weight) + tr[l] * col.weight, lower = bl[l] * (1 - col.weight) + br[l] * col.weight;
        y[i * kBlock + l] = upper * (1 - row.weight) + lower * row.weight;
      }
    }
  });
}

// The size and scale of an axis by the inputs scales (2) or sizes (3), which list all axes or those of `axes`.
template <typename Context>
void resized(Context& c, Shape* out, double* scales) {
  const Shape& in = c.shape(0);
  auto axes = c.op.attrs.list("axes");
  if (axes.empty())
    for (int i = 0; i < in.rank; i++) axes.push_back(i);
  *out = in;
  for (int i = 0; i < in.rank; i++) scales[i] = 1;
  const bool by_size = c.has(3) && c.shape(3).size() > 0;
  const auto numbers = c.numbers(by_size ? 3 : 2);
  if (numbers.size() != axes.size()) throw OpError("scales or sizes have " + std::to_string(numbers.size()) + " values for " + std::to_string(axes.size()) + " axes");
  for (size_t k = 0; k < axes.size(); k++) {
    const int i = static_cast<int>(axes[k] < 0 ? axes[k] + in.rank : axes[k]);
    if (i < 0 || i >= in.rank) throw OpError("an axis of " + in.str() + " is out of range");
    (*out)[i] = by_size ? static_cast<int64_t>(numbers[k]) : static_cast<int64_t>(std::floor(static_cast<double>(in[i]) * numbers[k]));
    scales[i] = by_size ? numbers[k] / static_cast<double>(in[i]) : numbers[k];
  }
  if ((*out)[0] != in[0] || (*out)[1] != in[1]) throw OpError("a blocked Resize keeps batch and channels: " + in.str() + " to " + out->str());
}

void infer_resize(InferCtx& c) {
  Shape out;
  double scales[kMaxRank];
  resized(c, &out, scales);
  c.output(0, out);
}

// Where output i of an axis lies on the input's; `length` is the exact resized size, scale * in.
double position(const std::string& mode, int64_t i, int64_t in, int64_t out, double scale) {
  const double o = static_cast<double>(i), length = scale * static_cast<double>(in);
  if (mode == "asymmetric") return o / scale;
  if (mode == "align_corners") return length == 1 || out == 1 ? 0 : o * static_cast<double>(in - 1) / (length - 1);
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  return (o + 0.5) / scale - 0.5;
}

std::shared_ptr<Buffer> taps(const Attributes& attrs, int64_t in, int64_t out, double scale, bool linear) {
  const std::string mode = attrs.gets("coordinate_transformation_mode", "half_pixel"), nearest = attrs.gets("nearest_mode", "round_prefer_floor");
  auto buffer = std::make_shared<Buffer>(static_cast<size_t>(out) * sizeof(Tap));
  Tap* t = static_cast<Tap*>(buffer->data);
  const double last = static_cast<double>(in - 1);
  for (int64_t i = 0; i < out; i++) {
    double x = position(mode, i, in, out, scale);
    if (linear) {
      x = std::min(std::max(x, 0.0), last);
      const double low = std::floor(x);
      t[i] = {static_cast<int64_t>(low), static_cast<int64_t>(std::min(low + 1, last)), static_cast<float>(x - low)};
      continue;
    }
    // A position that is a half or a whole number but for rounding is one.
    x = static_cast<double>(static_cast<float>(x));
    double n = std::floor(x);
    if (nearest == "ceil")
      n = std::ceil(x);
    else if (nearest == "round_prefer_floor")
      n = std::ceil(x - 0.5);
    else if (nearest == "round_prefer_ceil")
      n = std::floor(x + 0.5);
    t[i] = {static_cast<int64_t>(std::min(std::max(n, 0.0), last)), 0, 0};
  }
  return buffer;
}

void plan_resize(PlanCtx& p) {
  Shape out;
  double scales[kMaxRank];
  resized(p, &out, scales);
  const Shape& in = p.shape(0);
  if (out.size() == 0) return;
  const bool linear = p.op.attrs.gets("mode", "nearest") == "linear";
  const Place x = blocked_input(p, 0), y = blocked_output(p, 0);
  const auto rows = taps(p.op.attrs, in[2], out[2], scales[2], linear), cols = taps(p.op.attrs, in[3], out[3], scales[3], linear);
  auto* a = p.emit<ResizeArgs>(resize_step);
  *a = {};
  a->planes = out[0] * blocks_of(out[1]);
  a->height = in[2];
  a->width = in[3];
  a->out_height = out[2];
  a->out_width = out[3];
  a->linear = linear;
  a->parallel = p.threads() > 1 && worth_parallel(out.size() * 8);
  x.bind(p, a->x);
  y.bind(p, a->y);
  p.bind_packed(a->rows, rows);
  p.bind_packed(a->cols, cols);
  finish_output(p, 0, y);
}

const OpDef kTable[] = {
    {"BlockConcat", infer_concat, plan_concat, nullptr},
    {"BlockShuffle", infer_same, plan_shuffle, nullptr},
    {"BlockResize", infer_resize, plan_resize, nullptr},
};

}  // namespace

OpFamily block_move_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
