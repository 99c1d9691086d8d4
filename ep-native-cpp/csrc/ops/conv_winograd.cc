// Winograd's algorithm for convolutions of stride 1 with three or five taps along one or both axes: input tiles and weights are
// transformed, multiplied point by point as matrices, and the products transformed back.
#include <algorithm>
#include <cmath>

#include "kernels/isa.h"
#include "ops/conv.h"
#include "ops/jobs.h"

namespace sx {
namespace {

constexpr int64_t kCacheFloats = 80 * 1024;  // of transformed input that stays in L2 (320 KB)
constexpr int64_t kSharedFloats = 1 << 19;   // of transformed input where weights are large: reading them again costs more
constexpr int64_t kLargeWeights = 1 << 19;   // floats that are large (2 MB), and that a shared cache does not keep (8 MB)
constexpr int64_t kL3Floats = 1 << 21;
constexpr double kBytesPerCycle = 6;
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
  int64_t images, together;          // an image is a phase of a dilated convolution's; how many one chunk takes
  int64_t dilation_h, dilation_w;
  int64_t n_planes, channels, oc, out_blocks, tiles, tile;
  int64_t points, tile_rows, tile_cols, chunk_rows, chunk_cols, row_chunks, col_chunks;
  int64_t v_floats, run_floats, slot_floats;
  bool parallel, by_tiles;  // by_tiles: threads share the transformed input and split the output channels
  decltype(Kernels::winograd_input) input;
  decltype(Kernels::winograd_output) output;
  decltype(Kernels::conv_points) multiply;
  int64_t jobs() const { return (images + together - 1) / together * row_chunks * col_chunks; }
};

// Tiles of the images [image, image + images): rows, or parts of a row, of one, or all tiles of several.
struct Chunk {
  int64_t image, images, row, rows, col, cols, count, v_step, m_step;
};

Chunk chunk_of(const WinogradArgs& a, int64_t index) {
  Chunk c{};
  c.image = index / (a.row_chunks * a.col_chunks) * a.together;
  c.images = std::min(a.together, a.images - c.image);
  c.row = index / a.col_chunks % a.row_chunks * a.chunk_rows;
  c.rows = std::min(a.chunk_rows, a.tile_rows - c.row);
  c.col = index % a.col_chunks * a.chunk_cols;
  c.cols = std::min(a.chunk_cols, a.tile_cols - c.col);
  c.count = c.images * c.rows * c.cols;
  c.v_step = a.n_planes * c.count * 16 + kPad;
  c.m_step = a.tile / 16 * c.count * 16 + kPad;
  return c;
}

// Narrows `t`, tiles of a whole plane, to those of image i of a chunk: one phase of it. Gives the image's batch, and the floats
// from the plane's first pixel to the phase's.
int64_t to_phase(const WinogradArgs& a, const Chunk& c, int64_t i, int64_t* batch, WinogradTiles& t) {
  const int64_t phases = a.dilation_h * a.dilation_w, image = c.image + i;
  const int64_t y = image % phases / a.dilation_w, x = image % a.dilation_w;
  *batch = image / phases;
  t.height = (t.height - y + a.dilation_h - 1) / a.dilation_h;
  t.width = (t.width - x + a.dilation_w - 1) / a.dilation_w;
  const int64_t at = y * t.line + x * 16;
  t.line *= a.dilation_h;
  t.pixel = a.dilation_w * 16;
  t.row = c.row;
  t.rows = c.rows;
  t.col = c.col;
  t.cols = c.cols;
  return at;
}

void transform_plane(const WinogradArgs& a, const Chunk& c, int64_t plane, float* v) {
  const WinogradPlane& p = a.planes[plane];
  for (int64_t i = 0; i < c.images; i++) {
    WinogradTiles t = a.in;
    int64_t batch;
    const int64_t at = to_phase(a, c, i, &batch, t);
    t.x = a.parts[p.part] + batch * a.part_batch[p.part] + p.offset + at;
    t.points = v + (plane * c.count + i * c.rows * c.cols) * 16;
    t.step = c.v_step;
    a.input(t);
  }
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
  for (int64_t i = 0; i < c.images; i++) {
    WinogradTiles image = a.out;
    int64_t batch;
    const int64_t first = to_phase(a, c, i, &batch, image);
    for (int64_t b = 0; b < blocks; b++) {
      const int64_t at = (batch * a.out_blocks + block + b) * a.out.height * a.out.line + first;
      WinogradTiles t = image;
      t.y = a.y + at;
      t.points = m + (b * c.count + i * c.rows * c.cols) * 16;
      t.step = c.m_step;
      t.tail.bias = a.out.tail.bias + (block + b) * 16;
      t.tail.residual = a.out.tail.residual ? a.out.tail.residual + at : nullptr;
      a.output(t);
    }
  }
}

void winograd_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const WinogradArgs*>(args);
  if (!a.by_tiles) {
    run_jobs(rt, a.jobs(), a.parallel, [&](int64_t job, int64_t slot) {
      const Chunk c = chunk_of(a, job);
      float* v = a.scratch + slot * a.slot_floats;
      auto* runs = reinterpret_cast<ConvRun*>(v + a.v_floats);
      float* m = reinterpret_cast<float*>(runs) + a.run_floats;
      for (int64_t i = 0; i < a.n_planes; i++) transform_plane(a, c, i, v);
      for (int64_t t = 0; t < a.tiles; t++) multiply_tile(a, c, t, v, m, runs);
    });
    return;
  }
  for (int64_t job = 0; job < a.jobs(); job++) {
    const Chunk c = chunk_of(a, job);
    float* v = a.scratch;
    run_jobs(rt, a.n_planes, true, [&](int64_t i, int64_t) { transform_plane(a, c, i, v); });
    run_jobs(rt, a.tiles, true, [&](int64_t t, int64_t slot) {
      auto* runs = reinterpret_cast<ConvRun*>(v + a.v_floats + slot * a.slot_floats);
      multiply_tile(a, c, t, v, reinterpret_cast<float*>(runs) + a.run_floats, runs);
    });
  }
}

