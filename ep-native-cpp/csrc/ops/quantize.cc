// QuantizeLinear, DequantizeLinear (per tensor, per axis, in blocks) and DynamicQuantizeLinear.
#include <algorithm>
#include <cmath>

#include "kernels/isa.h"
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/movement.h"
#include "ops/numbers.h"
#include "ops/quantized.h"

namespace sx {
namespace {

// How scale and zero point lie on a tensor [outer, dim, inner]: the parameter of (o, d, i) is
// o * outer_step + d / block * dim_step + i * inner_step.
struct Spread {
  int64_t outer, dim, inner, block, outer_step, dim_step, inner_step;
};

Spread spread_of(const Shape& x, const Shape& scale, int64_t axis, int64_t block) {
  if (scale.size() == 1 && block == 0) return {1, 1, x.size(), 1, 0, 0, 0};
  const int a = normal_axis(axis, x.rank);
  Spread s{x.size(0, a), x[a], x.size(a + 1, x.rank), 1, 0, 1, 0};
  if (block == 0) {
    if (scale.rank != 1 || scale[0] != x[a]) throw OpError("a scale of shape " + scale.str() + " fits no axis " + std::to_string(a) + " of " + x.str() + " (block_size is 0)");
    return s;
  }
  const int64_t blocks = block > 0 ? ceil_div(x[a], block) : -1;
  bool fits = scale.rank == x.rank;
  for (int i = 0; fits && i < x.rank; i++) fits = scale[i] == (i == a ? blocks : x[i]);
  if (!fits) throw OpError("a scale of shape " + scale.str() + " does not cover " + x.str() + " in blocks of " + std::to_string(block) + " along axis " + std::to_string(a));
  s.block = block;
  s.outer_step = blocks * s.inner;
  s.dim_step = s.inner;
  s.inner_step = 1;
  return s;
}

struct QuantizeArgs {
  const char *x, *scale, *zero;  // zero may be null
  char* y;
  Spread s;
  int64_t chunks;
  QType type;
  DType precision;
  decltype(Kernels::quantize_run) quantize;
  decltype(Kernels::dequantize_run) dequantize;
  decltype(Kernels::quantize_each) quantize_each;
  decltype(Kernels::dequantize_each) dequantize_each;
};

// Calls f(first element, elements, parameter, step) for runs of elements, whose parameters are `step` (0 or 1) apart,
// cut into chunks.
template <typename F>
void for_runs(const QuantizeArgs& a, Runtime& rt, F&& f) {
  const Spread& s = a.s;
  auto cut = [&](int64_t runs, auto&& one) {
    auto part = [&](int64_t i) {
      for (int64_t r = runs * i / a.chunks; r < runs * (i + 1) / a.chunks; r++) one(r);
    };
    a.chunks == 1 ? part(0) : rt.pool->parallel(a.chunks, part);
  };
  if (s.outer * s.dim == 1 && s.inner_step == 0) {
    // One scale for all: chunks are parts of the one run.
    auto part = [&](int64_t i) {
      const int64_t from = s.inner * i / a.chunks, to = s.inner * (i + 1) / a.chunks;
      if (to > from) f(from, to - from, int64_t{0}, 0);
    };
    return a.chunks == 1 ? part(0) : rt.pool->parallel(a.chunks, part);
  }
  if (s.inner == 1 && s.block == 1) return cut(s.outer, [&](int64_t r) { f(r * s.dim, s.dim, r * s.outer_step, 1); });
  if (s.inner == 1) {
    // Blocks along the last axis are the runs.
    const int64_t blocks = ceil_div(s.dim, s.block);
    return cut(s.outer * blocks, [&](int64_t r) {
      const int64_t from = r % blocks * s.block;
      f(r / blocks * s.dim + from, std::min(s.block, s.dim - from), r, 0);
    });
  }
  cut(s.outer * s.dim, [&](int64_t r) { f(r * s.inner, s.inner, r / s.dim * s.outer_step + r % s.dim / s.block * s.dim_step, static_cast<int>(s.inner_step)); });
}

float in_precision(float x, DType precision) { return precision == DType::f16 ? static_cast<float>(Half(x)) : precision == DType::bf16 ? static_cast<float>(BFloat(x)) : x; }

// x / scale in `precision`, rounded, shifted and saturated.
template <typename X, typename S, typename Q>
void quantize_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const QuantizeArgs*>(args);
  auto* scales = reinterpret_cast<const S*>(a.scale);
  auto* zeros = reinterpret_cast<const Q*>(a.zero);
  auto* x = reinterpret_cast<const X*>(a.x);
  auto* y = reinterpret_cast<Q*>(a.y);
  for_runs(a, rt, [&](int64_t first, int64_t n, int64_t parameter, int step) {
    if constexpr (std::is_same<X, float>::value && std::is_same<S, float>::value) {
      if (a.precision == DType::f32) {
        if (step == 1) return a.quantize_each(x + first, y + first, n, scales + parameter, zeros ? zeros + parameter : nullptr, a.type);
        return a.quantize(x + first, y + first, n, scales[parameter], zeros ? static_cast<float>(zeros[parameter]) : 0, a.type);
      }
    }
    for (int64_t i = 0; i < n; i++) {
      const int64_t k = parameter + i * step;
      const float scale = in_precision(static_cast<float>(scales[k]), a.precision), zero = zeros ? static_cast<float>(zeros[k]) : 0;
      const float real = in_precision(in_precision(static_cast<float>(x[first + i]), a.precision) / scale, a.precision);
      y[first + i] = real == real ? saturated<Q>(std::nearbyint(real) + zero) : Q(0);
    }
  });
}

DType onnx_type(int64_t code, DType otherwise) {
  switch (code) {
    case 0: return otherwise;
    case 1: return DType::f32;
    case 10: return DType::f16;
    case 16: return DType::bf16;
    default: throw OpError("element type " + std::to_string(code) + " is no precision to quantize in");
  }
}

void infer_same(InferCtx& c) {
  spread_of(c.shape(0), c.shape(1), c.op.attrs.get("axis", 1), c.op.attrs.get("block_size", 0));
  if (c.has(2) && c.shape(2).size() != c.shape(1).size()) throw OpError("the zero point has shape " + c.shape(2).str() + ", the scale " + c.shape(1).str() + "; they must be equal");
  c.output(0, c.shape(0));
}

QuantizeArgs* emit_quantize(PlanCtx& p, StepFn fn, DType quantized) {
  auto* a = p.emit<QuantizeArgs>(fn);
  a->s = spread_of(p.shape(0), p.shape(1), p.op.attrs.get("axis", 1), p.op.attrs.get("block_size", 0));
  a->chunks = chunks_for(p, 8 * p.shape(0).size());
  if (quantized != DType::i32) a->type = qtype_of(quantized);
  a->quantize = kernels().quantize_run;
  a->dequantize = kernels().dequantize_run;
  a->quantize_each = kernels().quantize_each;
  a->dequantize_each = kernels().dequantize_each;
  p.bind_in(a->x, 0);
  p.bind_in(a->scale, 1);
  if (p.has(2)) p.bind_in(a->zero, 2);
  p.bind_out(a->y, 0);
  return a;
}

template <typename F>
StepFn with_scale(DType t, F&& f) {
  return t == DType::f16 ? f(Half()) : t == DType::bf16 ? f(BFloat()) : f(float());
}

void plan_quantize(PlanCtx& p) {
  if (p.out_shape(0).size() == 0) return;
  const DType scale = p.dtype(1);
  const StepFn fn = with_quantized(p.out_dtype(0), [&](auto q) {
    return with_scale(scale == DType::i32 ? DType::f32 : scale, [&](auto s) -> StepFn {
      using Q = decltype(q);
      using S = decltype(s);
      if (p.dtype(0) == DType::i32) return quantize_step<int32_t, S, Q>;
      return with_scale(p.dtype(0), [&](auto x) -> StepFn { return quantize_step<decltype(x), S, Q>; });
    });
  });
  auto* a = emit_quantize(p, fn, p.out_dtype(0));
  a->precision = onnx_type(p.op.attrs.get("precision", 0), scale);
}

// (x - zero) * scale, in float (from int32 in double), rounded once to the output's type.
template <typename Q, typename S, typename Y>
void dequantize_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const QuantizeArgs*>(args);
  auto* scales = reinterpret_cast<const S*>(a.scale);
  auto* zeros = reinterpret_cast<const Q*>(a.zero);
  auto* x = reinterpret_cast<const Q*>(a.x);
  auto* y = reinterpret_cast<Y*>(a.y);
  using W = typename std::conditional<sizeof(Q) == 4, double, float>::type;
  for_runs(a, rt, [&](int64_t first, int64_t n, int64_t parameter, int step) {
    if constexpr (std::is_same<Y, float>::value && std::is_same<S, float>::value && sizeof(Q) < 4) {
      if (step == 1) return a.dequantize_each(x + first, y + first, n, scales + parameter, zeros ? zeros + parameter : nullptr, a.type);
      return a.dequantize(x + first, y + first, n, scales[parameter], zeros ? static_cast<float>(zeros[parameter]) : 0, a.type);
    }
    for (int64_t i = 0; i < n; i++) {
      const int64_t k = parameter + i * step;
      const W scale = static_cast<W>(static_cast<float>(scales[k])), zero = zeros ? static_cast<W>(zeros[k]) : W(0);
      y[first + i] = static_cast<Y>(static_cast<float>((static_cast<W>(x[first + i]) - zero) * scale));
    }
  });
}

