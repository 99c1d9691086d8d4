// Attention and RotaryEmbedding.
#include <algorithm>
#include <cmath>

#include "kernels/isa.h"
#include "ops/table.h"

namespace sx {
namespace {

// Where head h of batch b starts and how far its rows are apart, for [B, S, H * d] and [B, H, S, d].
struct Heads {
  int64_t batch = 0, heads = 0, length = 0, size = 0;
  int64_t of_batch = 0, of_row = 0, of_head = 0;
};

Heads heads_of(const Shape& s, int64_t count, const char* what) {
  Heads h;
  if (s.rank == 4) {
    h = {s[0], s[1], s[2], s[3], s[1] * s[2] * s[3], s[3], s[2] * s[3]};
  } else if (s.rank == 3) {
    if (count <= 0 || s[2] % count != 0) throw OpError(std::string(what) + " " + s.str() + " cannot be cut into " + std::to_string(count) + " heads");
    h = {s[0], count, s[1], s[2] / count, s[1] * s[2], s[2], s[2] / count};
  } else {
    throw OpError(std::string(what) + " must have rank 3 or 4, it has shape " + s.str());
  }
  return h;
}

struct Sizes {
  Heads q, k, v;
  int64_t past = 0, keys = 0;
  bool packed = false;
};

template <typename Ctx>
Sizes sizes_of(Ctx& c) {
  Sizes s;
  const auto& attrs = c.op.attrs;
  s.packed = c.shape(0).rank == 3;
  s.q = heads_of(c.shape(0), attrs.get("q_num_heads", 0), "Q");
  s.k = heads_of(c.shape(1), attrs.get("kv_num_heads", 0), "K");
  s.v = heads_of(c.shape(2), attrs.get("kv_num_heads", 0), "V");
  if (s.q.batch != s.k.batch || s.k.batch != s.v.batch || s.k.heads != s.v.heads || s.k.length != s.v.length || s.q.size != s.k.size)
    throw OpError("Q " + c.shape(0).str() + ", K " + c.shape(1).str() + " and V " + c.shape(2).str() + " do not fit together");
  if (s.k.heads == 0 || s.q.heads % s.k.heads != 0)
    throw OpError(std::to_string(s.q.heads) + " query heads are no multiple of " + std::to_string(s.k.heads) + " key heads");
  if (c.has(4)) {
    const Shape& p = c.shape(4);
    if (p.rank != 4 || p[0] != s.k.batch || p[1] != s.k.heads || p[3] != s.k.size || c.shape(5).rank != 4 || c.shape(5)[2] != p[2])
      throw OpError("past_key " + p.str() + " does not fit K " + c.shape(1).str());
    s.past = p[2];
  }
  s.keys = s.past + s.k.length;
  return s;
}

void infer_attention(InferCtx& c) {
  const Sizes s = sizes_of(c);
  Shape y;
  y.push(s.q.batch);
  if (s.packed) {
    y.push(s.q.length);
    y.push(s.q.heads * s.v.size);
  } else {
    y.push(s.q.heads);
    y.push(s.q.length);
    y.push(s.v.size);
  }
  c.output(0, y);
  for (int i = 0; i < 2; i++) {
    Shape p;
    p.push(s.k.batch);
    p.push(s.k.heads);
    p.push(s.keys);
    p.push(i ? s.v.size : s.k.size);
    c.output(1 + i, p);
  }
}

// present[b, h] = past[b, h] then the new rows of head h.
struct AppendArgs {
  const float* past;
  const float* fresh;
  float* present;
  Heads h;
  int64_t past_rows;
};
void append_step(const void* args, Runtime&) {
  auto& a = *static_cast<const AppendArgs*>(args);
  const int64_t rows = a.past_rows + a.h.length, d = a.h.size;
  for (int64_t b = 0; b < a.h.batch; b++)
    for (int64_t h = 0; h < a.h.heads; h++) {
      float* to = a.present + (b * a.h.heads + h) * rows * d;
      if (a.past_rows) std::memcpy(to, a.past + (b * a.h.heads + h) * a.past_rows * d, static_cast<size_t>(a.past_rows * d) * sizeof(float));
      to += a.past_rows * d;
      const float* from = a.fresh + b * a.h.of_batch + h * a.h.of_head;
      for (int64_t s = 0; s < a.h.length; s++) std::memcpy(to + s * d, from + s * a.h.of_row, static_cast<size_t>(d) * sizeof(float));
    }
}

struct AttentionArgs {
  const float* q;
  const float* k;
  const float* v;
  const void* mask;
  float* o;
  float* packed;
  float* scores;
  Heads qh, kh, vh, oh;
  int64_t runs, packed_floats, scores_floats;
  int64_t mask_b, mask_h;
  int32_t mask_is_bool;
  AttentionHead head;
  decltype(Kernels::attention) attention;
  decltype(Kernels::attention_pack) pack;
};

void attention_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const AttentionArgs*>(args);
  const int64_t heads = a.qh.batch * a.qh.heads, group = a.qh.heads / a.kh.heads;
  const bool pack = a.head.s > kernels().attention_few_rows();
  auto run = [&](int64_t r) {
    AttentionHead h = a.head;
    h.packed = a.packed + r * a.packed_floats;
    h.scores = a.scores + r * a.scores_floats;
    int64_t last_key = -1;
    for (int64_t n = heads * r / a.runs; n < heads * (r + 1) / a.runs; n++) {
      const int64_t b = n / a.qh.heads, qi = n % a.qh.heads, ki = qi / group;
      h.q = a.q + b * a.qh.of_batch + qi * a.qh.of_head;
      h.k = a.k + b * a.kh.of_batch + ki * a.kh.of_head;
      h.v = a.v + b * a.vh.of_batch + ki * a.vh.of_head;
      h.o = a.o + b * a.oh.of_batch + qi * a.oh.of_head;
      const int64_t mask_at = b * a.mask_b + qi * a.mask_h;
      if (a.mask && a.mask_is_bool)
        h.keep = static_cast<const uint8_t*>(a.mask) + mask_at;
      else if (a.mask)
        h.mask = static_cast<const float*>(a.mask) + mask_at;
      if (pack && b * a.kh.heads + ki != last_key) {
        a.pack(h);
        last_key = b * a.kh.heads + ki;
      }
      a.attention(h, 0, h.s);
    }
  };
  if (a.runs == 1)
    run(0);
  else
    rt.pool->parallel(a.runs, run);
}

size_t append(PlanCtx& p, const Heads& h, size_t fresh, size_t past, size_t present, int64_t past_rows) {
  const bool out = p.has_out(present);
  const size_t scratch = out ? 0 : p.scratch(static_cast<size_t>(h.batch * h.heads * (past_rows + h.length) * h.size) * sizeof(float));
  auto* a = p.emit<AppendArgs>(append_step);
  a->h = h;
  a->past_rows = past_rows;
  if (past_rows) p.bind_in(a->past, past);
  p.bind_in(a->fresh, fresh);
  if (out)
    p.bind_out(a->present, present);
  else
    p.bind_scratch(a->present, scratch);
  return scratch;
}

void plan_attention(PlanCtx& p) {
  const Sizes s = sizes_of(p);
  const auto& attrs = p.op.attrs;
  const bool cached = p.has(4) || p.has_out(1) || p.has_out(2);
  size_t k_scratch = 0, v_scratch = 0;
  if (cached) {
    k_scratch = append(p, s.k, 1, 4, 1, s.past);
    v_scratch = append(p, s.v, 2, 5, 2, s.past);
  }
  auto cache = [&](const Heads& h) { return Heads{h.batch, h.heads, s.keys, h.size, h.heads * s.keys * h.size, h.size, s.keys * h.size}; };
  const int64_t heads = s.q.batch * s.q.heads;
  const double flops = 2.0 * heads * s.q.length * s.keys * (s.q.size + s.v.size);
  const int64_t runs = p.threads() == 1 || flops < 1.5e6 ? 1 : std::max<int64_t>(1, std::min<int64_t>(heads, 4 * p.threads()));
  const int64_t packed_floats = round_up(kernels().attention_packed_size(s.keys, s.q.size, s.v.size), 16), scores_floats = round_up(kernels().attention_scores_size(s.keys, s.q.size, s.v.size), 16);
  const size_t packed = p.scratch(static_cast<size_t>(runs * packed_floats) * sizeof(float));
  const size_t scores = p.scratch(static_cast<size_t>(runs * scores_floats) * sizeof(float));
  auto* a = p.emit<AttentionArgs>(attention_step);
  a->qh = s.q;
  a->kh = cached ? cache(s.k) : s.k;
  a->vh = cached ? cache(s.v) : s.v;
  a->oh = s.packed ? Heads{s.q.batch, s.q.heads, s.q.length, s.v.size, s.q.length * s.q.heads * s.v.size, s.q.heads * s.v.size, s.v.size}
                   : Heads{s.q.batch, s.q.heads, s.q.length, s.v.size, s.q.heads * s.q.length * s.v.size, s.v.size, s.q.length * s.v.size};
  a->runs = runs;
  a->packed_floats = packed_floats;
  a->scores_floats = scores_floats;
  AttentionHead& h = a->head;
  h.q_s = a->qh.of_row;
  h.k_s = a->kh.of_row;
  h.v_s = a->vh.of_row;
  h.o_s = a->oh.of_row;
  h.s = s.q.length;
  h.t = s.keys;
  h.d = s.q.size;
  h.dv = s.v.size;
  h.scale = attrs.has("scale") ? static_cast<float>(attrs.getf("scale", 1)) : 1.0f / std::sqrt(static_cast<float>(std::max<int64_t>(1, s.q.size)));
  h.softcap = 0;
  h.causal = attrs.get("is_causal", 0) ? s.past : -1;
  if (p.has(3)) {
    const Shape& m = p.shape(3);
    if (m.rank > 4) throw OpError("the mask " + m.str() + " has more than 4 dimensions");
    int64_t dims[4] = {1, 1, 1, 1}, strides[4];
    for (int i = 0; i < m.rank; i++) dims[4 - m.rank + i] = m[i];
    int64_t stride = 1;
    for (int i = 3; i >= 0; i--) {
      strides[i] = dims[i] == 1 ? 0 : stride;
      stride *= dims[i];
    }
    const int64_t want[3] = {s.q.batch, s.q.heads, s.q.length};
    for (int i = 0; i < 3; i++)
      if (dims[i] != 1 && dims[i] != want[i]) throw OpError("the mask " + m.str() + " does not fit scores [" + std::to_string(want[0]) + ", " + std::to_string(want[1]) + ", " + std::to_string(want[2]) + ", " + std::to_string(s.keys) + "]");
    if (dims[3] > s.keys) throw OpError("the mask " + m.str() + " speaks of more keys than there are: " + std::to_string(s.keys));
    a->mask_b = strides[0];
    a->mask_h = strides[1];
    h.mask_s = strides[2];
    h.mask_t = strides[3];
    h.mask_cols = dims[3] == 1 ? s.keys : dims[3];
    a->mask_is_bool = p.dtype(3) == DType::boolean;
  }
  a->attention = kernels().attention;
  a->pack = kernels().attention_pack;
  if (p.has(3)) p.bind_in(a->mask, 3);
  p.bind_in(a->q, 0);
  if (!cached) {
    p.bind_in(a->k, 1);
    p.bind_in(a->v, 2);
  } else {
    if (p.has_out(1))
      p.bind_out(a->k, 1);
    else
      p.bind_scratch(a->k, k_scratch);
    if (p.has_out(2))
      p.bind_out(a->v, 2);
    else
      p.bind_scratch(a->v, v_scratch);
  }
  p.bind_out(a->o, 0);
  p.bind_scratch(a->packed, packed);
  p.bind_scratch(a->scores, scores);
}

void infer_rotary(InferCtx& c) { c.output(0, c.shape(0)); }

struct RotaryStep {
  Rotary r;
  int64_t tokens;
  decltype(Kernels::rotary) rotary;
};
void rotary_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const RotaryStep*>(args);
  if (a.r.position)
    for (int64_t i = 0; i < a.tokens; i++)
      if (a.r.position[i] < 0 || a.r.position[i] >= a.r.max_position)
        return rt.fail("position %lld is outside the %lld rows of the cos and sin caches", static_cast<long long>(a.r.position[i]), static_cast<long long>(a.r.max_position));
  a.rotary(a.r, 0, a.tokens);
}

