// ConvTranspose: a 1x1 convolution per tap, then the sums of what the taps bring to each output.
#include <algorithm>
#include <iterator>

#include "kernels/isa.h"
#include "ops/conv_direct.h"
#include "ops/jobs.h"
#include "ops/table.h"

namespace sx {
namespace {

constexpr int64_t kChunkFloats = 48 * 1024;  // of products that stay in L2 (192 KB)


// Output size and pads of one axis, pads as ConvTranspose counts them (they crop the output).
void transposed_axis(Axis& a, int64_t extra, int64_t wanted, const std::string& mode) {
  const int64_t full = a.stride * (a.in - 1) + extra + a.reach() + 1;
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (wanted < 0 && same) wanted = a.in * a.stride;
  if (wanted >= 0) {
    const int64_t total = full - wanted, half = total >= 0 ? total / 2 : -((-total + 1) / 2);
    a.begin = mode == "SAME_UPPER" ? half : total - half;
    a.end = total - a.begin;
    a.out = wanted;
    return;
  }
  if (mode == "VALID") a.begin = a.end = 0;
  a.out = full - a.begin - a.end;
  if (a.in == 0) a.out = std::max<int64_t>(a.out, 0);
  if (a.out < 0) throw OpError("pads crop more than the " + std::to_string(full) + " elements that the transposed windows reach");
}

template <typename Context>
ConvProblem transposed_problem(Context& c) {
  const Shape &x = c.shape(kX), &weights = c.shape(kW);
  const Attributes& attrs = c.op.attrs;
  if (x.rank < 3 || x.rank > 4 || weights.rank != x.rank) throw OpError("weights " + weights.str() + " do not fit an input " + x.str());
  ConvProblem p;
  p.group = attrs.get("group", 1);
  p.oc = weights[1] * p.group;
  p.w.n = x[0];
  p.w.c = x[1];
  p.w.spatial = x.rank - 2;
  if (p.group < 1 || weights[0] != x[1] || x[1] % p.group)
    throw OpError("an input " + x.str() + " and weights " + weights.str() + " do not fit group " + std::to_string(p.group));
  if (c.has(kB) && (c.shape(kB).rank != 1 || c.shape(kB)[0] != p.oc)) throw OpError("the bias must have shape [" + std::to_string(p.oc) + "], not " + c.shape(kB).str());
  const size_t n = static_cast<size_t>(p.w.spatial);
  check_auto_pad(attrs.gets("auto_pad", "NOTSET"));
  check_kernel_shape(attrs, weights.d + 2, n);
  const auto strides = attrs.list("strides"), dilations = attrs.list("dilations"), pads = attrs.list("pads"), extra = attrs.list("output_padding");
  auto wanted = attrs.list("output_shape");
  if (wanted.size() == n + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  const std::vector<int64_t>* const lists[] = {&strides, &dilations, &extra, &wanted};
  for (const auto* list : lists)
    if (!list->empty() && list->size() != n) throw OpError("strides, dilations, output_padding and output_shape take one value per spatial axis");
  if (!pads.empty() && pads.size() != 2 * n) throw OpError("pads take two values per spatial axis");
  for (size_t i = 0; i < n; i++) {
    Axis& a = p.w.axis(static_cast<int>(i));
    a.in = x[2 + static_cast<int>(i)];
    a.kernel = weights[2 + static_cast<int>(i)];
    a.stride = strides.empty() ? 1 : strides[i];
    a.dilation = dilations.empty() ? 1 : dilations[i];
    if (!pads.empty()) {
      a.begin = pads[i];
      a.end = pads[i + n];
    }
    if (a.stride < 1 || a.dilation < 1 || a.begin < 0 || a.end < 0 || (!extra.empty() && extra[i] < 0))
      throw OpError("strides and dilations must be positive, pads and output_padding not negative");
    if (std::max({a.begin, a.end, extra.empty() ? 0 : extra[i], times(a.in, a.stride), times(a.kernel, a.dilation)}) > kMost)
      throw OpError("the windows, pads and output_padding reach further than memory");
    transposed_axis(a, extra.empty() ? 0 : extra[i], wanted.empty() ? -1 : wanted[i], attrs.gets("auto_pad", "NOTSET"));
  }
  return p;
}

void infer_transposed(InferCtx& c) {
  const ConvProblem p = transposed_problem(c);
  c.output(0, shape_out(p.w, p.oc));
}

// Weights [C][oc / group][taps] to `taps` packed 1x1 convolutions; `matrix` has room for one, [oc][C / group].
struct PackTaps {
  const float* w;
  float *matrix, *out;
  const FlatMap* map;
  int64_t oc, channels, group, taps, tile, floats;
};

void pack_taps(const PackTaps& p) {
  const int64_t in = p.channels / p.group, out = p.oc / p.group;
  for (int64_t t = 0; t < p.taps; t++) {
    for (int64_t o = 0; o < p.oc; o++)
      for (int64_t c = 0; c < in; c++) p.matrix[o * in + c] = p.w[((o / out * in + c) * out + o % out) * p.taps + t];
    const PackConv job{p.matrix, p.out + t * p.floats, p.oc, in, out, 1, 1, p.tile, false, p.channels, 1, in, 1, 0, 1, 1};
    for (int64_t b = 0; b < p.map->n_bands; b++) pack_direct(job, *p.map, b);
  }
}
void pack_step(const void* args, Runtime&) { pack_taps(*static_cast<const PackTaps*>(args)); }

struct TransposedArgs {
  const float *x, *w;
  const float* zeros;  // a bias for the products
  const FlatMap* map;
  float *products, *runs;
  Transposed t;
  int64_t images, blocks, oc, planes, taps, tiles, tile, floats, pixels, out_height, run_floats;
  int64_t chunk, chunks;    // input rows of a chunk where windows do not overlap: what it makes of them stays in cache
  int64_t room;             // floats of products per slot then, or of all
  decltype(Kernels::conv_rows) conv_rows;
  decltype(Kernels::transposed_rows) rows;
  bool parallel;
};

// The products of a tap with pixels [first, first + count), to `out`: [blocks][count][16].
void products(const TransposedArgs& a, int64_t image, int64_t tap, int64_t first, int64_t count, float* out, ConvRun* runs) {
  ConvRows c{};
  c.kh = c.kw = c.rows = 1;
  c.cols = count;
  c.pixel = 16;
  c.y_row = c.y_plane = count * 16;
  for (int64_t b = 0; b < a.map->n_bands; b++) {
    const BandEntry& band = a.map->bands()[b];
    c.n_runs = 0;
    for (int64_t r = band.run; r < band.run_end; r++) {
      const RunEntry& e = a.map->runs()[r];
      runs[c.n_runs++] = {a.x + ((image * a.planes + e.plane) * a.pixels + first) * 16 + e.lane, e.len};
    }
    runs[c.n_runs] = runs[0];
    c.runs = runs;
    c.w = a.w + tap * a.floats + band.w;
    c.tile_floats = band.tile_floats;
    const int64_t block = band.tile * a.tile / 16;
    c.y = out + block * c.y_plane;
    c.channels = a.oc - block * 16;
    c.tail.bias = a.zeros + band.tile * a.tile;
    a.conv_rows(c, 0, band.tile_end - band.tile);
  }
}

// Output rows [r0, r1) of a block, from products of `count` pixels of which the first is pixel `first`.
void sum_rows(const TransposedArgs& a, int64_t image, int64_t block, const float* products, int64_t first, int64_t count, int64_t r0, int64_t r1) {
  Transposed t = a.t;
  t.products = products + (block * count - first) * 16;
  t.tap = a.blocks * count * 16;
  t.y += (image * a.blocks + block) * a.out_height * t.out_width * 16;
  t.tail.bias += block * 16;
  a.rows(t, r0, r1);
}

void transposed_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const TransposedArgs*>(args);
  auto runs = [&a](int64_t slot) { return reinterpret_cast<ConvRun*>(a.runs + slot * a.run_floats); };
  if (a.chunk > 0) {
    run_jobs(rt, a.images * a.chunks, a.parallel, [&](int64_t job, int64_t slot) {
      const int64_t image = job / a.chunks, h0 = job % a.chunks * a.chunk, h1 = std::min(h0 + a.chunk, a.t.height);
      const int64_t first = h0 * a.t.width, count = (h1 - h0) * a.t.width;
      float* made = a.products + slot * a.room;
      for (int64_t tap = 0; tap < a.taps; tap++) products(a, image, tap, first, count, made + tap * a.blocks * count * 16, runs(slot));
      const int64_t r0 = h0 == 0 ? 0 : h0 * a.t.stride_h - a.t.pad_top, r1 = h1 == a.t.height ? a.out_height : h1 * a.t.stride_h - a.t.pad_top;
      for (int64_t b = 0; b < a.blocks; b++) sum_rows(a, image, b, made, first, count, std::max<int64_t>(r0, 0), std::min(r1, a.out_height));
    });
    return;
  }
  run_jobs(rt, a.images * a.taps, a.parallel, [&](int64_t job, int64_t slot) {
    products(a, job / a.taps, job % a.taps, 0, a.pixels, a.products + job * a.blocks * a.pixels * 16, runs(slot));
  });
  const int64_t parts = a.parallel ? std::min<int64_t>(a.out_height, 4 * rt.threads) : 1;
  run_jobs(rt, a.images * a.blocks * parts, a.parallel, [&](int64_t job, int64_t) {
    const int64_t part = job % parts, block = job / parts % a.blocks, image = job / parts / a.blocks;
    sum_rows(a, image, block, a.products + image * a.taps * a.blocks * a.pixels * 16, 0, a.pixels, a.out_height * part / parts, a.out_height * (part + 1) / parts);
  });
}

void plan_transposed(PlanCtx& p) {
  const ConvProblem c = transposed_problem(p);
  if (p.out_shape(0).size() == 0) return;
  const int64_t tile = kernels().conv_tile(), tiles = (c.oc + tile - 1) / tile, taps = c.taps();
  ConvProblem one = c;
  one.w.h = Axis{c.w.h.in, 1, 1, 1, 0, 0, c.w.h.in};
  one.w.w = Axis{c.w.w.in, 1, 1, 1, 0, 0, c.w.w.in};
  const ConvMap map = map_direct(one, {c.w.c}, false, tile);
  const auto flat = flatten(map);
  const size_t matrix_bytes = static_cast<size_t>(c.oc * c.group_in()) * sizeof(float), bytes = static_cast<size_t>(taps * map.floats) * sizeof(float);
  const PackTaps pack{nullptr, nullptr, nullptr, nullptr, c.oc, c.w.c, c.group, taps, tile, map.floats};
  Packed weights;
  if (p.is_const(kW)) {
    weights.buffer = p.pack(kW, "transposed:" + std::to_string(tile) + ":" + std::to_string(c.group), [&](const void* data) {
      auto buffer = lasting_buffer(bytes);
      Buffer matrix(matrix_bytes);
      PackTaps job = pack;
      job.w = static_cast<const float*>(data);
      job.matrix = static_cast<float*>(matrix.data);
      job.out = static_cast<float*>(buffer->data);
      job.map = static_cast<const FlatMap*>(flat->data);
      pack_taps(job);
      return buffer;
    });
  } else {
    weights.scratch = p.scratch(bytes);
    const size_t matrix = p.scratch(matrix_bytes);
    auto* s = p.emit<PackTaps>(pack_step);
    *s = pack;
    p.bind_in(s->w, kW);
    p.bind_scratch(s->matrix, matrix);
    p.bind_scratch(s->out, weights.scratch);
    p.bind_packed(s->map, flat);
  }
  const Packed bias = padded_vector(p, kB, c.oc, tiles * tile);
  auto zeros = std::make_shared<Buffer>(static_cast<size_t>(tiles * tile) * sizeof(float));
  std::memset(zeros->data, 0, zeros->bytes);
  const Place x = blocked_input(p, kX), out = blocked_output(p, 0);
  TransposedArgs shape{};
  shape.images = c.w.n;
  shape.blocks = blocks_of(c.oc);
  shape.oc = c.oc;
  shape.planes = blocks_of(c.w.c);
  shape.taps = taps;
  shape.tiles = tiles;
  shape.tile = tile;
  shape.floats = map.floats;
  shape.pixels = c.w.pixels_in();
  shape.out_height = c.w.h.out;
  shape.parallel = p.threads() > 1 && worth_parallel(0, 2.0 * static_cast<double>(c.w.n * shape.pixels * taps * c.oc * c.group_in()));
  int64_t longest = 0;
  for (const BandEntry& b : map.bands) longest = std::max(longest, b.run_end - b.run);
  shape.run_floats = round_up((longest + 1) * static_cast<int64_t>(sizeof(ConvRun) / sizeof(float)), 16);
  set_windows(shape.t, c.w);
  shape.t.tail = conv_tail(p.op.attrs);
  shape.conv_rows = kernels().conv_rows;
  shape.rows = kernels().transposed_rows;
  const int64_t row_floats = taps * shape.blocks * c.w.w.in * 16, slots = shape.parallel ? p.threads() : 1;
  if (c.w.h.dilation == 1 && c.w.h.kernel <= c.w.h.stride) {
    shape.chunk = std::min(c.w.h.in, std::max<int64_t>(1, kChunkFloats / row_floats));
    if (shape.parallel) shape.chunk = std::min(shape.chunk, (c.w.h.in + 4 * slots - 1) / (4 * slots));
    shape.chunks = (c.w.h.in + shape.chunk - 1) / shape.chunk;
  }
  shape.room = shape.chunk > 0 ? shape.chunk * row_floats : c.w.n * c.w.h.in * row_floats;
  const size_t room = p.scratch(static_cast<size_t>(shape.room * (shape.chunk > 0 ? slots : 1)) * sizeof(float));
  const size_t runs = p.scratch(static_cast<size_t>(shape.run_floats * p.threads()) * sizeof(float));
  auto* a = p.emit<TransposedArgs>(transposed_step);
  *a = shape;
  x.bind(p, a->x);
  weights.bind(p, a->w);
  p.bind_packed(a->zeros, zeros);
  p.bind_packed(a->map, flat);
  p.bind_scratch(a->products, room);
  p.bind_scratch(a->runs, runs);
  bias.bind(p, a->t.tail.bias);
  out.bind(p, a->t.y);
  finish_output(p, 0, out);
}

const OpDef kTable[] = {{"ConvTranspose", infer_transposed, plan_transposed, nullptr}};

}  // namespace

OpFamily conv_transpose_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
