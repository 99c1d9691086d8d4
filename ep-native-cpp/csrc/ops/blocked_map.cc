// BlockMap: act(a op b) of blocked tensors, with ONNX's broadcasting; BlockNorm: normalisation over the channels.
#include <algorithm>
#include <iterator>

#include "kernels/isa.h"
#include "ops/conv.h"
#include "ops/jobs.h"
#include "ops/table.h"

namespace sx {
namespace {

Shape with_rank(const Shape& s, int rank) {
  Shape out;
  for (int i = s.rank; i < rank; i++) out.push(1);
  for (int i = 0; i < s.rank; i++) out.push(s[i]);
  return out;
}

void infer_map(InferCtx& c) {
  const bool affine = static_cast<MapOp>(c.op.attrs.get("map", 0)) == MapOp::affine;
  c.output(0, c.has(1) && !affine ? broadcast(c.shape(0), c.shape(1)) : c.shape(0));
}

// out[N, C, pixels] blocked from a smaller tensor, element by element: for broadcasts that have no faster way.
struct ExpandArgs {
  const float* x;
  float* y;
  int64_t dims[4], strides[4];  // N, C, H, W of the output; strides of x (plain), 0 where it has size 1
  bool blocked;                 // x is blocked, strides[1] and lanes by 16
  int64_t lane;                 // blocked: stride of a channel inside its block (1, or 0 if it has one channel)
};

void expand_step(const void* args, Runtime&) {
  auto& a = *static_cast<const ExpandArgs*>(args);
  float* y = a.y;
  for (int64_t n = 0; n < a.dims[0]; n++)
    for (int64_t b = 0; b < blocks_of(a.dims[1]); b++)
      for (int64_t h = 0; h < a.dims[2]; h++)
        for (int64_t w = 0; w < a.dims[3]; w++)
          for (int64_t l = 0; l < kBlock; l++, y++) {
            const int64_t c = std::min(b * kBlock + l, a.dims[1] - 1);
            const int64_t channel = a.blocked ? c / kBlock * a.strides[1] + c % kBlock * a.lane : c * a.strides[1];
            *y = a.x[n * a.strides[0] + channel + h * a.strides[2] + w * a.strides[3]];
          }
}

// [N, C, H, W] of a tensor of rank 3 to 5 (depth and height joined, which broadcasting must not tell apart).
void four_dims(const Shape& s, int64_t* d) {
  d[0] = s[0];
  d[1] = s[1];
  d[3] = s[s.rank - 1];
  d[2] = s.size(2, s.rank - 1);
}

Place expanded(PlanCtx& p, const Tensor& t, const Shape& out) {
  const Shape s = with_rank(t.shape, out.rank);
  if (s == out) return blocked(p, t);
  if (out.rank == 5 && s[2] != out[2] && s[3] == out[3]) throw OpError("this broadcast over depth is not supported");
  const size_t scratch = p.scratch(static_cast<size_t>(storage_size(out, Layout::blocked)) * sizeof(float));
  auto* a = p.emit<ExpandArgs>(expand_step);
  *a = {};
  four_dims(out, a->dims);
  int64_t from[4], stride = 1;
  four_dims(s, from);
  a->blocked = t.layout == Layout::blocked;
  if (a->blocked) stride = kBlock;
  for (int k = 3; k >= 0; k--) {
    a->strides[k] = from[k] == 1 ? 0 : stride;
    stride *= k == 1 && a->blocked ? blocks_of(from[k]) : from[k];
  }
  a->lane = from[1] == 1 ? 0 : 1;
  t.at.bind(p, a->x);
  p.bind_scratch(a->y, scratch);
  return {Place::scratch, scratch};
}

struct MapArgs {
  PlaneMap m;
  int64_t planes, blocks, chunks;
  int64_t b_plane, b_block, b_image;  // floats of b per plane, per block, per image
  decltype(Kernels::map_plane) run;
  bool parallel;
};

void map_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const MapArgs*>(args);
  run_jobs(rt, a.planes * a.chunks, a.parallel, [&a](int64_t job, int64_t) {
    const int64_t plane = job / a.chunks, chunk = job % a.chunks, block = plane % a.blocks, pixels = a.m.n / 16;
    const int64_t from = pixels * chunk / a.chunks * 16, to = pixels * (chunk + 1) / a.chunks * 16;
    PlaneMap m = a.m;
    m.x += plane * a.m.n + from;
    m.y += plane * a.m.n + from;
    m.n = to - from;
    if (m.b) m.b += plane * a.b_plane + block * a.b_block + plane / a.blocks * a.b_image + (m.operand == MapOperand::same || m.operand == MapOperand::pixel ? from : 0);
    if (m.c) m.c += block * 16;
    a.run(m);
  });
}

MapOp reversed(MapOp op) {
  switch (op) {
    case MapOp::sub: return MapOp::rsub;
    case MapOp::rsub: return MapOp::sub;
    case MapOp::div: return MapOp::rdiv;
    case MapOp::rdiv: return MapOp::div;
    default: return op;
  }
}

void emit(PlanCtx& p, MapArgs shape, const Place& x, const Place& b, const Packed* vector, const Packed* shift, const Place& y) {
  shape.run = kernels().map_plane;
  shape.parallel = p.threads() > 1 && worth_parallel(shape.planes * shape.m.n * 8);
  shape.chunks = shape.parallel && shape.planes < 4 * p.threads() ? std::min<int64_t>(shape.m.n / kBlock, 4 * p.threads()) : 1;
  auto* a = p.emit<MapArgs>(map_step);
  *a = shape;
  x.bind(p, a->m.x);
  if (vector)
    vector->bind(p, a->m.b);
  else
    b.bind(p, a->m.b);
  if (shift) shift->bind(p, a->m.c);
  y.bind(p, a->m.y);
}

MapArgs map_args(const Attributes& attrs, const Shape& out) {
  MapArgs a{};
  a.m.act = static_cast<Act>(attrs.get("activation", 0));
  a.m.alpha = static_cast<float>(attrs.getf("act_alpha", 0));
  a.m.beta = static_cast<float>(attrs.getf("act_beta", 0));
  a.blocks = blocks_of(out[1]);
  a.planes = out[0] * a.blocks;
  a.m.n = out.size(2, out.rank) * kBlock;
  return a;
}

void emit_binary(PlanCtx& p, MapArgs a, Tensor x, Tensor t, const Place& y, const Shape& out) {
  if (x.shape != out && t.shape == out) {
    std::swap(x, t);
    a.m.op = reversed(a.m.op);
  }
  const int64_t pixels = a.m.n / kBlock;
  const Place full = expanded(p, x, out);
  const Shape s = with_rank(t.shape, out.rank);
  const bool plain = t.layout == Layout::plain;
  if (s.size() == 1 && plain) {
    a.m.operand = MapOperand::scalar;
    emit(p, a, full, t.at, nullptr, nullptr, y);
  } else if (s[0] == 1 && s[1] == out[1] && s.size() == out[1] && plain && t.at.kind == Place::input) {
    const Packed vector = padded_vector(p, t.at.index, out[1], a.blocks * kBlock);
    a.m.operand = MapOperand::lanes;
    a.b_block = kBlock;
    emit(p, a, full, {}, &vector, nullptr, y);
  } else if (s[0] == out[0] && s[1] == out[1] && s.size(2, s.rank) == 1) {
    a.m.operand = MapOperand::lanes;
    a.b_plane = kBlock;
    const Place b = blocked(p, t);
    emit(p, a, full, b, nullptr, nullptr, y);
  } else if (s[0] == out[0] && s[1] == 1 && s.size(2, s.rank) == pixels && !plain) {
    a.m.operand = MapOperand::pixel;
    a.b_image = a.m.n;
    emit(p, a, full, t.at, nullptr, nullptr, y);
  } else {
    a.m.operand = MapOperand::same;
    a.b_plane = a.m.n;
    const Place b = expanded(p, t, out);
    emit(p, a, full, b, nullptr, nullptr, y);
  }
}

// Inputs: a, and b of the binary `map`; or x, scale [C] and shift [C] of an affine one.
void plan_map(PlanCtx& p) {
  const Shape& out = p.out_shape(0);
  if (out.size() == 0) return;
  const auto op = static_cast<MapOp>(p.op.attrs.get("map", 0));
  MapArgs a = map_args(p.op.attrs, out);
  a.m.op = op;
  const Tensor x = input_tensor(p, 0);
  const bool in_place = x.layout == Layout::blocked && p.out_layout(0) == Layout::blocked && x.shape == out && p.reuse(0, 0);
  const Place y = in_place ? Place{Place::output, 0} : blocked_output(p, 0);
  if (op == MapOp::none) {
    const Place from = blocked(p, x);
    emit(p, a, from, {}, nullptr, nullptr, y);
  } else if (op == MapOp::affine) {
    const Packed scale = padded_vector(p, 1, out[1], a.blocks * kBlock), shift = padded_vector(p, 2, out[1], a.blocks * kBlock);
    const Place from = blocked(p, x);
    a.m.operand = MapOperand::lanes;
    a.b_block = kBlock;
    emit(p, a, from, {}, &scale, &shift, y);
  } else {
    emit_binary(p, a, x, input_tensor(p, 1), y, out);
  }
  finish_output(p, 0, y);
}

struct NormArgs {
  NormPixels n;
  int64_t images, pixels, chunks;
  decltype(Kernels::norm_pixels) run;
  bool parallel;
};

void norm_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const NormArgs*>(args);
  run_jobs(rt, a.images * a.chunks, a.parallel, [&a](int64_t job, int64_t) {
    const int64_t image = job / a.chunks, chunk = job % a.chunks, floats = blocks_of(a.n.channels) * a.n.plane;
    NormPixels n = a.n;
    n.x += image * floats;
    n.y += image * floats;
    a.run(n, a.pixels * chunk / a.chunks, a.pixels * (chunk + 1) / a.chunks);
  });
}

