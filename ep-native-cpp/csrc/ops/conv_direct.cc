// Direct convolution: chunks of output rows whose inputs stay in L2, output tiles inside.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/conv_direct.h"
#include "ops/jobs.h"

namespace sx {
namespace {

constexpr int64_t kCacheFloats = 512 * 1024;  // of input that a chunk keeps in L3 (2 MB)
constexpr int64_t kStagedFloats = 96 * 1024;  // of staged input, in L2 (384 KB)
constexpr int64_t kPatchFloats = 128;         // a plain input's patches are gathered up to this size
constexpr int64_t kPlainChannels = 8;        // inputs of fewer channels are read as they lie in plain layout

struct DirectArgs {
  const float* parts[kMaxParts];
  int64_t part_batch[kMaxParts];  // floats per batch
  const FlatMap* map;
  const float* w;
  const float *pre_scale, *pre_shift;  // padded to blocks
  Act pre_act;
  float* y;
  float* scratch;
  int64_t slot_floats, staged_floats;  // per slot: staged planes, then the runs
  ConvTail tail;
  int64_t n, height, width, unit, depth;  // input; unit: floats per pixel
  Axis d, h, wd;
  bool flat;    // 1x1 without stride: pixels in one row
  bool staged;
  bool compact;  // staged: only the pixels that a strided 1x1 reads, in one row
  int64_t patch;  // floats of a gathered patch, 0 where none are; staged then
  int64_t oc, out_width, out_blocks, out_pixels;  // per depth slice: out_width x rows
  int64_t chunk, chunks, splits, tiles, tile;
  const char* next;
  bool parallel;
  decltype(Kernels::conv_rows) conv_rows;
  decltype(Kernels::stage_plane) stage_plane;
  decltype(Kernels::stage_patches) stage_patches;
};

// Floats from patch to patch: room for the up to 7 floats that the last segment writes too much.
int64_t patch_pitch(const DirectArgs& a) { return a.patch == 0 ? 0 : round_up(a.patch + (a.wd.kernel > 4 ? 8 : 4) - a.wd.kernel, 4); }

// Gathers the patches of output rows [first, first + count) of a batch into `out`.
void gather(const DirectArgs& a, int64_t n, int64_t first, int64_t count, float* out) {
  StagePatches s{};
  s.x = a.parts[0] + n * a.part_batch[0];
  s.channels = a.patch / (a.h.kernel * a.wd.kernel);
  s.height = a.height;
  s.width = a.width;
  s.kh = a.h.kernel;
  s.kw = a.wd.kernel;
  s.stride_h = a.h.stride;
  s.stride_w = a.wd.stride;
  s.dilation_h = a.h.dilation;
  s.pad_top = a.h.begin;
  s.pad_left = a.wd.begin;
  s.r0 = first;
  s.rows = count;
  s.cols = a.out_width;
  s.pitch = patch_pitch(a);
  s.out = out;
  a.stage_patches(s);
}

// Where plane `e` of batch n at output depth `od` begins, or null if it lies in the padding.
const float* plane_at(const DirectArgs& a, const PlaneEntry& e, int64_t n, int64_t od) {
  const int64_t d = od * a.d.stride - a.d.begin + e.tap_d * a.d.dilation;
  if (d < 0 || d >= a.d.in) return nullptr;
  return a.parts[e.part] + n * a.part_batch[e.part] + e.offset + d * a.height * a.width * a.unit;
}

void direct_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const DirectArgs*>(args);
  const FlatMap& map = *a.map;
  const int64_t jobs = a.n * a.d.out * a.chunks * a.splits;
  run_jobs(rt, jobs, a.parallel, [&](int64_t job, int64_t slot) {
    const int64_t split = job % a.splits, chunk = job / a.splits % a.chunks, image = job / a.splits / a.chunks;
    const int64_t n = image / a.d.out, od = image % a.d.out;
    const int64_t first = chunk * a.chunk, count = std::min(a.chunk, (a.flat ? a.out_width : a.h.out) - first);
    float* staged = a.scratch + slot * a.slot_floats;
    auto* runs = reinterpret_cast<ConvRun*>(staged + a.staged_floats);
    ConvRows c{};
    c.kh = a.h.kernel;
    c.kw = a.unit == 1 ? 1 : a.wd.kernel;
    c.pixel = a.wd.stride * a.unit;
    c.y_row = a.out_width * 16;
    c.y_plane = a.out_pixels * a.d.out * 16;
    c.tail = a.tail;
    c.next = split + 1 == a.splits ? a.next : nullptr;
    c.step_w = a.wd.dilation * a.unit;
    int64_t at = 0;  // of the first output's input in a plane
    int64_t width = a.width;
    const int64_t reach = (a.out_width - 1) * a.wd.stride + a.wd.reach() + 1;
    const int64_t staged_plane = a.compact ? count * a.out_width * 16 : ((count - 1) * a.h.stride + a.h.reach() + 1) * reach * a.unit;
    if (a.flat) {
      c.rows = 1;
      c.cols = count;
      at = first * 16;
    } else if (a.patch) {
      gather(a, n, first, count, staged);
      c.kh = c.kw = c.rows = 1;
      c.cols = count * a.out_width;
      c.pixel = patch_pitch(a);
    } else {
      c.rows = count;
      c.cols = a.out_width;
      at = first * a.h.stride * a.width * a.unit;
      if (a.staged) {
        StagePlane s{};
        s.height = a.height;
        s.width = a.width;
        s.unit = a.unit;
        s.r0 = first * a.h.stride - a.h.begin;
        s.rows = a.compact ? count : (count - 1) * a.h.stride + a.h.reach() + 1;
        s.step_h = a.compact ? a.h.stride : 1;
        s.step_w = a.compact ? a.wd.stride : 1;
        s.left = a.wd.begin;
        s.right = reach - a.wd.begin - a.width;
        s.act = a.pre_act;
        for (int64_t i = 0; i < map.n_planes; i++) {
          s.x = plane_at(a, map.planes()[i], n, od);
          s.out = staged + i * staged_plane;
          s.scale = a.pre_scale ? a.pre_scale + i * 16 : nullptr;
          s.shift = a.pre_shift ? a.pre_shift + i * 16 : nullptr;
          a.stage_plane(s);
        }
        at = 0;
        width = reach;
        if (a.compact) {
          c.pixel = a.unit;
          c.rows = 1;
          c.cols = count * a.out_width;
        }
      }
    }
    c.step_h = a.h.dilation * width * a.unit;
    c.row = a.h.stride * width * a.unit;
    const int64_t t0 = a.tiles * split / a.splits, t1 = a.tiles * (split + 1) / a.splits;
    for (int64_t b = 0; b < map.n_bands; b++) {
      const BandEntry& band = map.bands()[b];
      const int64_t from = std::max(t0, band.tile), to = std::min(t1, band.tile_end);
      if (from >= to) continue;
      int64_t live = 0;
      if (a.patch) runs[live++] = {staged, a.patch};
      for (int64_t r = band.run; r < band.run_end && !a.patch; r++) {
        const RunEntry& e = map.runs()[r];
        const float* x = a.staged ? staged + e.plane * staged_plane : plane_at(a, map.planes()[e.plane], n, od);
        runs[live++] = {x + e.lane + at, e.len};
      }
      const int64_t block = from * a.tile / 16;
      runs[live] = runs[0];
      c.runs = runs;
      c.n_runs = live;
      c.w = a.w + band.w + (from - band.tile) * band.tile_floats;
      c.tile_floats = band.tile_floats;
      const int64_t out = (n * a.out_blocks + block) * c.y_plane + od * a.out_pixels * 16 + (a.flat ? first * 16 : first * c.y_row);
      c.y = a.y + out;
      c.channels = a.oc - block * 16;
      c.tail.bias = a.tail.bias + from * a.tile;
      c.tail.residual = a.tail.residual ? a.tail.residual + out : nullptr;
      a.conv_rows(c, 0, to - from);
    }
  });
}

// Chunks of rows (or, flat, of pixels), and splits of the output tiles.
void cut(DirectArgs* a, const ConvProblem& c, int64_t planes, int64_t weights, int threads) {
  const int64_t whole = a->flat ? a->out_width : a->h.out;
  const int64_t pitch = a->compact ? a->out_width : a->staged ? (a->out_width - 1) * a->wd.stride + a->wd.reach() + 1 : a->width;
  const int64_t stride = a->compact ? 1 : a->h.stride, patches = a->out_width * patch_pitch(*a);
  const int64_t per_unit = a->patch ? patches : a->flat ? planes * 16 : planes * stride * pitch * a->unit;  // input floats for one more row (pixel)
  const int64_t halo = a->flat || a->patch ? 0 : planes * std::max<int64_t>(0, a->h.reach() + 1 - stride) * pitch * a->unit;
  auto input = [&](int64_t chunk) { return chunk * per_unit + halo; };
  // Either all tiles read an input that lies in L3, or all chunks read the weights again.
  int64_t chunk = std::max<int64_t>(1, ((a->staged ? kStagedFloats : kCacheFloats) - halo) / std::max<int64_t>(per_unit, 1));
  if (chunk < whole) {
    const int64_t chunks = (whole + chunk - 1) / chunk;
    if (input(whole) * a->tiles < weights * chunks) chunk = whole;
  }
  // The rows that a chunk shares with the one before are staged again: little against its products.
  const double cycles = c.flops() / static_cast<double>(c.w.n * c.w.d.out * whole) / 32;
  if (a->staged) chunk = std::max(chunk, static_cast<int64_t>(8.0 * static_cast<double>(halo) / std::max(cycles, 1.0)));
  chunk = std::min(chunk, whole);
  int64_t chunks = (whole + chunk - 1) / chunk;
  a->splits = 1;
  a->parallel = threads > 1 && worth_parallel(0, c.flops());
  const int64_t images = c.w.n * c.w.d.out;
  if (a->parallel && images * chunks < 4 * threads) {
    const int64_t wanted = (4 * threads + images - 1) / images;
    if (weights > input(whole)) {
      a->splits = std::min(a->tiles, (wanted + chunks - 1) / chunks);
    } else {
      chunks = std::min(whole, wanted);
      // Too few rows, as a single one has: output channels as well, but each split stages all of its input again.
      const int64_t parts = a->staged ? threads : (wanted + chunks - 1) / chunks;
      if (images * chunks < threads) a->splits = std::min(a->tiles, parts);
    }
  }
  chunk = (whole + chunks - 1) / chunks;
  const int64_t pixels = kernels().conv_tile_pixels();
  if (a->flat && chunk < whole) chunk = (chunk + pixels - 1) / pixels * pixels;
  a->chunk = chunk;
  a->chunks = (whole + chunk - 1) / chunk;
  a->staged_floats = a->patch ? round_up(chunk * patches + 8, 16) : a->staged ? round_up(planes * ((chunk - 1) * stride + a->h.reach() + 1) * pitch * a->unit, 16) : 0;
}

}  // namespace

