// ScatterElements, ScatterND, TensorScatter: updates written into a copy of the data.
//
// Without a reduction the last of several updates of one element wins. 16-bit floats are reduced in float32.
#include "ops/copy.h"
#include "ops/index.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

enum class Reduction : int32_t { none, add, mul, max, min };

Reduction reduction_of(const Attributes& attrs) {
  const std::string name = attrs.gets("reduction", "none");
  const char* names[] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; i < 5; i++)
    if (name == names[i]) return static_cast<Reduction>(i);
  throw OpError("reduction " + name + " is not one of none, add, mul, max, min");
}

template <typename T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point<T>::value) return std::isnan(x);
  return false;
}

// NaN of either side stays, as numpy's maximum and minimum have it. Integers wrap around; booleans add as or.
template <Reduction R, typename T>
T combine(T a, T b) {
  if constexpr (R == Reduction::none) {
    return b;
  } else if constexpr (R == Reduction::max) {
    return is_nan(a) || a > b ? a : b;
  } else if constexpr (R == Reduction::min) {
    return is_nan(a) || a < b ? a : b;
  } else if constexpr (std::is_same<T, bool>::value) {
    return R == Reduction::add ? a | b : a & b;
  } else if constexpr (std::is_integral<T>::value) {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(R == Reduction::add ? x + y : x * y);
  } else {
    return R == Reduction::add ? a + b : a * b;
  }
}

template <typename F>
auto with_reduction(Reduction r, F&& f) {
  switch (r) {
    case Reduction::none: return f(std::integral_constant<Reduction, Reduction::none>());
    case Reduction::add: return f(std::integral_constant<Reduction, Reduction::add>());
    case Reduction::mul: return f(std::integral_constant<Reduction, Reduction::mul>());
    case Reduction::max: return f(std::integral_constant<Reduction, Reduction::max>());
    default: return f(std::integral_constant<Reduction, Reduction::min>());
  }
}

// Where updates go: `places` of single elements (ScatterElements), or rows of `run` elements (ScatterND).
struct ScatterArgs {
  const char* data;
  const void* indices;
  const char* updates;
  char* out;
  float* wide;  // working memory for the halves
  int64_t size;
  Elements e;
  Coordinates c;
  int64_t count, run;
};

// Runs f(out, T) over the output, which holds a copy of the data; the halves are worked on in float32.
template <typename T, Reduction R, typename F>
void on_output(const ScatterArgs& a, F&& f) {
  if constexpr (is_half<T> && R != Reduction::none) {
    auto* data = reinterpret_cast<const T*>(a.data);
    for (int64_t i = 0; i < a.size; i++) a.wide[i] = data[i];
    f(a.wide);
    for (int64_t i = 0; i < a.size; i++) reinterpret_cast<T*>(a.out)[i] = T(a.wide[i]);
  } else {
    f(reinterpret_cast<T*>(a.out));
  }
}

template <typename Index, typename T, Reduction R>
void scatter_elements_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ScatterArgs*>(args);
  auto* updates = reinterpret_cast<const T*>(a.updates);
  on_output<T, R>(a, [&](auto* out) {
    using W = std::remove_pointer_t<decltype(out)>;
    for_elements<Index>(a.e, static_cast<const Index*>(a.indices), rt, [&](int64_t at, int64_t place) { out[place] = combine<R, W>(out[place], static_cast<W>(updates[at])); });
  });
}

template <typename T, Reduction R>
void scatter_nd_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ScatterArgs*>(args);
  auto* indices = static_cast<const int64_t*>(a.indices);
  auto* updates = reinterpret_cast<const T*>(a.updates);
  on_output<T, R>(a, [&](auto* out) {
    using W = std::remove_pointer_t<decltype(out)>;
    for (int64_t i = 0; i < a.count; i++) {
      const int64_t row = row_of(a.c, indices + i * a.c.depth, rt);
      if (row < 0) return;
      W* to = out + row * a.run;
      const T* from = updates + i * a.run;
      for (int64_t k = 0; k < a.run; k++) to[k] = combine<R, W>(to[k], static_cast<W>(from[k]));
    }
  });
}

