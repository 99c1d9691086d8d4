// ConvInteger and QLinearConv: exact convolutions of 8-bit tensors, as products of the weights with unfolded pixels.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/conv_shape.h"
#include "ops/integer_pack.h"
#include "ops/jobs.h"
#include "ops/movement.h"
#include "ops/quantized.h"

namespace sx {
namespace {

struct ConvArgs {
  const uint8_t *x, *x_zero;  // the zero point may be null
  const int16_t* w;           // packed: [m] rows of 2 * pairs_of(k)
  const int32_t* bias;        // may be null
  const float *x_scale, *w_scale, *y_scale;  // of QLinearConv
  const uint8_t* y_zero;
  int32_t* total;  // the output of ConvInteger; else working memory of `total_size` per slot
  uint8_t* y;      // null for ConvInteger
  int16_t* pixels;  // per slot: packed pixels, then two rows of them
  Windows g;
  int64_t m, per_group;  // output channels of a group; input channels of a group
  int64_t groups, k, run, runs, total_size, pixel_size;
  int32_t x_signed, w_scales, y_scales, y_zeros;  // the last three: 1 if per output channel
  int32_t parallel;
  QType type;
  decltype(Kernels::requantize) requantize;
};

int32_t number(const uint8_t* p, bool is_signed, int64_t i) { return is_signed ? static_cast<int32_t>(reinterpret_cast<const int8_t*>(p)[i]) : static_cast<int32_t>(p[i]); }

// What one tap of one input channel reads for output pixels [first, first + n), less the zero point; 0 in the padding.
void tap_row(const ConvArgs& a, const uint8_t* channel, int64_t kd, int64_t kh, int64_t kw, int64_t first, int64_t n, int32_t zero, int16_t* out) {
  const Windows& g = a.g;
  const int64_t offset = kw * g.w.dilation - g.w.begin;
  // Output columns whose tap lies in the input.
  const int64_t low = offset >= 0 ? 0 : (-offset + g.w.stride - 1) / g.w.stride;
  const int64_t high = g.w.in - 1 - offset < 0 ? 0 : std::min(g.w.out, (g.w.in - 1 - offset) / g.w.stride + 1);
  while (n > 0) {
    const int64_t line = first / g.w.out, from = first % g.w.out, to = std::min(g.w.out, from + n);
    const int64_t y = line % g.h.out * g.h.stride + kh * g.h.dilation - g.h.begin, z = line / g.h.out * g.d.stride + kd * g.d.dilation - g.d.begin;
    const bool inside = y >= 0 && y < g.h.in && z >= 0 && z < g.d.in;
    const int64_t begin = inside ? std::min(std::max(low, from), to) : to, end = inside ? std::max(begin, std::min(high, to)) : to;
    std::fill(out, out + (begin - from), int16_t(0));
    if (end > begin) kernels().shift_row(channel + (z * g.h.in + y) * g.w.in + begin * g.w.stride + offset, a.x_signed, g.w.stride, end - begin, zero, out + (begin - from));
    std::fill(out + (end - from), out + (to - from), int16_t(0));
    out += to - from;
    first += to - from;
    n -= to - from;
  }
}

// Pixels [first, first + n) of a group's input, unfolded and packed in panels.
void unfold(const ConvArgs& a, const uint8_t* group, int64_t first, int64_t n, int32_t zero, int16_t* out) {
  const int64_t panel = kernels().integer_panel(), pairs = pairs_of(a.k), stride = pairs * panel * 2;
  int16_t* rows[2] = {out + panels_of(a.run, panel) * stride, out + panels_of(a.run, panel) * stride + a.run};
  const Windows& g = a.g;
  const int64_t taps = g.d.kernel * g.h.kernel * g.w.kernel;
  for (int64_t k = 0; k < 2 * pairs; k++) {
    int16_t* row = rows[k % 2];
    if (k < a.k) {
      const int64_t tap = k % taps;
      tap_row(a, group + k / taps * g.pixels_in(), tap / (g.h.kernel * g.w.kernel), tap / g.w.kernel % g.h.kernel, tap % g.w.kernel, first, n, zero, row);
    } else {
      std::fill(row, row + n, int16_t(0));
    }
    if (k % 2 == 1) kernels().interleave_pair(rows[0], rows[1], n, out + k / 2 * panel * 2, stride);
  }
}

void conv_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ConvArgs*>(args);
  const int64_t pixels = a.g.pixels_out(), panel = kernels().integer_panel();
  run_jobs(rt, a.g.n * a.groups * a.runs, a.parallel, [&](int64_t job, int64_t slot) {
    const int64_t run = job % a.runs, group = job / a.runs % a.groups, n = job / a.runs / a.groups;
    const int64_t first = run * a.run, count = std::min(a.run, pixels - first), channel = (n * a.groups + group) * a.m;
    int16_t* packed = a.pixels + slot * a.pixel_size;
    unfold(a, a.x + (n * a.groups + group) * a.per_group * a.g.pixels_in(), first, count, a.x_zero ? number(a.x_zero, a.x_signed, 0) : 0, packed);
    IntegerGemm g{};
    g.lda = 2 * pairs_of(a.k);
    g.pairs = pairs_of(a.k);
    g.a = a.w + group * a.m * g.lda;
    g.b = packed;
    g.n = count;
    g.ldc = a.y ? a.run : pixels;
    g.c = a.y ? a.total + slot * a.total_size : a.total + channel * pixels + first;
    kernels().integer_gemm(g, 0, a.m, 0, panels_of(count, panel));
    for (int64_t m = 0; a.y && m < a.m; m++) {
      int32_t* total = g.c + m * a.run;
      const int64_t c = group * a.m + m;
      if (a.bias)
        for (int64_t i = 0; i < count; i++) total[i] = static_cast<int32_t>(static_cast<uint32_t>(total[i]) + static_cast<uint32_t>(a.bias[c]));
      const float multiplier = a.x_scale[0] * a.w_scale[a.w_scales ? c : 0] / a.y_scale[a.y_scales ? c : 0];
      a.requantize({total, a.y + (channel + m) * pixels + first, count, multiplier, number(a.y_zero, a.type == QType::i8, a.y_zeros ? c : 0), a.type});
    }
  });
}

// Weights [m, k] less their zero points, packed while running where they are no constants.
struct WeightArgs {
  const uint8_t* w;
  ZeroPoints zero;
  int16_t* to;
  int64_t m, k;
  int32_t is_signed;
};

void weights_step(const void* args, Runtime&) {
  auto& a = *static_cast<const WeightArgs*>(args);
  pack_rows(kernels(), a.w, a.is_signed, a.k, 1, a.k, a.zero, 0, a.m, a.to);
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

// The convolution, with room for totals where they are no output.
ConvArgs* emit_conv(PlanCtx& p, size_t x, size_t w, size_t x_zero, size_t w_zero, bool integer) {
  const Windows g = windows(p.op.attrs, p.shape(x), p.shape(w));
  const Shape& weights = p.shape(w);
  const int64_t all = weights[0], k = weights.size(1, weights.rank), groups = p.op.attrs.get("group", 1), m = all / groups;
  ZeroPoints zero{};
  if (p.has(w_zero)) {
    per_channel(p, w_zero, all, &zero.per_line);
    zero.is_signed = p.dtype(w_zero) == DType::i8;
  }
  const bool is_signed = p.dtype(w) == DType::i8, constant = p.is_const(w) && (!p.has(w_zero) || (p.is_const(w_zero) && p.shape(w_zero).size() <= 1024));
  const size_t bytes = static_cast<size_t>(all * 2 * pairs_of(k)) * sizeof(int16_t);
  std::shared_ptr<Buffer> packed;
  size_t scratch = 0;
  if (constant) {
    std::string key = "rows16:";
    if (p.has(w_zero)) {
      zero.data = static_cast<const uint8_t*>(p.const_data(w_zero));
      for (int64_t v : p.ints(w_zero)) key += std::to_string(v) + ",";
    }
    packed = p.pack(w, key, [&](const void* data) {
      auto buffer = lasting_buffer(bytes);
      pack_rows(kernels(), static_cast<const uint8_t*>(data), is_signed, k, 1, k, zero, 0, all, static_cast<int16_t*>(buffer->data));
      return buffer;
    });
  } else {
    scratch = p.scratch(bytes);
    auto* a = p.emit<WeightArgs>(weights_step);
    a->zero = zero;
    a->m = all;
    a->k = k;
    a->is_signed = is_signed;
    p.bind_in(a->w, w);
    if (p.has(w_zero)) p.bind_in(a->zero.data, w_zero);
    p.bind_scratch(a->to, scratch);
  }
  // Runs of pixels whose unfolded form stays in L2.
  const int64_t panel = kernels().integer_panel(), pairs = pairs_of(k), pixels = g.pixels_out();
  const int64_t panels = std::min(panels_of(pixels, panel), std::max<int64_t>(1, 65536 / (pairs * panel)));
  const int64_t run = panels * panel, runs = (pixels + run - 1) / run, slots = p.threads();
  const int64_t pixel_size = round_up(panels * pairs * panel * 2 + 2 * run, 64), total_size = integer ? 0 : m * run;
  const size_t unfolded = p.scratch(static_cast<size_t>(slots * pixel_size) * sizeof(int16_t));
  const size_t totals = integer ? 0 : p.scratch(static_cast<size_t>(slots * total_size) * sizeof(int32_t));
  auto* a = p.emit<ConvArgs>(conv_step);
  a->g = g;
  a->m = m;
  a->per_group = weights[1];
  a->groups = groups;
  a->k = k;
  a->run = run;
  a->runs = runs;
  a->total_size = total_size;
  a->pixel_size = pixel_size;
  a->x_signed = p.dtype(x) == DType::i8;
  a->parallel = g.n * all * pixels * k > 1000000;
  p.bind_in(a->x, x);
  if (packed)
    p.bind_packed(a->w, packed);
  else
    p.bind_scratch(a->w, scratch);
  if (p.has(x_zero)) {
    if (p.shape(x_zero).size() != 1) throw OpError("x_zero_point must be a scalar, not of shape " + p.shape(x_zero).str());
    p.bind_in(a->x_zero, x_zero);
  }
  p.bind_scratch(a->pixels, unfolded);
  if (integer)
    p.bind_out(a->total, 0);
  else
    p.bind_scratch(a->total, totals);
  return a;
}

void infer_conv_integer(InferCtx& c) { c.output(0, shape_out(windows(c.op.attrs, c.shape(0), c.shape(1)), c.shape(1)[0])); }

void plan_conv_integer(PlanCtx& p) {
  if (p.out_shape(0).size() > 0) emit_conv(p, 0, 1, 2, 3, true);
}

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, bias.
void infer_qlinear_conv(InferCtx& c) { c.output(0, shape_out(windows(c.op.attrs, c.shape(0), c.shape(3)), c.shape(3)[0])); }

void plan_qlinear_conv(PlanCtx& p) {
  const Shape& out = p.out_shape(0);
  if (out.size() == 0) return;
  const int64_t m = p.shape(3)[0];
  auto* a = emit_conv(p, 0, 3, 2, 5, false);
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