void plan_dequantize(PlanCtx& p) {
  if (p.out_shape(0).size() == 0) return;
  auto choose = [&](auto q) {
    return with_scale(p.dtype(1), [&](auto s) { return with_scale(p.out_dtype(0), [&](auto y) -> StepFn { return dequantize_step<decltype(q), decltype(s), decltype(y)>; }); });
  };
  emit_quantize(p, p.dtype(0) == DType::i32 ? choose(int32_t()) : with_quantized(p.dtype(0), choose), p.dtype(0));
}

// DynamicQuantizeLinear: x's range extended to 0, on [0, 255]; where it is 0 alone the scale is 1.
struct DynamicArgs {
  const float* x;
  uint8_t* y;
  float* scale;    // may be null
  uint8_t* zero;   // may be null
  int64_t count, chunks;
  decltype(Kernels::quantize_run) quantize;
  decltype(Kernels::range_of) range;
};

void infer_dynamic(InferCtx& c) {
  c.output(0, c.shape(0));
  c.output(1, Shape());
  c.output(2, Shape());
}

void dynamic_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const DynamicArgs*>(args);
  float low = 0, high = 0;
  a.range(a.x, a.count, &low, &high);
  float scale = (high - low) / 255.0f;
  if (scale == 0) scale = 1;
  const float zero = std::min(std::max(std::nearbyint(-low / scale), 0.0f), 255.0f);
  if (a.scale) *a.scale = scale;
  if (a.zero) *a.zero = static_cast<uint8_t>(zero);
  if (!a.y) return;
  auto part = [&](int64_t i) {
    const int64_t from = a.count * i / a.chunks, to = a.count * (i + 1) / a.chunks;
    a.quantize(a.x + from, a.y + from, to - from, scale, zero, QType::u8);
  };
  a.chunks == 1 ? part(0) : rt.pool->parallel(a.chunks, part);
}

void plan_dynamic(PlanCtx& p) {
  auto* a = p.emit<DynamicArgs>(dynamic_step);
  a->count = p.shape(0).size();
  a->chunks = chunks_for(p, 8 * a->count);
  a->quantize = kernels().quantize_run;
  a->range = kernels().range_of;
  p.bind_in(a->x, 0);
  if (p.has_out(0)) p.bind_out(a->y, 0);
  if (p.has_out(1)) p.bind_out(a->scale, 1);
  if (p.has_out(2)) p.bind_out(a->zero, 2);
}

const OpDef kTable[] = {
    {"QuantizeLinear", infer_same, plan_quantize, nullptr},
    {"DequantizeLinear", infer_same, plan_dequantize, nullptr},
    {"DynamicQuantizeLinear", infer_dynamic, plan_dynamic, nullptr},
};

}  // namespace

OpFamily quantize_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
