// ConvInteger and QLinearConv: exact convolutions of 8-bit tensors by direct loops.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/conv_shape.h"
#include "ops/copy.h"
#include "ops/movement.h"
#include "ops/quantized.h"

namespace sx {
namespace {

struct ConvArgs {
  const uint8_t *x, *w, *x_zero, *w_zero;  // zero points may be null
  const int32_t* bias;                     // may be null
  const float *x_scale, *w_scale, *y_scale;  // of QLinearConv
  const uint8_t* y_zero;
  int32_t* total;  // ConvInteger: the output; QLinearConv: one plane of working memory per chunk
  uint8_t* y;      // null for ConvInteger
  Windows g;
  int64_t m, per_group;  // output channels; input channels per group
  int64_t chunks;
  int32_t x_signed, w_signed, w_zeros, w_scales, y_scales, y_zeros;  // the last four: 1 if per output channel
  QType type;
  decltype(Kernels::requantize) requantize;
};

int32_t number(const uint8_t* p, bool is_signed, int64_t i) { return is_signed ? static_cast<int32_t>(reinterpret_cast<const int8_t*>(p)[i]) : static_cast<int32_t>(p[i]); }

// Adds weight * (x - zero) of one tap to a row of outputs.
template <typename X>
void add_tap(const X* x, uint32_t* out, const Axis& a, int64_t offset, int32_t weight, int32_t zero) {
  const int64_t first = offset >= 0 ? 0 : (-offset + a.stride - 1) / a.stride;
  const int64_t last = a.in - 1 - offset < 0 ? 0 : std::min(a.out, (a.in - 1 - offset) / a.stride + 1);
  const X* from = x + offset;
  if (a.stride == 1)
    for (int64_t i = first; i < last; i++) out[i] += static_cast<uint32_t>(weight * (static_cast<int32_t>(from[i]) - zero));
  else
    for (int64_t i = first; i < last; i++) out[i] += static_cast<uint32_t>(weight * (static_cast<int32_t>(from[i * a.stride]) - zero));
}

// One output plane: of image n and output channel m.
template <typename X>
void plane(const ConvArgs& a, int64_t n, int64_t m, uint32_t* out) {
  const Windows& g = a.g;
  std::fill(out, out + g.pixels_out(), 0u);
  const int32_t x_zero = a.x_zero ? number(a.x_zero, a.x_signed, 0) : 0, w_zero = a.w_zero ? number(a.w_zero, a.w_signed, a.w_zeros ? m : 0) : 0;
  const int64_t groups = g.c / a.per_group, group = m / (a.m / groups);
  const X* x = reinterpret_cast<const X*>(a.x) + (n * g.c + group * a.per_group) * g.pixels_in();
  int64_t tap = m * a.per_group * g.d.kernel * g.h.kernel * g.w.kernel;
  for (int64_t c = 0; c < a.per_group; c++, x += g.pixels_in())
    for (int64_t kd = 0; kd < g.d.kernel; kd++)
      for (int64_t kh = 0; kh < g.h.kernel; kh++)
        for (int64_t kw = 0; kw < g.w.kernel; kw++, tap++) {
          const int32_t weight = number(a.w, a.w_signed, tap) - w_zero;
          if (weight == 0) continue;
          for (int64_t d = 0; d < g.d.out; d++) {
            const int64_t z = d * g.d.stride + kd * g.d.dilation - g.d.begin;
            if (z < 0 || z >= g.d.in) continue;
            for (int64_t h = 0; h < g.h.out; h++) {
              const int64_t y = h * g.h.stride + kh * g.h.dilation - g.h.begin;
              if (y < 0 || y >= g.h.in) continue;
              add_tap(x + (z * g.h.in + y) * g.w.in, out + (d * g.h.out + h) * g.w.out, g.w, kw * g.w.dilation - g.w.begin, weight, x_zero);
            }
          }
        }
}

void conv_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ConvArgs*>(args);
  const int64_t planes = a.g.n * a.m, pixels = a.g.pixels_out();
  auto part = [&](int64_t chunk) {
    for (int64_t i = planes * chunk / a.chunks; i < planes * (chunk + 1) / a.chunks; i++) {
      const int64_t m = i % a.m;
      int32_t* out = a.total + (a.y ? chunk : i) * pixels;
      if (a.x_signed)
        plane<int8_t>(a, i / a.m, m, reinterpret_cast<uint32_t*>(out));
      else
        plane<uint8_t>(a, i / a.m, m, reinterpret_cast<uint32_t*>(out));
      if (!a.y) continue;
      if (a.bias)
        for (int64_t k = 0; k < pixels; k++) out[k] = static_cast<int32_t>(static_cast<uint32_t>(out[k]) + static_cast<uint32_t>(a.bias[m]));
      const float multiplier = a.x_scale[0] * a.w_scale[a.w_scales ? m : 0] / a.y_scale[a.y_scales ? m : 0];
      a.requantize({out, a.y + i * pixels, pixels, multiplier, number(a.y_zero, a.type == QType::i8, a.y_zeros ? m : 0), a.type});
    }
  };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

Windows windows(const Attributes& attrs, const Shape& x, const Shape& w) {
  const int64_t group = attrs.get("group", 1);
  if (x.rank != w.rank || x.rank < 3 || group < 1 || w[1] * group != x[1] || w[0] % group != 0)
    throw OpError("weights " + w.str() + " in " + std::to_string(group) + " groups do not fit the input " + x.str());
  return windows_of(attrs, x, w.d + 2, false);
}

void per_channel(PlanCtx& p, size_t i, int64_t m, int32_t* per) {
  const int64_t n = p.shape(i).size();
  if (n != 1 && n != m) throw OpError("input " + std::to_string(i) + " must hold one number or one per output channel, not shape " + p.shape(i).str());
  *per = n != 1;
}

ConvArgs* emit_conv(PlanCtx& p, size_t x, size_t w, size_t x_zero, size_t w_zero, const size_t* scratch, int64_t chunks) {
  auto* a = p.emit<ConvArgs>(conv_step);
  a->g = windows(p.op.attrs, p.shape(x), p.shape(w));
  a->m = p.shape(w)[0];
  a->per_group = p.shape(w)[1];
  a->chunks = chunks;
  a->x_signed = p.dtype(x) == DType::i8;
  a->w_signed = p.dtype(w) == DType::i8;
  p.bind_in(a->x, x);
  p.bind_in(a->w, w);
  if (p.has(x_zero)) {
    if (p.shape(x_zero).size() != 1) throw OpError("x_zero_point must be a scalar, not of shape " + p.shape(x_zero).str());
    p.bind_in(a->x_zero, x_zero);
  }
  if (p.has(w_zero)) {
    per_channel(p, w_zero, a->m, &a->w_zeros);
    p.bind_in(a->w_zero, w_zero);
  }
  if (scratch)
    p.bind_scratch(a->total, *scratch);
  else
    p.bind_out(a->total, 0);
  return a;
}

int64_t chunks_of(PlanCtx& p, size_t w) {
  const Shape &out = p.out_shape(0), &weights = p.shape(w);
  const int64_t work = out.size() * weights.size(1, weights.rank);
  return p.threads() == 1 || work < 200000 ? 1 : std::min<int64_t>(out[0] * out[1], 4 * p.threads());
}

void infer_conv_integer(InferCtx& c) { c.output(0, shape_out(windows(c.op.attrs, c.shape(0), c.shape(1)), c.shape(1)[0])); }

void plan_conv_integer(PlanCtx& p) {
  if (p.out_shape(0).size() > 0) emit_conv(p, 0, 1, 2, 3, nullptr, chunks_of(p, 1));
}

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias.
void infer_qlinear_conv(InferCtx& c) { c.output(0, shape_out(windows(c.op.attrs, c.shape(0), c.shape(3)), c.shape(3)[0])); }

void plan_qlinear_conv(PlanCtx& p) {
  const Shape& out = p.out_shape(0);
  if (out.size() == 0) return;
  const int64_t chunks = chunks_of(p, 3), m = p.shape(3)[0];
  const size_t scratch = p.scratch(static_cast<size_t>(chunks * out.size(2, out.rank)) * sizeof(int32_t));
  auto* a = emit_conv(p, 0, 3, 2, 5, &scratch, chunks);
  per_channel(p, 4, m, &a->w_scales);
  per_channel(p, 6, m, &a->y_scales);
  per_channel(p, 7, m, &a->y_zeros);
  if (p.shape(1).size() != 1) throw OpError("x_scale must be a scalar, not of shape " + p.shape(1).str());
  if (p.has(8) && p.shape(8).size() != m) throw OpError("the bias of shape " + p.shape(8).str() + " does not fit " + std::to_string(m) + " output channels");
  a->type = qtype_of(p.out_dtype(0));
  a->requantize = kernels().requantize;
  p.bind_in(a->x_scale, 1);
  p.bind_in(a->w_scale, 4);
  p.bind_in(a->y_scale, 6);
  p.bind_in(a->y_zero, 7);
  if (p.has(8)) p.bind_in(a->bias, 8);
  p.bind_out(a->y, 0);
}

const OpDef kTable[] = {
    {"ConvInteger", infer_conv_integer, plan_conv_integer, nullptr},
    {"QLinearConv", infer_qlinear_conv, plan_qlinear_conv, nullptr},
};

}  // namespace

OpFamily integer_conv_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
