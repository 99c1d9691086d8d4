// Gather, GatherElements, GatherND, ReverseSequence.
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/index.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

// Gather: out[o, i, :] = data[o, indices[i], :].
struct GatherArgs {
  const char* data;
  const void* indices;
  char* out;
  int64_t outer, dim, count, run;  // run: bytes
  int64_t chunks;
};

template <typename Index, typename T>
void gather_elements(const GatherArgs& a, int64_t begin, int64_t end) {
  auto* indices = static_cast<const Index*>(a.indices);
  auto* out = reinterpret_cast<T*>(a.out);
  for (int64_t at = begin; at < end;) {
    const int64_t o = at / a.count, i0 = at % a.count, n = std::min(a.count - i0, end - at);
    auto* data = reinterpret_cast<const T*>(a.data) + o * a.dim;
    for (int64_t i = 0; i < n; i++) {
      const int64_t k = indices[i0 + i];
      out[at + i] = data[k < 0 ? k + a.dim : k];
    }
    at += n;
  }
}

template <typename Index>
void gather_runs(const GatherArgs& a, int64_t begin, int64_t end) {
  auto* indices = static_cast<const Index*>(a.indices);
  for (int64_t at = begin; at < end; at++) {
    const int64_t o = at / a.count, k = indices[at % a.count];
    std::memcpy(a.out + at * a.run, a.data + (o * a.dim + (k < 0 ? k + a.dim : k)) * a.run, static_cast<size_t>(a.run));
  }
}

template <typename Index, int Item>
void gather_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const GatherArgs*>(args);
  if (!check_indices(static_cast<const Index*>(a.indices), a.count, 1, a.dim, rt)) return;
  auto part = [&a](int64_t begin, int64_t end) {
    switch (Item) {
      case 1: return gather_elements<Index, uint8_t>(a, begin, end);
      case 2: return gather_elements<Index, uint16_t>(a, begin, end);
      case 4: return gather_elements<Index, uint32_t>(a, begin, end);
      case 8: return gather_elements<Index, uint64_t>(a, begin, end);
      default: return gather_runs<Index>(a, begin, end);
    }
  };
  const int64_t n = a.outer * a.count;
  if (a.chunks == 1)
    part(0, n);
  else
    rt.pool->parallel(a.chunks, [&](int64_t i) { part(n * i / a.chunks, n * (i + 1) / a.chunks); });
}

StepFn gather_for(DType index, int64_t item) {
  return with_index(index, [&](auto tag) -> StepFn {
    using Index = decltype(tag);
    switch (item) {
      case 1: return gather_step<Index, 1>;
      case 2: return gather_step<Index, 2>;
      case 4: return gather_step<Index, 4>;
      case 8: return gather_step<Index, 8>;
      default: return gather_step<Index, 0>;
    }
  });
}

void infer_gather(InferCtx& c) {
  const Shape &data = c.shape(0), &indices = c.shape(1);
  const int axis = normal_axis(c.op.attrs.get("axis", 0), data.rank);
  Shape out;
  for (int i = 0; i < axis; i++) out.push(data[i]);
  for (int i = 0; i < indices.rank; i++) out.push(indices[i]);
  for (int i = axis + 1; i < data.rank; i++) out.push(data[i]);
  c.output(0, out);
}

