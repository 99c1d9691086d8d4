// Operators that make tensors: Range, ConstantOfShape, EyeLike, OneHot, Trilu; Dropout and BitCast, which are views.
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

// An element of type t as bits, from an attribute list of one number; 0 without one.
uint64_t bits_of(const Attributes& attrs, const char* name, DType t) {
  uint64_t bits = 0;
  with_type(t, [&](auto tag) {
    using T = decltype(tag);
    T x = T(0.0f);
    auto ints = attrs.int_lists.find(name);
    auto floats = attrs.float_lists.find(name);
    if (ints != attrs.int_lists.end() && ints->second.size() == 1)
      x = static_cast<T>(static_cast<Wide<T>>(ints->second[0]));
    else if (floats != attrs.float_lists.end() && floats->second.size() == 1)
      x = static_cast<T>(static_cast<Wide<T>>(floats->second[0]));
    std::memcpy(&bits, &x, sizeof x);
  });
  return bits;
}

struct FillArgs {
  char* out;
  int64_t count;
  uint64_t bits;
  int64_t chunks;
};

template <typename T>
void fill_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const FillArgs*>(args);
  auto part = [&a](int64_t i) {
    T* out = reinterpret_cast<T*>(a.out);
    std::fill(out + a.count * i / a.chunks, out + a.count * (i + 1) / a.chunks, static_cast<T>(a.bits));
  };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

void emit_fill(PlanCtx& p, size_t out, uint64_t bits) {
  const size_t item = item_size(p.out_dtype(out));
  if (p.out_shape(out).size() == 0) return;
  auto* a = p.emit<FillArgs>(with_size(item, [](auto t) -> StepFn { return fill_step<decltype(t)>; }));
  a->count = p.out_shape(out).size();
  a->bits = bits;
  a->chunks = chunks_for(p, a->count * static_cast<int64_t>(item));
  p.bind_out(a->out, out);
}

void infer_constant_of_shape(InferCtx& c) {
  Shape out;
  for (int64_t d : c.ints(0)) {
    if (d < 0) throw OpError("a shape with a negative dim " + std::to_string(d));
    out.push(d);
  }
  c.output(0, out);
}

void plan_constant_of_shape(PlanCtx& p) { emit_fill(p, 0, bits_of(p.op.attrs, "value", p.out_dtype(0))); }

// Range: integers exactly; floats as start + i * delta in double, halves in float.
int64_t range_count(double start, double limit, double delta) {
  if (delta == 0) throw OpError("Range has delta 0");
  const double n = std::ceil((limit - start) / delta);
  if (!(n < 1e15)) throw OpError("Range has no end");
  return n > 0 ? static_cast<int64_t>(n) : 0;
}

void infer_range(InferCtx& c) {
  Shape out;
  if (is_real_type(c.dtype(0))) {
    out.push(range_count(c.numbers(0).at(0), c.numbers(1).at(0), c.numbers(2).at(0)));
  } else {
    const int64_t start = c.ints(0).at(0), limit = c.ints(1).at(0), delta = c.ints(2).at(0);
    if (delta == 0) throw OpError("Range has delta 0");
    const uint64_t span = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start) : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
    out.push((delta > 0 ? limit <= start : limit >= start) ? 0 : static_cast<int64_t>((span - 1) / step + 1));
  }
  c.output(0, out);
}

struct RangeArgs {
  char* out;
  int64_t count, start, delta;
  double origin, stride;
};

