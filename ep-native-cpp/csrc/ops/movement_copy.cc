// Operators that are strided copies: Transpose, Slice, Split, Concat, Expand, Tile, DepthToSpace, SpaceToDepth.
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/movement.h"

namespace sx {
namespace {

// Transpose: perm (default: reversed).
std::vector<int> permutation(const Attributes& attrs, int rank) {
  if (!attrs.has("perm")) {
    std::vector<int> perm = all_axes(rank);
    std::reverse(perm.begin(), perm.end());
    return perm;
  }
  std::vector<int> perm = normal_axes(attrs.list("perm"), rank);
  if (static_cast<int>(perm.size()) != rank) throw OpError("perm has " + std::to_string(perm.size()) + " axes for a tensor of rank " + std::to_string(rank));
  return perm;
}

void infer_transpose(InferCtx& c) {
  const Shape& in = c.shape(0);
  Shape out;
  for (int axis : permutation(c.op.attrs, in.rank)) out.push(in[axis]);
  c.output(0, out);
}

void plan_transpose(PlanCtx& p) {
  int64_t in[kMaxRank], out[kMaxRank];
  strides_of(p.shape(0), in);
  strides_of(p.out_shape(0), out);
  Strided s;
  const auto perm = permutation(p.op.attrs, p.shape(0).rank);
  for (size_t i = 0; i < perm.size(); i++) s.add(p.shape(0)[perm[i]], in[perm[i]], out[i]);
  emit_copy_or_view(p, 0, 0, s);
}

// Slice: for each dim the first index, the step and the count.
struct Cut {
  int64_t first = 0, step = 1, count = 0;
};

Cut clamp(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (step == 0) throw OpError("a slice step is 0; it must be a positive or negative integer");
  if (start < 0) start = start < -dim ? -1 : start + dim;
  if (end < 0) end = end < -dim ? -1 : end + dim;
  Cut cut;
  cut.step = step;
  if (step > 0) {
    start = std::min(std::max<int64_t>(start, 0), dim);
    end = std::min(std::max<int64_t>(end, 0), dim);
    cut.count = end > start ? (end - start - 1) / step + 1 : 0;
  } else {
    start = std::min(std::max<int64_t>(start, 0), dim - 1);
    end = std::min(std::max<int64_t>(end, -1), dim - 1);
    // -(step + 1) does not overflow for the least integer.
    cut.count = start > end ? static_cast<int64_t>(static_cast<uint64_t>(start - end - 1) / (static_cast<uint64_t>(-(step + 1)) + 1)) + 1 : 0;
  }
  cut.first = start;
  return cut;
}

template <typename Context>
std::vector<Cut> cuts(Context& c) {
  const Shape& in = c.shape(0);
  const auto starts = c.ints(1), ends = c.ints(2);
  const auto axes = c.has(3) ? normal_axes(c.ints(3), in.rank) : all_axes(static_cast<int>(starts.size()));
  const auto steps = c.has(4) ? c.ints(4) : std::vector<int64_t>(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size() || static_cast<int>(starts.size()) > in.rank)
    throw OpError("starts, ends, axes and steps must have one length, at most the rank of " + in.str());
  std::vector<Cut> result(static_cast<size_t>(in.rank));
  for (int i = 0; i < in.rank; i++) result[static_cast<size_t>(i)].count = in[i];
  for (size_t i = 0; i < axes.size(); i++) result[static_cast<size_t>(axes[i])] = clamp(starts[i], ends[i], steps[i], in[axes[i]]);
  return result;
}

void infer_slice(InferCtx& c) {
  Shape out;
  for (const Cut& cut : cuts(c)) out.push(cut.count);
  c.output(0, out);
}

void plan_slice(PlanCtx& p) {
  int64_t in[kMaxRank], out[kMaxRank];
  strides_of(p.shape(0), in);
  strides_of(p.out_shape(0), out);
  Strided s;
  const auto parts = cuts(p);
  for (size_t i = 0; i < parts.size(); i++) {
    s.in_offset += parts[i].first * in[i];
    s.add(parts[i].count, parts[i].count > 1 ? parts[i].step * in[i] : in[i], out[i]);
  }
  if (s.size() == 0) return;
  emit_copy_or_view(p, 0, 0, s);
}

// Split: sizes by input, by num_outputs, or by the number of outputs.
template <typename Context>
std::vector<int64_t> split_sizes(Context& c) {
  const Shape& in = c.shape(0);
  const int64_t dim = in[normal_axis(c.op.attrs.get("axis", 0), in.rank)];
  const int64_t outputs = static_cast<int64_t>(c.op.out.size());
  std::vector<int64_t> sizes;
  if (c.has(1)) {
    if (c.op.attrs.has("num_outputs")) throw OpError("Split takes the input `split` or the attribute `num_outputs`, not both");
    sizes = c.ints(1);
  } else {
    const int64_t parts = c.op.attrs.get("num_outputs", outputs);
    if (parts <= 0) throw OpError("cannot split into " + std::to_string(parts) + " parts");
    if (parts < outputs) throw OpError("num_outputs is " + std::to_string(parts) + ", but there are " + std::to_string(outputs) + " outputs");
    const int64_t size = ceil_div(dim, parts);
    // Outputs at the end that nobody wants may be missing.
    for (int64_t i = 0; i < outputs; i++) sizes.push_back(std::max<int64_t>(0, std::min(size, dim - i * size)));
    return sizes;
  }
  int64_t sum = 0;
  for (int64_t n : sizes) {
    if (n < 0) throw OpError("a split size is negative");
    sum += n;
  }
  if (sum != dim || static_cast<int64_t>(sizes.size()) != outputs)
    throw OpError(std::to_string(sizes.size()) + " split sizes that add up to " + std::to_string(sum) + " do not give " + std::to_string(outputs) + " parts of a dim of " +
                  std::to_string(dim));
  return sizes;
}

void infer_split(InferCtx& c) {
  Shape out = c.shape(0);
  const int axis = normal_axis(c.op.attrs.get("axis", 0), out.rank);
  const auto sizes = split_sizes(c);
  for (size_t i = 0; i < sizes.size(); i++) {
    out[axis] = sizes[i];
    c.output(i, out);
  }
}

void plan_split(PlanCtx& p) {
  const Shape& in = p.shape(0);
  const int axis = normal_axis(p.op.attrs.get("axis", 0), in.rank);
  const int64_t outer = in.size(0, axis), inner = in.size(axis + 1, in.rank);
  int64_t at = 0;
  const auto sizes = split_sizes(p);
  for (size_t i = 0; i < sizes.size(); i++) {
    const int64_t run = sizes[i] * inner;
    Strided s;
    s.in_offset = at;
    s.add(outer, in[axis] * inner, run);
    s.add(run, 1, 1);
    at += run;
    if (p.has_out(i) && s.size() > 0) emit_copy_or_view(p, i, 0, s);
  }
}

void infer_concat(InferCtx& c) {
  Shape out = c.shape(0);
  const int axis = normal_axis(c.op.attrs.get("axis", 0), out.rank);
  for (size_t i = 1; i < c.op.in.size(); i++) {
    const Shape& in = c.shape(i);
    bool fits = in.rank == out.rank;
    for (int k = 0; fits && k < out.rank; k++) fits = k == axis || in[k] == out[k];
    if (!fits) throw OpError("cannot concatenate " + c.shape(0).str() + " and " + in.str() + " along axis " + std::to_string(axis));
    out[axis] += in[axis];
  }
  c.output(0, out);
}

void plan_concat(PlanCtx& p) {
  const Shape& out = p.out_shape(0);
  const int axis = normal_axis(p.op.attrs.get("axis", 0), out.rank);
  const int64_t outer = out.size(0, axis), total = out.size(axis, out.rank);
  int64_t at = 0;
  for (size_t i = 0; i < p.op.in.size(); i++) {
    const int64_t run = p.shape(i).size(axis, out.rank);
    Strided s;
    s.out_offset = at;
    s.add(outer, run, total);
    s.add(run, 1, 1);
    at += run;
    if (p.op.in.size() == 1)
      emit_copy_or_view(p, 0, i, s);
    else
      emit_copy(p, 0, i, s);
  }
}

void infer_expand(InferCtx& c) {
  const Shape& in = c.shape(0);
  const auto target = c.ints(1);
  const int rank = std::max(in.rank, static_cast<int>(target.size()));
  Shape out;
  for (int i = 0; i < rank; i++) {
    const int ia = i - (rank - in.rank), it = i - (rank - static_cast<int>(target.size()));
    const int64_t a = ia >= 0 ? in[ia] : 1, t = it >= 0 ? target[static_cast<size_t>(it)] : 1;
    if ((a != t && a != 1 && t != 1) || t < 0) throw OpError("cannot expand " + in.str() + ": dim " + std::to_string(a) + " against " + std::to_string(t));
    out.push(a == 1 ? t : a);
  }
  c.output(0, out);
}

void plan_expand(PlanCtx& p) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  int64_t from[kMaxRank], to[kMaxRank];
  strides_of(in, from);
  strides_of(out, to);
  Strided s;
  for (int i = 0; i < out.rank; i++) {
    const int k = i - (out.rank - in.rank);
    s.add(out[i], k >= 0 && in[k] != 1 ? from[k] : 0, to[i]);
  }
  emit_copy_or_view(p, 0, 0, s);
}

void infer_tile(InferCtx& c) {
  Shape out = c.shape(0);
  const auto repeats = c.ints(1);
  if (static_cast<int>(repeats.size()) != out.rank || std::any_of(repeats.begin(), repeats.end(), [](int64_t n) { return n < 0; }))
    throw OpError("repeats must hold one non-negative count for each dim of " + out.str());
  for (int i = 0; i < out.rank; i++) out[i] = times(out[i], repeats[static_cast<size_t>(i)]);
  c.output(0, out);
}

void plan_tile(PlanCtx& p) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  int64_t from[kMaxRank], to[kMaxRank];
  strides_of(in, from);
  strides_of(out, to);
  Strided s;
  for (int i = 0; i < out.rank; i++) {
    s.add(in[i] > 0 ? out[i] / in[i] : 0, 0, to[i] * in[i]);
    s.add(in[i], from[i], to[i]);
  }
  if (s.size() == 0) return;
  emit_copy_or_view(p, 0, 0, s);
}

