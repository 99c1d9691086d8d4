// Winograd's algorithm for 3x3 convolutions of stride 1: input tiles and weights are transformed, multiplied point by
// point as matrices, and the products transformed back.
#include <algorithm>
#include <cmath>

#include "kernels/isa.h"
#include "ops/conv.h"
#include "ops/jobs.h"

namespace sx {
namespace {

constexpr int64_t kCacheFloats = 80 * 1024;  // of transformed input that stays in L2 (320 KB)
constexpr int64_t kPad = 16;                 // floats between points, so that they do not alias in L1

struct WinogradPlane {
  int32_t part, len;
  int64_t offset;
};

struct WinogradArgs {
  const float* parts[kMaxParts];
  int64_t part_batch[kMaxParts];
  const WinogradPlane* planes;
  const float* u;  // [tile][point][channel][tile channels]
  float* y;
  float* scratch;
  WinogradTiles in, out;
  int64_t images, n_planes, channels, oc, out_blocks, tiles, tile;
  int64_t points, tile_rows, chunk, chunks;
  int64_t v_floats, run_floats, slot_floats;
  bool parallel, by_tiles;  // by_tiles: threads share the transformed input and split the output channels
  decltype(Kernels::winograd_input) input;
  decltype(Kernels::winograd_output) output;
  decltype(Kernels::conv_points) multiply;
};

struct Chunk {
  int64_t image, row, rows, count, v_step, m_step;
};

Chunk chunk_of(const WinogradArgs& a, int64_t index) {
  Chunk c{};
  c.image = index / a.chunks;
  c.row = index % a.chunks * a.chunk;
  c.rows = std::min(a.chunk, a.tile_rows - c.row);
  c.count = c.rows * a.in.cols;
  c.v_step = a.n_planes * c.count * 16 + kPad;
  c.m_step = a.tile / 16 * c.count * 16 + kPad;
  return c;
}

void transform_plane(const WinogradArgs& a, const Chunk& c, int64_t plane, float* v) {
  const WinogradPlane& p = a.planes[plane];
  WinogradTiles t = a.in;
  t.x = a.parts[p.part] + c.image * a.part_batch[p.part] + p.offset;
  t.points = v + plane * c.count * 16;
  t.step = c.v_step;
  t.row = c.row;
  t.rows = c.rows;
  a.input(t);
}

// Output tile `tile` of a chunk; `m` has room for its points, `runs` for the planes.
void multiply_tile(const WinogradArgs& a, const Chunk& c, int64_t tile, const float* v, float* m, ConvRun* runs) {
  for (int64_t i = 0; i < a.n_planes; i++) runs[i] = {v + i * c.count * 16, a.planes[i].len};
  runs[a.n_planes] = {v + c.v_step, 0};
  const int64_t block = tile * a.tile / 16, blocks = std::min(a.tile / 16, a.out_blocks - block);
  ConvRows r{};
  r.runs = runs;
  r.n_runs = a.n_planes;
  r.tile_floats = a.channels * a.tile;
  r.w = a.u + tile * a.points * r.tile_floats;
  r.kh = r.kw = r.rows = 1;
  r.pixel = 16;
  r.cols = c.count;
  r.y = m;
  r.y_plane = c.count * 16;
  r.channels = a.oc - block * 16;
  a.multiply(r, a.points, c.v_step, c.m_step);
  for (int64_t b = 0; b < blocks; b++) {
    const int64_t at = (c.image * a.out_blocks + block + b) * a.out.height * a.out.width * 16;
    WinogradTiles t = a.out;
    t.y = a.y + at;
    t.points = m + b * c.count * 16;
    t.step = c.m_step;
    t.row = c.row;
    t.rows = c.rows;
    t.tail.bias = a.out.tail.bias + (block + b) * 16;
    t.tail.residual = a.out.tail.residual ? a.out.tail.residual + at : nullptr;
    a.output(t);
  }
}

void winograd_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const WinogradArgs*>(args);
  if (!a.by_tiles) {
    run_jobs(rt, a.images * a.chunks, a.parallel, [&](int64_t job, int64_t slot) {
      const Chunk c = chunk_of(a, job);
      float* v = a.scratch + slot * a.slot_floats;
      auto* runs = reinterpret_cast<ConvRun*>(v + a.v_floats);
      float* m = reinterpret_cast<float*>(runs) + a.run_floats;
      for (int64_t i = 0; i < a.n_planes; i++) transform_plane(a, c, i, v);
      for (int64_t t = 0; t < a.tiles; t++) multiply_tile(a, c, t, v, m, runs);
    });
    return;
  }
  for (int64_t job = 0; job < a.images * a.chunks; job++) {
    const Chunk c = chunk_of(a, job);
    float* v = a.scratch;
    run_jobs(rt, a.n_planes, true, [&](int64_t i, int64_t) { transform_plane(a, c, i, v); });
    run_jobs(rt, a.tiles, true, [&](int64_t t, int64_t slot) {
      auto* runs = reinterpret_cast<ConvRun*>(v + a.v_floats + slot * a.slot_floats);
      multiply_tile(a, c, t, v, reinterpret_cast<float*>(runs) + a.run_floats, runs);
    });
  }
}

// Cycles that a form takes, roughly: products at the register tile's rate or weights at that of memory, and transforms.
double cycles(const ConvProblem& c, int m, double flops_per_cycle) {
  const double bytes_per_cycle = 6, transform = 5;  // per point and block of 16 channels
  const double images = static_cast<double>(c.w.n), channels = static_cast<double>(c.w.c), oc = static_cast<double>(round_up(c.oc, 16));
  if (m == 0) return std::max(images * static_cast<double>(c.w.pixels_out()) * channels * oc * 18 / flops_per_cycle / 0.9, channels * oc * 36 / bytes_per_cycle);
  const double tiles = static_cast<double>(((c.w.h.out + m - 1) / m) * ((c.w.w.out + m - 1) / m)), points = (m + 2) * (m + 2);
  // Register tiles of 4 pixels are the least that keep the FMAs busy.
  const double rows = std::max(tiles * images, 4.0);
  const double product = std::max(rows * points * channels * oc * 2 / flops_per_cycle / 0.85, points * channels * oc * 4 / bytes_per_cycle);
  return product + images * tiles * points * transform * (channels + oc) / 16 * 32 / flops_per_cycle / 8;
}

// The form that takes least, 0 for a direct convolution.
int choose(const ConvProblem& c) {
  const double flops_per_cycle = kernels().conv_tile() == 32 ? 64 : kernels().conv_tile_pixels() == 6 ? 32 : 8;
  int best = 0;
  for (int m : {2, 4})
    if (cycles(c, m, flops_per_cycle) < cycles(c, best, flops_per_cycle)) best = m;
  return best;
}

}  // namespace