template <typename T>
void range_step(const void* args, Runtime&) {
  auto& a = *static_cast<const RangeArgs*>(args);
  T* out = reinterpret_cast<T*>(a.out);
  for (int64_t i = 0; i < a.count; i++) {
    if constexpr (is_half<T>)
      out[i] = T(static_cast<float>(i) * static_cast<float>(a.stride) + static_cast<float>(a.origin));
    else if constexpr (is_real<T>)
      out[i] = static_cast<T>(static_cast<double>(i) * a.stride + a.origin);
    else
      out[i] = static_cast<T>(static_cast<uint64_t>(a.start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(a.delta));
  }
}

void plan_range(PlanCtx& p) {
  auto* a = p.emit<RangeArgs>(with_type(p.out_dtype(0), [](auto t) -> StepFn { return range_step<decltype(t)>; }));
  a->count = p.out_shape(0)[0];
  if (is_real_type(p.dtype(0))) {
    a->origin = p.numbers(0)[0];
    a->stride = p.numbers(2)[0];
  } else {
    a->start = p.ints(0)[0];
    a->delta = p.ints(2)[0];
  }
  p.bind_out(a->out, 0);
}

void infer_same(InferCtx& c) { c.output(0, c.shape(0)); }

void infer_eye_like(InferCtx& c) {
  if (c.shape(0).rank != 2) throw OpError("EyeLike needs rank 2, not " + c.shape(0).str());
  c.output(0, c.shape(0));
}

struct EyeArgs {
  char* out;
  int64_t rows, cols, k;
};

template <typename T>
void eye_step(const void* args, Runtime&) {
  auto& a = *static_cast<const EyeArgs*>(args);
  std::memset(a.out, 0, static_cast<size_t>(a.rows * a.cols) * sizeof(T));
  T* out = reinterpret_cast<T*>(a.out);
  for (int64_t i = std::max<int64_t>(0, -a.k); i < std::min(a.rows, a.cols - a.k); i++) out[i * a.cols + i + a.k] = T(1.0f);
}

void plan_eye_like(PlanCtx& p) {
  const Shape& s = p.shape(0);
  auto* a = p.emit<EyeArgs>(with_type(p.out_dtype(0), [](auto t) -> StepFn { return eye_step<decltype(t)>; }));
  const int64_t limit = s[0] + s[1];
  *a = {nullptr, s[0], s[1], std::min(std::max(p.op.attrs.get("k", 0), -limit), limit)};
  p.bind_out(a->out, 0);
}

// Trilu: the triangle above (below) the k-th diagonal of the last two dims; zeros elsewhere.
void infer_trilu(InferCtx& c) {
  if (c.shape(0).rank < 2) throw OpError("Trilu needs rank 2 or more, not " + c.shape(0).str());
  c.output(0, c.shape(0));
}

struct TriluArgs {
  const char* in;
  const int64_t* k;  // may be null: 0
  char* out;
  int64_t matrices, rows, cols, item;
  int32_t upper;
};

void trilu_step(const void* args, Runtime&) {
  auto& a = *static_cast<const TriluArgs*>(args);
  const int64_t k = a.k ? std::min(std::max(*a.k, -a.rows - 1), a.cols + 1) : 0;
  for (int64_t r = 0; r < a.matrices * a.rows; r++) {
    // The first element of the upper part of this row.
    const int64_t edge = std::min(std::max<int64_t>(r % a.rows + k + (a.upper ? 0 : 1), 0), a.cols) * a.item, width = a.cols * a.item;
    const char* in = a.in + r * width;
    char* out = a.out + r * width;
    const int64_t from = a.upper ? edge : 0, to = a.upper ? width : edge;
    std::memset(out, 0, static_cast<size_t>(from));
    std::memcpy(out + from, in + from, static_cast<size_t>(to - from));
    std::memset(out + to, 0, static_cast<size_t>(width - to));
  }
}

void plan_trilu(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (s.size() == 0) return;
  if (p.has(1) && p.shape(1).size() != 1) throw OpError("k must hold one value, not shape " + p.shape(1).str());
  auto* a = p.emit<TriluArgs>(trilu_step);
  a->rows = s[s.rank - 2];
  a->cols = s[s.rank - 1];
  a->matrices = s.size(0, s.rank - 2);
  a->item = static_cast<int64_t>(item_size(p.dtype(0)));
  a->upper = p.op.attrs.get("upper", 1) != 0;
  p.bind_in(a->in, 0);
  if (p.has(1)) p.bind_in(a->k, 1);
  p.bind_out(a->out, 0);
}

// OneHot: values [off, on]; indices outside [-depth, depth) give off only.
template <typename Context>
int64_t depth_of(Context& c) {
  if (c.shape(1).size() != 1) throw OpError("depth must hold one value, not shape " + c.shape(1).str());
  const int64_t depth = static_cast<int64_t>(c.numbers(1)[0]);
  if (depth < 0) throw OpError("depth " + std::to_string(depth) + " is negative");
  return depth;
}

void infer_one_hot(InferCtx& c) {
  const Shape& indices = c.shape(0);
  if (c.shape(2).size() != 2) throw OpError("values must hold [off, on], not shape " + c.shape(2).str());
  const int axis = normal_axis(c.op.attrs.get("axis", -1), indices.rank + 1);
  Shape out;
  for (int i = 0; i < axis; i++) out.push(indices[i]);
  out.push(depth_of(c));
  for (int i = axis; i < indices.rank; i++) out.push(indices[i]);
  c.output(0, out);
}

struct OneHotArgs {
  const char* indices;
  const char* values;
  char* out;
  int64_t outer, depth, inner;
};

template <typename Index, typename T>
void one_hot_step(const void* args, Runtime&) {
  auto& a = *static_cast<const OneHotArgs*>(args);
  auto* indices = reinterpret_cast<const Index*>(a.indices);
  auto* values = reinterpret_cast<const T*>(a.values);
  T* out = reinterpret_cast<T*>(a.out);
  std::fill(out, out + a.outer * a.depth * a.inner, values[0]);
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t i = 0; i < a.inner; i++) {
      const Index index = indices[o * a.inner + i];
      const double size = static_cast<double>(a.depth);
      if (!(static_cast<double>(index) < size && static_cast<double>(index) > -size - 1)) continue;
      int64_t k = static_cast<int64_t>(index);
      if (k < 0) k += a.depth;
      if (k >= 0 && k < a.depth) out[(o * a.depth + k) * a.inner + i] = values[1];
    }
}