void plan_direct(PlanCtx& p, const ConvProblem& whole, const ConvEnd& end) {
  ConvProblem c = whole;
  const int64_t tile = kernels().conv_tile();
  const bool plain = p.layout(kX) == Layout::plain && c.w.c <= kPlainChannels && c.parts == 1 && c.w.w.dilation == 1 && !p.has(kPreScale);
  const DirectWeights weights = direct_weights(p, c, plain);
  const ConvMap& map = weights.map;
  std::vector<Place> parts;
  for (int i = 0; i < c.parts; i++) parts.push_back(plain ? Place{Place::input, kX} : blocked_input(p, part_input(i)));
  const int64_t tiles = (c.oc + tile - 1) / tile;
  const Packed bias = padded_vector(p, kB, c.oc, tiles * tile);
  const bool pre = p.has(kPreScale);
  Packed pre_scale, pre_shift;
  if (pre) pre_scale = padded_vector(p, kPreScale, c.w.c, round_up(c.w.c, kBlock));
  if (p.has(kPreShift)) pre_shift = padded_vector(p, kPreShift, c.w.c, round_up(c.w.c, kBlock));

  DirectArgs shape{};
  shape.unit = plain ? 1 : kBlock;
  shape.flat = !plain && !pre && c.taps() == 1 && c.w.h.stride == 1 && c.w.w.stride == 1 && !c.w.h.padded() && !c.w.w.padded() && c.w.d.out == c.w.d.in && !c.w.d.padded();
  shape.d = c.w.d;
  shape.h = c.w.h;
  shape.wd = c.w.w;
  shape.n = c.w.n;
  shape.height = c.w.h.in;
  shape.width = c.w.w.in;
  shape.out_width = c.w.w.out;
  shape.out_pixels = c.w.h.out * c.w.w.out;
  if (shape.flat) {
    shape.d = Axis{};
    shape.height = 1;
    shape.width = shape.out_width = c.w.pixels_out();
    shape.out_pixels = shape.out_width;
  }
  shape.compact = !plain && c.taps() == 1 && c.w.w.stride > 1 && !c.w.h.padded() && !c.w.w.padded() && !c.w.d.padded();
  if (plain && c.group == 1 && c.w.spatial <= 2 && c.w.c * c.taps() <= kPatchFloats && c.w.w.kernel <= 8) shape.patch = c.w.c * c.taps();
  shape.staged = shape.compact || shape.patch || (!shape.flat && (pre || c.w.h.padded() || c.w.w.padded() || c.w.d.padded()));
  shape.oc = c.oc;
  shape.out_blocks = blocks_of(c.oc);
  shape.tiles = tiles;
  shape.tile = tile;
  cut(&shape, c, static_cast<int64_t>(map.planes.size()), map.floats, p.threads());
  int64_t longest = 0;
  for (const BandEntry& b : map.bands) longest = std::max(longest, b.run_end - b.run);
  shape.slot_floats = shape.staged_floats + round_up((longest + 1) * static_cast<int64_t>(sizeof(ConvRun) / sizeof(float)), 16);
  const size_t scratch = p.scratch(static_cast<size_t>(shape.slot_floats * (shape.parallel ? p.threads() : 1)) * sizeof(float));

  auto* a = p.emit<DirectArgs>(direct_step);
  *a = shape;
  for (int i = 0; i < c.parts; i++) {
    const int64_t channels = p.shape(part_input(i))[1];
    a->part_batch[i] = (plain ? channels : round_up(channels, kBlock)) * c.w.pixels_in();
    parts[i].bind(p, a->parts[i]);
  }
  a->conv_rows = kernels().conv_rows;
  a->stage_plane = kernels().stage_plane;
  a->stage_patches = kernels().stage_patches;
  p.bind_packed(a->map, weights.flat);
  weights.packed.bind(p, a->w);
  if (pre) pre_scale.bind(p, a->pre_scale);
  if (p.has(kPreShift)) pre_shift.bind(p, a->pre_shift);
  a->pre_act = static_cast<Act>(p.op.attrs.get("pre_activation", 0));
  p.bind_scratch(a->scratch, scratch);
  p.bind_next_weights(a->next);
  a->tail = end.tail;
  bias.bind(p, a->tail.bias);
  end.residual.bind(p, a->tail.residual);
  end.out.bind(p, a->y);
}

}  // namespace sx