// A dilated convolution is one of each phase of the input: every d-th row and pixel.
ConvProblem phases_of(const ConvProblem& c) {
  ConvProblem q = c;
  for (Axis* a : {&q.w.h, &q.w.w}) {
    q.w.n *= a->dilation;
    a->in = (a->in + a->dilation - 1) / a->dilation;
    a->out = (a->out + a->dilation - 1) / a->dilation;
    a->begin /= a->dilation;
    a->dilation = 1;
  }
  return q;
}

int64_t points_of(const WinogradForm& f) { return static_cast<int64_t>(f.mh + f.kh - 1) * (f.mw + f.kw - 1); }

int64_t parts_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

// How tiles are grouped into chunks: `rows` x `cols` tiles of an image, or the tiles of `together` whole images.
struct Chunks {
  int64_t tile_rows, tile_cols, rows, cols, row_chunks, col_chunks, together, weights;
  int64_t of_image() const { return row_chunks * col_chunks; }
};

Chunks chunks_of(const ConvProblem& q, const WinogradForm& form) {
  constexpr int64_t kFewTiles = 12, kPartOfRow = 112;
  const int64_t points = points_of(form), planes = blocks_of(q.w.c);
  Chunks k{};
  k.weights = points * q.w.c * round_up(q.oc, kernels().conv_tile());
  k.tile_rows = parts_of(q.w.h.out, form.mh);
  k.tile_cols = k.cols = parts_of(q.w.w.out, form.mw);
  const int64_t tile_floats = points * planes * 16, row_floats = tile_floats * k.tile_cols, image_floats = row_floats * k.tile_rows;
  k.rows = std::min(k.tile_rows, std::max<int64_t>(1, kCacheFloats / row_floats));
  // Few tiles leave the register tile half empty and read all weights again for the next chunk.
  while (k.rows < k.tile_rows && k.rows * k.tile_cols < kFewTiles) k.rows++;
  const int64_t room = k.weights > kLargeWeights ? kSharedFloats : kCacheFloats;
  if (room == kSharedFloats && image_floats < room) k.rows = k.tile_rows;
  if (k.rows == 1 && row_floats > room) k.cols = std::min(k.tile_cols, std::max(kPartOfRow, room / tile_floats));
  k.row_chunks = parts_of(k.tile_rows, k.rows);
  k.rows = parts_of(k.tile_rows, k.row_chunks);
  k.row_chunks = parts_of(k.tile_rows, k.rows);
  k.col_chunks = parts_of(k.tile_cols, k.cols);
  k.cols = parts_of(k.tile_cols, k.col_chunks);
  k.col_chunks = parts_of(k.tile_cols, k.cols);
  k.together = k.of_image() > 1 ? 1 : std::min(q.w.n, std::max<int64_t>(1, room / image_floats));
  return k;
}

// The part of an axis' products whose input does not lie in the padding. Only far dilations leave the others out.
double part_inside(const Axis& a) {
  if (a.dilation == 1) return 1;
  int64_t count = 0;
  for (int64_t k = 0; k < a.kernel; k++)
    for (int64_t o = 0; o < a.out; o++) count += a.inside(o, k);
  return static_cast<double>(count) / static_cast<double>(a.kernel * a.out);
}

// Cycles that a form takes, roughly: products at the register tile's rate or weights at that of memory, and transforms.
double direct_cycles(const ConvProblem& c, double flops_per_cycle) {
  const double products = part_inside(c.w.h) * part_inside(c.w.w) * c.flops() / flops_per_cycle / 0.9 * static_cast<double>(round_up(c.oc, 16)) / static_cast<double>(c.oc);
  return std::max(products, static_cast<double>(c.w.c * round_up(c.oc, 16) * c.taps() * 4) / kBytesPerCycle);
}

