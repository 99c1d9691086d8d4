// Convolutions whose windows reach far into the padding: nothing is staged, and no product with padding is formed.
//
// Along an axis the outputs fall into stretches that see the same taps inside the input. Two axes make rectangles; each is
// a convolution of the taps that its stretches see, read from where the input lies.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/conv_direct.h"
#include "ops/jobs.h"

namespace sx {
namespace {

constexpr int64_t kReachFloats = 512 * 1024;  // of rows that neighbouring chunks would both stage (2 MB)
constexpr int64_t kChunkFloats = 512 * 1024;  // of input that a chunk keeps in L3

// Outputs [from, to) of an axis, which see taps [tap, tap_end).
struct Stretch {
  int64_t from, to, tap, tap_end;
};

std::vector<Stretch> stretches(const Axis& a) {
  std::vector<Stretch> all;
  for (int64_t o = 0; o < a.out; o++) {
    int64_t tap = 0, end = a.kernel;
    while (tap < end && a.at(o, tap) < 0) tap++;
    while (end > tap && a.at(o, end - 1) >= a.in) end--;
    if (!all.empty() && all.back().tap == tap && all.back().tap_end == end)
      all.back().to++;
    else
      all.push_back({o, o + 1, tap, end});
  }
  return all;
}

struct Rectangle {
  Stretch h, w;
};

struct DilatedArgs {
  const float* parts[kMaxParts];
  int64_t part_batch[kMaxParts];
  const FlatMap* map;
  const Rectangle* rectangles;
  const float* w;
  float *y, *runs;
  ConvTail tail;
  Axis h, wd;
  int64_t n, count, splits, tiles, tile, tap_floats, oc, out_blocks, run_floats;
  bool parallel;
  decltype(Kernels::conv_rows) conv_rows;
};

// The runs of a band that a rectangle sees; how many.
int64_t list_runs(const DilatedArgs& a, const Rectangle& r, const BandEntry& band, int64_t n, ConvRun* runs) {
  int64_t count = 0, passed = 0;
  for (int64_t u = r.h.tap; u < r.h.tap_end; u++)
    for (int64_t v = r.w.tap; v < r.w.tap_end; v++) {
      const int64_t pixel = (a.h.at(r.h.from, u) * a.wd.in + a.wd.at(r.w.from, v)) * kBlock;
      int64_t at = (u * a.wd.kernel + v) * a.tap_floats;
      for (int64_t i = band.run; i < band.run_end; i++) {
        const RunEntry& e = a.map->runs()[i];
        const PlaneEntry& plane = a.map->planes()[e.plane];
        runs[count++] = {a.parts[plane.part] + n * a.part_batch[plane.part] + plane.offset + e.lane + pixel, e.len, at - passed};
        at += e.len * a.tile;
        passed = at;
      }
    }
  if (count == 0) runs[count++] = {a.parts[0], 0, 0};
  runs[count] = runs[0];
  return count;
}

void dilated_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const DilatedArgs*>(args);
  run_jobs(rt, a.n * a.count * a.splits, a.parallel, [&](int64_t job, int64_t slot) {
    const int64_t split = job % a.splits, n = job / a.splits / a.count;
    const Rectangle& r = a.rectangles[job / a.splits % a.count];
    auto* runs = reinterpret_cast<ConvRun*>(a.runs + slot * a.run_floats);
    ConvRows c{};
    c.kh = c.kw = 1;
    c.pixel = a.wd.stride * kBlock;
    c.row = a.h.stride * a.wd.in * kBlock;
    c.rows = r.h.to - r.h.from;
    c.cols = r.w.to - r.w.from;
    c.y_row = a.wd.out * kBlock;
    c.y_plane = a.h.out * c.y_row;
    c.tail = a.tail;
    c.runs = runs;
    const int64_t t0 = a.tiles * split / a.splits, t1 = a.tiles * (split + 1) / a.splits;
    for (int64_t b = 0; b < a.map->n_bands; b++) {
      const BandEntry& band = a.map->bands()[b];
      const int64_t from = std::max(t0, band.tile), to = std::min(t1, band.tile_end);
      if (from >= to) continue;
      c.n_runs = list_runs(a, r, band, n, runs);
      c.w = a.w + band.w + (from - band.tile) * band.tile_floats;
      c.tile_floats = band.tile_floats;
      const int64_t block = from * a.tile / kBlock, out = (n * a.out_blocks + block) * c.y_plane + r.h.from * c.y_row + r.w.from * kBlock;
      c.y = a.y + out;
      c.channels = a.oc - block * kBlock;
      c.tail.bias = a.tail.bias + from * a.tile;
      c.tail.residual = a.tail.residual ? a.tail.residual + out : nullptr;
      a.conv_rows(c, 0, to - from);
    }
  });
}

// The weights of each tap as those of a convolution of one tap: a rectangle that leaves taps out reads in long stretches.
struct TapWeights {
  ConvMap map;
  std::shared_ptr<Buffer> flat, packed;
};

TapWeights tap_weights(PlanCtx& p, const ConvProblem& c) {
  const std::vector<int64_t> channels = part_channels(p, c);
  ConvProblem one = c;
  one.w.h.kernel = one.w.w.kernel = 1;
  const int64_t tile = kernels().conv_tile(), taps = c.taps();
  TapWeights made;
  made.map = map_direct(one, channels, false, tile);
  made.flat = flatten(made.map);
  made.packed = p.pack(kW, "taps:" + packed_key(c, channels), [&](const void* data) {
    auto buffer = lasting_buffer(static_cast<size_t>(taps * made.map.floats) * sizeof(float));
    float* out = static_cast<float*>(buffer->data);
    const auto& flat = *static_cast<const FlatMap*>(made.flat->data);
    for (int64_t t = 0; t < taps; t++) {
      const PackConv job{static_cast<const float*>(data), out + t * made.map.floats, c.oc, c.group_in(), c.group_out(), 1, 1, tile, false, c.w.c, c.shuffle, c.weights_out(), c.weights_in(), t, 1, 1};
      for (int64_t b = 0; b < flat.n_bands; b++) pack_direct(job, flat, b);
    }
    return buffer;
  });
  return made;
}

// Rectangles of few rows, so that their input stays in cache.
std::vector<Rectangle> rectangles(const ConvProblem& c) {
  const int64_t per_row = round_up(c.w.c, kBlock) * c.w.w.in * c.w.h.kernel, most = std::max<int64_t>(4, kChunkFloats / per_row);
  std::vector<Rectangle> all;
  for (const Stretch& h : stretches(c.w.h)) {
    const int64_t rows = h.to - h.from, chunks = (rows + most - 1) / most;
    for (int64_t i = 0; i < chunks; i++)
      for (const Stretch& w : stretches(c.w.w)) all.push_back({{h.from + rows * i / chunks, h.from + rows * (i + 1) / chunks, h.tap, h.tap_end}, w});
  }
  return all;
}

}  // namespace