bool plan_winograd(PlanCtx& p, const ConvProblem& c, const ConvEnd& end) {
  const Axis &h = c.w.h, &w = c.w.w;
  if (c.group != 1 || c.shuffle != 1 || c.w.spatial != 2 || h.kernel != 3 || w.kernel != 3 || h.stride != 1 || w.stride != 1 || h.dilation != 1 || w.dilation != 1) return false;
  if (!p.is_const(kW) || p.has(kPreScale) || !p.option("winograd", 1) || c.w.c < 8 || c.oc < 8) return false;
  const int m = choose(c);
  if (m == 0) return false;
  const int64_t tile = kernels().conv_tile(), tiles = (c.oc + tile - 1) / tile, points = (m + 2) * (m + 2);
  const auto u = p.pack(kW, "winograd" + std::to_string(m) + ":" + std::to_string(tile), [&](const void* data) {
    auto buffer = lasting_buffer(static_cast<size_t>(tiles * points * c.w.c * tile) * sizeof(float));
    kernels().winograd_weights(static_cast<const float*>(data), static_cast<float*>(buffer->data), c.oc, c.w.c, m);
    return buffer;
  });
  std::vector<Place> parts;
  std::vector<WinogradPlane> planes;
  const int64_t pixels = c.w.pixels_in();
  for (int i = 0; i < c.parts; i++) {
    parts.push_back(blocked_input(p, part_input(i)));
    const int64_t channels = p.shape(part_input(i))[1];
    for (int64_t b = 0; b < blocks_of(channels); b++)
      planes.push_back({i, static_cast<int32_t>(std::min<int64_t>(kBlock, channels - b * kBlock)), b * kBlock * pixels});
  }
  auto table = std::make_shared<Buffer>(planes.size() * sizeof(WinogradPlane));
  std::memcpy(table->data, planes.data(), table->bytes);
  const Packed bias = padded_vector(p, kB, c.oc, tiles * tile);

  WinogradArgs shape{};
  shape.n_planes = static_cast<int64_t>(planes.size());
  shape.run_floats = round_up((shape.n_planes + 1) * static_cast<int64_t>(sizeof(ConvRun) / sizeof(float)), 16);
  shape.channels = c.w.c;
  shape.images = c.w.n;
  shape.oc = c.oc;
  shape.out_blocks = blocks_of(c.oc);
  shape.tiles = tiles;
  shape.tile = tile;
  shape.points = points;
  shape.in.m = shape.out.m = m;
  shape.in.height = h.in;
  shape.in.width = w.in;
  shape.in.pad_top = h.begin;
  shape.in.pad_left = w.begin;
  shape.out.height = h.out;
  shape.out.width = w.out;
  shape.tile_rows = (h.out + m - 1) / m;
  shape.in.cols = shape.out.cols = (w.out + m - 1) / m;
  const int64_t row_floats = points * shape.n_planes * shape.in.cols * 16;
  shape.chunk = std::min(shape.tile_rows, std::max<int64_t>(1, kCacheFloats / row_floats));
  // Few tiles leave the register tile half empty and read all weights again for the next chunk.
  while (shape.chunk < shape.tile_rows && shape.chunk * shape.in.cols < 12) shape.chunk++;
  if (static_cast<int64_t>(u->bytes) > (2 << 20) && row_floats * shape.tile_rows < 1 << 19) shape.chunk = shape.tile_rows;
  shape.parallel = p.threads() > 1 && worth_parallel(0, c.flops());
  shape.chunks = (shape.tile_rows + shape.chunk - 1) / shape.chunk;
  shape.by_tiles = shape.parallel && shape.images * shape.chunks < 2 * p.threads();
  shape.chunk = (shape.tile_rows + shape.chunks - 1) / shape.chunks;
  shape.chunks = (shape.tile_rows + shape.chunk - 1) / shape.chunk;
  const int64_t count = shape.chunk * shape.in.cols;
  shape.v_floats = round_up(points * (shape.n_planes * count * 16 + kPad), 16);
  const int64_t own = shape.run_floats + points * (tile * count + kPad), slots = shape.parallel ? p.threads() : 1;
  shape.slot_floats = round_up(own + (shape.by_tiles ? 0 : shape.v_floats), 16);
  const size_t scratch = p.scratch(static_cast<size_t>((shape.by_tiles ? shape.v_floats : 0) + shape.slot_floats * slots) * sizeof(float));

  auto* a = p.emit<WinogradArgs>(winograd_step);
  *a = shape;
  for (int i = 0; i < c.parts; i++) {
    a->part_batch[i] = round_up(p.shape(part_input(i))[1], kBlock) * pixels;
    parts[i].bind(p, a->parts[i]);
  }
  a->input = kernels().winograd_input;
  a->output = kernels().winograd_output;
  a->multiply = kernels().conv_points;
  p.bind_packed(a->planes, table);
  p.bind_packed(a->u, u);
  p.bind_scratch(a->scratch, scratch);
  a->out.tail = end.tail;
  bias.bind(p, a->out.tail.bias);
  end.residual.bind(p, a->out.tail.residual);
  end.out.bind(p, a->y);
  return true;
}

}  // namespace sx