// The type to scatter in: without a reduction only its size matters.
template <typename F>
StepFn with_element(DType t, Reduction r, F&& f) {
  if (r == Reduction::none) return with_size(item_size(t), [&](auto tag) { return f(tag, std::integral_constant<Reduction, Reduction::none>()); });
  return with_type(t, [&](auto tag) { return with_reduction(r, [&](auto reduction) { return f(tag, reduction); }); });
}

// Emits the copy of the data and an unfilled scatter step. Halves that are reduced make their own copy.
ScatterArgs* emit_scatter(PlanCtx& p, Reduction r, StepFn fn) {
  const bool wide = r != Reduction::none && (p.dtype(0) == DType::f16 || p.dtype(0) == DType::bf16);
  const bool apart = !p.same_storage(0, 1) && !p.same_storage(0, 2);
  if (!(apart && p.reuse(0, 0)) && !wide) {
    Strided whole;
    whole.add(p.shape(0).size(), 1, 1);
    emit_copy(p, 0, 0, whole);
  }
  const size_t scratch = wide ? p.scratch(static_cast<size_t>(p.shape(0).size()) * sizeof(float)) : 0;
  auto* a = p.emit<ScatterArgs>(fn);
  a->size = p.shape(0).size();
  p.bind_in(a->data, 0);
  p.bind_in(a->indices, 1);
  p.bind_in(a->updates, 2);
  p.bind_out(a->out, 0);
  if (wide) p.bind_scratch(a->wide, scratch);
  return a;
}

void infer_scatter_elements(InferCtx& c) {
  check_elements(c.shape(0), c.shape(1), c.op.attrs.get("axis", 0));
  if (c.shape(2) != c.shape(1)) throw OpError("updates of shape " + c.shape(2).str() + " must have the shape of indices, " + c.shape(1).str());
  c.output(0, c.shape(0));
}

void plan_scatter_elements(PlanCtx& p) {
  const Reduction r = reduction_of(p.op.attrs);
  if (p.shape(1).size() == 0) return p.view(0, 0);
  const StepFn fn = with_index(p.dtype(1), [&](auto index) {
    return with_element(p.dtype(0), r, [](auto t, auto reduction) -> StepFn { return scatter_elements_step<decltype(index), decltype(t), decltype(reduction)::value>; });
  });
  auto* a = emit_scatter(p, r, fn);
  a->e = elements_of(p.shape(0), p.shape(1), p.op.attrs.get("axis", 0));
}

void infer_scatter_nd(InferCtx& c) {
  const Shape &data = c.shape(0), &indices = c.shape(1);
  if (indices.rank == 0 || data.rank == 0 || indices[indices.rank - 1] > data.rank) throw OpError("indices of shape " + indices.str() + " do not fit data of shape " + data.str());
  Shape wanted;
  for (int i = 0; i + 1 < indices.rank; i++) wanted.push(indices[i]);
  for (int i = static_cast<int>(indices[indices.rank - 1]); i < data.rank; i++) wanted.push(data[i]);
  if (c.shape(2) != wanted)
    throw OpError("updates must have shape " + wanted.str() + " for data " + data.str() + " and indices " + indices.str() + ", not " + c.shape(2).str());
  c.output(0, data);
}

void plan_scatter_nd(PlanCtx& p) {
  const Reduction r = reduction_of(p.op.attrs);
  const Shape &data = p.shape(0), &indices = p.shape(1);
  const int depth = static_cast<int>(indices[indices.rank - 1]);
  if (p.shape(2).size() == 0 && indices.size() == 0) return p.view(0, 0);
  auto* a = emit_scatter(p, r, with_element(p.dtype(0), r, [](auto t, auto reduction) -> StepFn { return scatter_nd_step<decltype(t), decltype(reduction)::value>; }));
  a->c = coordinates_of(data, 0, depth);
  a->count = indices.size(0, indices.rank - 1);
  a->run = data.size(depth, data.rank);
}