double winograd_cycles(const ConvProblem& q, const WinogradForm& form, double flops_per_cycle) {
  constexpr double kTransform = 5;  // per point and block of 16 channels
  const Chunks k = chunks_of(q, form);
  const double images = static_cast<double>(q.w.n), channels = static_cast<double>(q.w.c), oc = static_cast<double>(round_up(q.oc, 16));
  const double tiles = static_cast<double>(k.tile_rows * k.tile_cols), points = static_cast<double>(points_of(form));
  // Register tiles of 4 pixels are the least that keep the FMAs busy.
  const double rows = std::max(tiles * images, 4.0);
  const double readings = k.weights > kL3Floats ? static_cast<double>((q.w.n + k.together - 1) / k.together * k.of_image()) : 1;
  const double product = std::max(rows * points * channels * oc * 2 / flops_per_cycle / 0.85, readings * points * channels * oc * 4 / kBytesPerCycle);
  return product + images * tiles * points * kTransform * (channels + oc) / 16 * 32 / flops_per_cycle / 8;
}

// The form that takes least, null for a direct convolution.
const WinogradForm* choose(const ConvProblem& c, const ConvProblem& q) {
  const double flops_per_cycle = kernels().conv_tile() == 32 ? 64 : kernels().conv_tile_pixels() == 6 ? 32 : 8;
  double least = direct_cycles(c, flops_per_cycle);
  const WinogradForm* best = nullptr;
  for (const WinogradForm& form : kWinogradForms) {
    if (form.kh != q.w.h.kernel || form.kw != q.w.w.kernel) continue;
    const double cycles = winograd_cycles(q, form, flops_per_cycle);
    if (cycles < least) best = &form, least = cycles;
  }
  return best;
}

bool takes(const Axis& a) { return a.stride == 1 && a.begin % a.dilation == 0; }

std::string name_of(const WinogradForm& f) {
  std::string name = "winograd";
  for (int n : {f.mh, f.kh, f.mw, f.kw}) name += std::to_string(n) + ":";
  return name;
}

}  // namespace

bool plan_winograd(PlanCtx& p, const ConvProblem& c, const ConvEnd& end) {
  if (c.group != 1 || c.shuffle != 1 || c.w.spatial > 2 || !takes(c.w.h) || !takes(c.w.w)) return false;
  if (!p.is_const(kW) || p.has(kPreScale) || !p.option("winograd", 1) || c.w.c < 8 || c.oc < 8) return false;
  const ConvProblem q = phases_of(c);
  const WinogradForm* form = choose(c, q);
  if (!form) return false;
  const int64_t tile = kernels().conv_tile(), tiles = (c.oc + tile - 1) / tile, points = points_of(*form);
  const auto u = p.pack(kW, name_of(*form) + std::to_string(tile), [&](const void* data) {
    auto buffer = lasting_buffer(static_cast<size_t>(tiles * points * c.w.c * tile) * sizeof(float));
    kernels().winograd_weights(static_cast<const float*>(data), static_cast<float*>(buffer->data), c.oc, c.w.c, *form);
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
  auto table = buffer_of(planes);
  const Packed bias = padded_vector(p, kB, c.oc, tiles * tile);

  WinogradArgs shape{};
  shape.n_planes = static_cast<int64_t>(planes.size());
  shape.run_floats = round_up((shape.n_planes + 1) * static_cast<int64_t>(sizeof(ConvRun) / sizeof(float)), 16);
  shape.channels = c.w.c;
  const Chunks k = chunks_of(q, *form);
  shape.images = q.w.n;
  shape.together = k.together;
  shape.dilation_h = c.w.h.dilation;
  shape.dilation_w = c.w.w.dilation;
  shape.oc = c.oc;
  shape.out_blocks = blocks_of(c.oc);
  shape.tiles = tiles;
  shape.tile = tile;
  shape.points = points;
  shape.in.form = shape.out.form = *form;
  shape.in.height = c.w.h.in;
  shape.in.width = c.w.w.in;
  shape.in.line = c.w.w.in * 16;
  shape.in.pad_top = q.w.h.begin;
  shape.in.pad_left = q.w.w.begin;
  shape.out.height = c.w.h.out;
  shape.out.width = c.w.w.out;
  shape.out.line = c.w.w.out * 16;
  shape.tile_rows = k.tile_rows;
  shape.tile_cols = k.tile_cols;
  shape.chunk_rows = k.rows;
  shape.chunk_cols = k.cols;
  shape.row_chunks = k.row_chunks;
  shape.col_chunks = k.col_chunks;
  shape.parallel = p.threads() > 1 && worth_parallel(0, c.flops());
  shape.by_tiles = shape.parallel && shape.jobs() < 2 * p.threads();
  const int64_t count = shape.together * k.rows * k.cols;
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