// DepthToSpace and SpaceToDepth: blocks of b x b pixels to and from channels.
int64_t block_size(const Attributes& attrs, const Shape& in) {
  const int64_t b = attrs.get("blocksize", 0);
  const std::string mode = attrs.gets("mode", "DCR");
  if (in.rank != 4 || b < 1 || b > INT32_MAX || (mode != "DCR" && mode != "CRD"))
    throw OpError("blocks are moved in [N, C, H, W] with blocksize from 1 to 2147483647 and mode DCR or CRD, got " + in.str() + ", " + std::to_string(b) + ", " + mode);
  return b;
}

void infer_depth_to_space(InferCtx& c) {
  Shape s = c.shape(0);
  const int64_t b = block_size(c.op.attrs, s);
  if (s[1] % (b * b) != 0) throw OpError("DepthToSpace with blocksize " + std::to_string(b) + " needs a multiple of " + std::to_string(b * b) + " channels, got " + s.str());
  s[1] /= b * b;
  s[2] = times(s[2], b);
  s[3] = times(s[3], b);
  c.output(0, s);
}

void infer_space_to_depth(InferCtx& c) {
  Shape s = c.shape(0);
  const int64_t b = block_size(c.op.attrs, s);
  if (s[2] % b != 0 || s[3] % b != 0) throw OpError("SpaceToDepth with blocksize " + std::to_string(b) + " needs H and W that it divides, got " + s.str());
  s[1] = times(s[1], b * b);
  s[2] /= b;
  s[3] /= b;
  c.output(0, s);
}