void plan_gather(PlanCtx& p) {
  const Shape& data = p.shape(0);
  const int axis = normal_axis(p.op.attrs.get("axis", 0), data.rank);
  const int64_t item = static_cast<int64_t>(item_size(p.dtype(0))), inner = data.size(axis + 1, data.rank), outer = data.size(0, axis);
  if (p.shape(1).size() == 1 && p.is_const(1)) {
    // One constant index: a slice.
    int64_t k = p.ints(1)[0];
    if (k < -data[axis] || k >= data[axis]) throw OpError("index " + std::to_string(k) + " is out of range for axis " + std::to_string(axis) + " of " + data.str());
    if (k < 0) k += data[axis];
    Strided s;
    s.in_offset = k * inner;
    s.add(outer, data[axis] * inner, inner);
    s.add(inner, 1, 1);
    if (s.size() > 0) emit_copy_or_view(p, 0, 0, s);
    return;
  }
  if (p.out_shape(0).size() == 0 && p.shape(1).size() == 0) return;
  // Elements of up to 8 bytes have loops of their own.
  const int64_t run = inner * item;
  const bool small = run == 1 || run == 2 || run == 4 || run == 8;
  auto* a = p.emit<GatherArgs>(gather_for(p.dtype(1), small && run == item ? run : 0));
  a->outer = outer;
  a->dim = data[axis];
  a->count = p.shape(1).size();
  a->run = run;
  a->chunks = chunks_for(p, outer * a->count * std::max<int64_t>(run, 8));
  p.bind_in(a->data, 0);
  p.bind_in(a->indices, 1);
  p.bind_out(a->out, 0);
}

// GatherElements: out[i...] = data[i... with the index along the axis].
void infer_gather_elements(InferCtx& c) {
  check_elements(c.shape(0), c.shape(1), c.op.attrs.get("axis", 0));
  c.output(0, c.shape(1));
}

struct ElementsArgs {
  const char* data;
  const void* indices;
  char* out;
  Elements e;
};

template <typename Index, typename T>
void gather_elements_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ElementsArgs*>(args);
  auto* data = reinterpret_cast<const T*>(a.data);
  auto* out = reinterpret_cast<T*>(a.out);
  for_elements<Index>(a.e, static_cast<const Index*>(a.indices), rt, [&](int64_t at, int64_t place) { out[at] = data[place]; });
}

void plan_gather_elements(PlanCtx& p) {
  if (p.out_shape(0).size() == 0) return;
  const StepFn fn = with_index(p.dtype(1), [&](auto index) { return with_size(item_size(p.dtype(0)), [&](auto t) -> StepFn { return gather_elements_step<decltype(index), decltype(t)>; }); });
  auto* a = p.emit<ElementsArgs>(fn);
  a->e = elements_of(p.shape(0), p.shape(1), p.op.attrs.get("axis", 0));
  p.bind_in(a->data, 0);
  p.bind_in(a->indices, 1);
  p.bind_out(a->out, 0);
}

// GatherND: slices of data at the coordinates in the last dim of the indices, after shared batch dims.
void infer_gather_nd(InferCtx& c) {
  const Shape &data = c.shape(0), &indices = c.shape(1);
  const int64_t batch = c.op.attrs.get("batch_dims", 0);
  if (indices.rank == 0 || batch < 0 || batch >= std::min(data.rank, indices.rank)) throw OpError("batch_dims " + std::to_string(batch) + " does not fit data " + data.str() + " and indices " + indices.str());
  const int64_t depth = indices[indices.rank - 1];
  bool fits = batch + depth <= data.rank;
  for (int i = 0; i < batch; i++) fits &= data[i] == indices[i];
  if (!fits) throw OpError("indices of shape " + indices.str() + " do not fit data of shape " + data.str() + " with batch_dims " + std::to_string(batch));
  Shape out;
  for (int i = 0; i + 1 < indices.rank; i++) out.push(indices[i]);
  for (int i = static_cast<int>(batch + depth); i < data.rank; i++) out.push(data[i]);
  c.output(0, out);
}

struct GatherNdArgs {
  const char* data;
  const void* indices;
  char* out;
  Coordinates c;
  int64_t batches, per_batch, batch_bytes, run;
};

template <typename Index>
void gather_nd_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const GatherNdArgs*>(args);
  auto* indices = static_cast<const Index*>(a.indices);
  char* out = a.out;
  for (int64_t b = 0; b < a.batches; b++)
    for (int64_t i = 0; i < a.per_batch; i++, indices += a.c.depth, out += a.run) {
      const int64_t row = row_of(a.c, indices, rt);
      if (row < 0) return;
      std::memcpy(out, a.data + b * a.batch_bytes + row * a.run, static_cast<size_t>(a.run));
    }
}