bool plan_dilated(PlanCtx& p, const ConvProblem& c, const ConvEnd& end) {
  if (c.w.spatial > 2 || p.has(kPreScale) || !p.is_const(kW)) return false;
  Axis h = c.w.h, w = c.w.w;
  leave_out_padding(h);
  leave_out_padding(w);
  const bool reaches = (h.padded() && h.dilation > 1 && h.kernel > 1) || (w.padded() && w.dilation > 1 && w.kernel > 1);
  if (!reaches || h.reach() * (w.in + w.reach()) * round_up(c.w.c, kBlock) < kReachFloats) return false;
  const TapWeights weights = tap_weights(p, c);
  const std::vector<Rectangle> all = rectangles(c);
  auto table = buffer_of(all);
  std::vector<Place> parts;
  for (int i = 0; i < c.parts; i++) parts.push_back(blocked_input(p, part_input(i)));
  const int64_t tile = kernels().conv_tile(), tiles = (c.oc + tile - 1) / tile;
  const Packed bias = padded_vector(p, kB, c.oc, tiles * tile);
  int64_t longest = 1;
  for (const BandEntry& b : weights.map.bands) longest = std::max(longest, (b.run_end - b.run) * c.w.h.kernel * c.w.w.kernel);

  DilatedArgs shape{};
  shape.h = c.w.h;
  shape.wd = c.w.w;
  shape.n = c.w.n;
  shape.count = static_cast<int64_t>(all.size());
  shape.tiles = tiles;
  shape.tile = tile;
  shape.tap_floats = weights.map.floats;
  shape.oc = c.oc;
  shape.out_blocks = blocks_of(c.oc);
  shape.parallel = p.threads() > 1;
  const int64_t jobs = shape.n * shape.count, wanted = 4 * p.threads();
  shape.splits = shape.parallel && jobs < wanted ? std::min(tiles, (wanted + jobs - 1) / jobs) : 1;
  shape.run_floats = round_up((longest + 1) * static_cast<int64_t>(sizeof(ConvRun) / sizeof(float)), 16);
  const size_t scratch = p.scratch(static_cast<size_t>(shape.run_floats * (shape.parallel ? p.threads() : 1)) * sizeof(float));

  auto* a = p.emit<DilatedArgs>(dilated_step);
  *a = shape;
  for (int i = 0; i < c.parts; i++) {
    a->part_batch[i] = round_up(p.shape(part_input(i))[1], kBlock) * c.w.pixels_in();
    parts[i].bind(p, a->parts[i]);
  }
  a->conv_rows = kernels().conv_rows;
  p.bind_packed(a->map, weights.flat);
  p.bind_packed(a->rectangles, table);
  p.bind_packed(a->w, weights.packed);
  p.bind_scratch(a->runs, scratch);
  a->tail = end.tail;
  bias.bind(p, a->tail.bias);
  end.residual.bind(p, a->tail.residual);
  end.out.bind(p, a->y);
  return true;
}

}  // namespace sx