void plan_rotary(PlanCtx& p) {
  const Heads h = heads_of(p.shape(0), p.op.attrs.get("num_heads", 0), "X");
  const Shape& cos = p.shape(1);
  int64_t r = p.op.attrs.get("rotary_embedding_dim", 0);
  if (r == 0) r = h.size;
  const bool by_position = p.has(3);
  if (cos != p.shape(2) || cos.rank != (by_position ? 2 : 3) || cos[cos.rank - 1] != r / 2 || r > h.size || (!by_position && (cos[0] != h.batch || cos[1] != h.length)))
    throw OpError("the cos and sin caches " + cos.str() + " and " + p.shape(2).str() + " do not fit X " + p.shape(0).str());
  auto* a = p.emit<RotaryStep>(rotary_step);
  a->tokens = h.batch * h.length;
  a->rotary = kernels().rotary;
  Rotary& o = a->r;
  o.b = h.batch;
  o.s = h.length;
  o.h = h.heads;
  o.d = h.size;
  o.r = r;
  o.x_b = o.y_b = h.of_batch;
  o.x_s = o.y_s = h.of_row;
  o.x_h = o.y_h = h.of_head;
  o.max_position = by_position ? cos[0] : 0;
  o.interleaved = p.op.attrs.get("interleaved", 0) != 0;
  p.bind_in(o.x, 0);
  p.bind_in(o.cos, 1);
  p.bind_in(o.sin, 2);
  if (by_position) p.bind_in(o.position, 3);
  p.bind_out(o.y, 0);
}

const OpDef kTable[] = {
    {"Attention", infer_attention, plan_attention, nullptr},
    {"RotaryEmbedding", infer_rotary, plan_rotary, nullptr},
};

}  // namespace

OpFamily attention_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