void plan_one_hot(PlanCtx& p) {
  if (p.out_shape(0).size() == 0) return;
  const Shape& indices = p.shape(0);
  const int axis = normal_axis(p.op.attrs.get("axis", -1), indices.rank + 1);
  const StepFn fn = with_type(p.dtype(0), [&](auto index) { return with_size(item_size(p.out_dtype(0)), [](auto t) -> StepFn { return one_hot_step<decltype(index), decltype(t)>; }); });
  auto* a = p.emit<OneHotArgs>(fn);
  a->outer = indices.size(0, axis);
  a->depth = p.out_shape(0)[axis];
  a->inner = indices.size(axis, indices.rank);
  p.bind_in(a->indices, 0);
  p.bind_in(a->values, 2);
  p.bind_out(a->out, 0);
}

// Dropout outside training: its input, and a mask of ones.
void infer_dropout(InferCtx& c) {
  c.output(0, c.shape(0));
  c.output(1, c.shape(0));
}

void plan_dropout(PlanCtx& p) {
  if (p.has_out(0)) p.view(0, 0);
  if (p.has_out(1)) {
    Attributes one;
    one.int_lists["one"] = {1};
    emit_fill(p, 1, bits_of(one, "one", p.out_dtype(1)));
  }
}

void plan_bit_cast(PlanCtx& p) { p.view(0, 0); }

const OpDef kTable[] = {
    {"ConstantOfShape", infer_constant_of_shape, plan_constant_of_shape, nullptr},
    {"Range", infer_range, plan_range, nullptr},
    {"EyeLike", infer_eye_like, plan_eye_like, nullptr},
    {"Trilu", infer_trilu, plan_trilu, nullptr},
    {"OneHot", infer_one_hot, plan_one_hot, nullptr},
    {"Dropout", infer_dropout, plan_dropout, nullptr},
    {"BitCast", infer_same, plan_bit_cast, nullptr},
};

}  // namespace

OpFamily generate_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