void plan_gather_nd(PlanCtx& p) {
  const Shape &data = p.shape(0), &indices = p.shape(1);
  if (indices.size() == 0 && p.out_shape(0).size() == 0) return;
  const int batch = static_cast<int>(p.op.attrs.get("batch_dims", 0));
  auto* a = p.emit<GatherNdArgs>(with_index(p.dtype(1), [](auto index) -> StepFn { return gather_nd_step<decltype(index)>; }));
  const int64_t item = static_cast<int64_t>(item_size(p.dtype(0)));
  a->c = coordinates_of(data, batch, static_cast<int>(indices[indices.rank - 1]));
  a->batches = indices.size(0, batch);
  a->per_batch = indices.size(batch, indices.rank - 1);
  a->batch_bytes = data.size(batch, data.rank) * item;
  a->run = data.size(batch + a->c.depth, data.rank) * item;
  p.bind_in(a->data, 0);
  p.bind_in(a->indices, 1);
  p.bind_out(a->out, 0);
}

// ReverseSequence: the first lengths[b] steps of each batch entry in reverse.
void infer_reverse_sequence(InferCtx& c) {
  const Shape &in = c.shape(0), &lengths = c.shape(1);
  const int64_t batch = c.op.attrs.get("batch_axis", 1), time = c.op.attrs.get("time_axis", 0);
  if (in.rank < 2 || batch + time != 1 || batch * time != 0) throw OpError("batch_axis and time_axis must be 0 and 1, and the input's rank at least 2");
  if (lengths.rank != 1 || lengths[0] != in[static_cast<int>(batch)]) throw OpError("sequence_lens of shape " + lengths.str() + " does not fit " + in.str());
  c.output(0, in);
}

struct ReverseArgs {
  const char* in;
  const int64_t* lengths;
  char* out;
  int64_t batch, steps, batch_stride, step_stride, run;
};

void reverse_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ReverseArgs*>(args);
  for (int64_t b = 0; b < a.batch; b++) {
    const int64_t n = a.lengths[b];
    if (n < 0 || n > a.steps) return rt.fail("sequence length %lld is not between 0 and %lld", static_cast<long long>(n), static_cast<long long>(a.steps));
    for (int64_t t = 0; t < a.steps; t++)
      std::memcpy(a.out + b * a.batch_stride + t * a.step_stride, a.in + b * a.batch_stride + (t < n ? n - 1 - t : t) * a.step_stride, static_cast<size_t>(a.run));
  }
}

void plan_reverse_sequence(PlanCtx& p) {
  const Shape& in = p.shape(0);
  if (in.size() == 0 && in[0] * in[1] == 0) return;
  const bool time_first = p.op.attrs.get("time_axis", 0) == 0;
  auto* a = p.emit<ReverseArgs>(reverse_step);
  a->run = in.size(2, in.rank) * static_cast<int64_t>(item_size(p.dtype(0)));
  a->steps = in[time_first ? 0 : 1];
  a->batch = in[time_first ? 1 : 0];
  a->step_stride = time_first ? a->batch * a->run : a->run;
  a->batch_stride = time_first ? a->run : a->steps * a->run;
  p.bind_in(a->in, 0);
  p.bind_in(a->lengths, 1);
  p.bind_out(a->out, 0);
}

const OpDef kTable[] = {
    {"Gather", infer_gather, plan_gather, nullptr},
    {"GatherElements", infer_gather_elements, plan_gather_elements, nullptr},
    {"GatherND", infer_gather_nd, plan_gather_nd, nullptr},
    {"ReverseSequence", infer_reverse_sequence, plan_reverse_sequence, nullptr},
};

}  // namespace

OpFamily gather_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