void plan_depth_to_space(PlanCtx& p) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  const int64_t b = p.op.attrs.get("blocksize", 1), depth = out[1], h = in[2], w = in[3];
  const bool crd = p.op.attrs.gets("mode", "DCR") == "CRD";
  // Strides of a channel's parts: its depth, its row in the block, its column in the block.
  const int64_t plane = h * w, of_depth = crd ? b * b * plane : plane, of_row = (crd ? b : b * depth) * plane, of_column = (crd ? 1 : depth) * plane;
  Strided s;
  s.add(in[0], in[1] * plane, in[1] * plane);
  s.add(depth, of_depth, plane * b * b);
  s.add(h, w, b * w * b);
  s.add(b, of_row, w * b);
  s.add(w, 1, b);
  s.add(b, of_column, 1);
  emit_copy_or_view(p, 0, 0, s);
}

void plan_space_to_depth(PlanCtx& p) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  const int64_t b = p.op.attrs.get("blocksize", 1), c = in[1], h = out[2], w = out[3], plane = h * w;
  const bool crd = p.op.attrs.gets("mode", "DCR") == "CRD";
  const int64_t of_depth = crd ? b * b * plane : plane, of_row = (crd ? b : b * c) * plane, of_column = (crd ? 1 : c) * plane;
  Strided s;
  s.add(in[0], c * plane * b * b, c * plane * b * b);
  auto channel = [&] { s.add(c, plane * b * b, of_depth); };
  if (crd) channel();
  s.add(b, w * b, of_row);
  s.add(b, 1, of_column);
  if (!crd) channel();
  s.add(h, b * w * b, w);
  s.add(w, b, 1);
  emit_copy_or_view(p, 0, 0, s);
}

const OpDef kTable[] = {
    {"Transpose", infer_transpose, plan_transpose, nullptr},
    {"Slice", infer_slice, plan_slice, nullptr},
    {"Split", infer_split, plan_split, nullptr},
    {"Concat", infer_concat, plan_concat, nullptr},
    {"Expand", infer_expand, plan_expand, nullptr},
    {"Tile", infer_tile, plan_tile, nullptr},
    {"DepthToSpace", infer_depth_to_space, plan_depth_to_space, nullptr},
    {"SpaceToDepth", infer_space_to_depth, plan_space_to_depth, nullptr},
};

}  // namespace

OpFamily copy_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
