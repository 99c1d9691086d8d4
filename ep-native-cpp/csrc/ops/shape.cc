// Operators that only rename memory (Reshape, Squeeze, ...) or speak of shapes (Shape, Size).
#include <algorithm>

#include "ops/table.h"

namespace sx {
namespace {

void nothing(PlanCtx&) {}

void as_view(PlanCtx& p) { p.view(0, 0); }

void infer_shape(InferCtx& c) {
  const Shape& s = c.shape(0);
  int64_t start = c.op.attrs.get("start", 0), stop = c.op.attrs.get("end", s.rank);
  start = std::min<int64_t>(std::max<int64_t>(start < 0 ? start + s.rank : start, 0), s.rank);
  stop = std::min<int64_t>(std::max<int64_t>(stop < 0 ? stop + s.rank : stop, 0), s.rank);
  Shape out;
  out.push(std::max<int64_t>(stop - start, 0));
  c.output(0, out);
}

void infer_size(InferCtx& c) { c.output(0, Shape()); }

void infer_same(InferCtx& c) { c.output(0, c.shape(0)); }

void infer_reshape(InferCtx& c) {
  const Shape& in = c.shape(0);
  const auto target = c.ints(1);
  const bool allow_zero = c.op.attrs.get("allowzero", 0) != 0;
  Shape out;
  int64_t known = 1, rest = 1;
  // A -1 is inferred from the dims that are not copied, so that [0, -1] flattens an empty batch.
  for (int i = 0; i < in.rank; i++)
    if (allow_zero || i >= static_cast<int>(target.size()) || target[i] != 0) rest *= in[i];
  int free_at = -1;
  for (size_t i = 0; i < target.size(); i++) {
    int64_t d = target[i];
    if (d == 0 && !allow_zero) {
      if (static_cast<int>(i) >= in.rank) throw OpError("cannot reshape " + in.str() + ": dimension " + std::to_string(i) + " to copy does not exist");
      out.push(in[static_cast<int>(i)]);
      continue;
    }
    if (d == -1) {
      if (free_at >= 0) throw OpError("the target shape has two -1");
      free_at = static_cast<int>(i);
      d = 1;
    } else if (d < 0) {
      throw OpError("the target shape has a negative dimension");
    }
    known = times(known, d);
    out.push(d);
  }
  if (free_at >= 0) {
    if (known == 0 || rest % known != 0) throw OpError("cannot reshape " + in.str() + " into " + out.str() + " with one dimension free");
    out[free_at] = rest / known;
  }
  int64_t made = 1;
  for (int i = 0; i < out.rank; i++) made = times(made, out[i]);
  if (made != in.size()) throw OpError("cannot reshape " + in.str() + " (" + std::to_string(in.size()) + " elements) into " + out.str());
  c.output(0, out);
}

int64_t axis_of(int64_t axis, int rank, bool inclusive = false) {
  const int64_t limit = rank + (inclusive ? 1 : 0);
  if (axis < -rank || axis >= limit) throw OpError("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return axis < 0 ? axis + rank : axis;
}

void infer_flatten(InferCtx& c) {
  const Shape& in = c.shape(0);
  const int axis = static_cast<int>(axis_of(c.op.attrs.get("axis", 1), in.rank, true));
  Shape out;
  out.push(in.size(0, axis));
  out.push(in.size(axis, in.rank));
  c.output(0, out);
}

void infer_squeeze(InferCtx& c) {
  const Shape& in = c.shape(0);
  bool drop[kMaxRank] = {};
  if (c.has(1)) {
    for (int64_t a : c.ints(1)) {
      const int64_t axis = axis_of(a, in.rank);
      if (in[static_cast<int>(axis)] != 1) throw OpError("cannot squeeze axis " + std::to_string(axis) + " of " + in.str());
      drop[axis] = true;
    }
  } else {
    for (int i = 0; i < in.rank; i++) drop[i] = in[i] == 1;
  }
  Shape out;
  for (int i = 0; i < in.rank; i++)
    if (!drop[i]) out.push(in[i]);
  c.output(0, out);
}

void infer_unsqueeze(InferCtx& c) {
  const Shape& in = c.shape(0);
  const auto axes = c.ints(1);
  const int rank = in.rank + static_cast<int>(axes.size());
  if (rank > kMaxRank) throw std::length_error(too_many_dimensions());
  bool is_new[kMaxRank] = {};
  for (int64_t a : axes) {
    const int64_t axis = axis_of(a, rank);
    if (is_new[axis]) throw OpError("axis " + std::to_string(axis) + " is named twice");
    is_new[axis] = true;
  }
  Shape out;
  for (int i = 0, k = 0; i < rank; i++) out.push(is_new[i] ? 1 : in[k++]);
  c.output(0, out);
}

const OpDef kTable[] = {
    {"Shape", infer_shape, nothing, nullptr},
    {"Size", infer_size, nothing, nullptr},
    {"Identity", infer_same, as_view, nullptr},
    {"Reshape", infer_reshape, as_view, nullptr},
    {"Flatten", infer_flatten, as_view, nullptr},
    {"Squeeze", infer_squeeze, as_view, nullptr},
    {"Unsqueeze", infer_unsqueeze, as_view, nullptr},
};

}  // namespace

OpFamily shape_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