// TensorScatter: `update` written along the sequence axis of each batch entry of the cache.
struct CacheArgs {
  const char* update;
  const int64_t* starts;  // may be null: all 0
  char* out;
  int64_t batch, outer, capacity, length, run;  // run: bytes of one position
  int32_t circular;
};

void infer_tensor_scatter(InferCtx& c) {
  const Shape &cache = c.shape(0), &update = c.shape(1);
  const int axis = normal_axis(c.op.attrs.get("axis", -2), cache.rank);
  bool fits = axis > 0 && update.rank == cache.rank;
  for (int i = 0; fits && i < cache.rank; i++) fits = i == axis ? update[i] <= cache[i] : update[i] == cache[i];
  if (!fits) throw OpError("update " + update.str() + " must have the cache's shape " + cache.str() + " but for at most as many entries in axis " + std::to_string(axis) + " > 0");
  if (c.has(2) && (c.shape(2).rank != 1 || c.shape(2)[0] != cache[0])) throw OpError("write_indices of shape " + c.shape(2).str() + " for a batch of " + std::to_string(cache[0]));
  c.output(0, cache);
}

void cache_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const CacheArgs*>(args);
  for (int64_t b = 0; b < a.batch; b++) {
    int64_t start = a.starts ? a.starts[b] : 0;
    if (a.circular && a.capacity > 0) {
      start %= a.capacity;
      if (start < 0) start += a.capacity;
    } else if (start < 0 || start > a.capacity - a.length) {
      return rt.fail("write index %lld and %lld entries exceed the cache's %lld in batch entry %lld", static_cast<long long>(start), static_cast<long long>(a.length),
                     static_cast<long long>(a.capacity), static_cast<long long>(b));
    }
    const int64_t fits = std::min(a.length, a.capacity - start);
    for (int64_t o = b * a.outer; o < (b + 1) * a.outer; o++) {
      char* to = a.out + o * a.capacity * a.run;
      const char* from = a.update + o * a.length * a.run;
      std::memcpy(to + start * a.run, from, static_cast<size_t>(fits * a.run));
      std::memcpy(to, from + fits * a.run, static_cast<size_t>((a.length - fits) * a.run));
    }
  }
}

void plan_tensor_scatter(PlanCtx& p) {
  const Shape& cache = p.shape(0);
  const int axis = normal_axis(p.op.attrs.get("axis", -2), cache.rank);
  if (cache.size() == 0) return p.view(0, 0);
  if (p.same_storage(0, 1) || !p.reuse(0, 0)) {
    Strided whole;
    whole.add(cache.size(), 1, 1);
    emit_copy(p, 0, 0, whole);
  }
  auto* a = p.emit<CacheArgs>(cache_step);
  a->batch = cache[0];
  a->outer = cache.size(1, axis);
  a->capacity = cache[axis];
  a->length = p.shape(1)[axis];
  a->run = cache.size(axis + 1, cache.rank) * static_cast<int64_t>(item_size(p.dtype(0)));
  a->circular = p.op.attrs.gets("mode", "linear") == "circular";
  p.bind_in(a->update, 1);
  if (p.has(2)) p.bind_in(a->starts, 2);
  p.bind_out(a->out, 0);
}

const OpDef kTable[] = {
    {"ScatterElements", infer_scatter_elements, plan_scatter_elements, nullptr},
    {"Scatter", infer_scatter_elements, plan_scatter_elements, nullptr},
    {"ScatterND", infer_scatter_nd, plan_scatter_nd, nullptr},
    {"TensorScatter", infer_tensor_scatter, plan_tensor_scatter, nullptr},
};

}  // namespace

OpFamily scatter_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