void infer_norm(InferCtx& c) { c.output(0, c.shape(0)); }

// Inputs: x [N, C, ...], scale [C], shift [C] or absent.
void plan_norm(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  if (p.shape(1).size() != s[1] || (p.has(2) && p.shape(2).size() != s[1])) throw OpError("scale and bias must hold one number per channel of " + s.str());
  const int64_t padded = blocks_of(s[1]) * kBlock;
  const Packed scale = padded_vector(p, 1, s[1], padded), shift = padded_vector(p, 2, s[1], padded);
  const Place x = blocked_input(p, 0), y = blocked_output(p, 0);
  auto* a = p.emit<NormArgs>(norm_step);
  *a = {};
  a->n.channels = s[1];
  a->pixels = s.size(2, s.rank);
  a->n.plane = a->pixels * kBlock;
  a->n.epsilon = static_cast<float>(p.op.attrs.getf("epsilon", 1e-5));
  a->images = s[0];
  a->run = kernels().norm_pixels;
  a->parallel = p.threads() > 1 && worth_parallel(s.size() * 8);
  a->chunks = a->parallel ? std::min<int64_t>(a->pixels, 4 * p.threads()) : 1;
  x.bind(p, a->n.x);
  y.bind(p, a->n.y);
  scale.bind(p, a->n.scale);
  shift.bind(p, a->n.shift);
  finish_output(p, 0, y);
}

const OpDef kTable[] = {{"BlockMap", infer_map, plan_map, nullptr}, {"BlockNorm", infer_norm, plan_norm, nullptr}};

}  // namespace

Shape broadcast(const Shape& a, const Shape& b) {
  Shape out;
  const int rank = std::max(a.rank, b.rank);
  for (int i = 0; i < rank; i++) {
    const int ia = i - (rank - a.rank), ib = i - (rank - b.rank);
    const int64_t x = ia >= 0 ? a[ia] : 1, y = ib >= 0 ? b[ib] : 1;
    if (x != y && x != 1 && y != 1) throw OpError("shapes do not broadcast: " + a.str() + " and " + b.str());
    out.push(x == 1 ? y : x);
  }
  return out;
}

void emit_map(PlanCtx& p, const Tensor& a, const Tensor& b, MapOp op, Act act, float alpha, float beta, const Place& y, const Shape& out) {
  MapArgs args = map_args({}, out);
  args.m.op = op;
  args.m.act = act;
  args.m.alpha = alpha;
  args.m.beta = beta;
  emit_binary(p, args, a, b, y, out);
}

OpFamily block_map_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
