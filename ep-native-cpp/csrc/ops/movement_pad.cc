// Pad in all its modes, and CenterCropPad.
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/map_copy.h"
#include "ops/movement.h"

namespace sx {
namespace {

struct Width {
  int64_t before = 0, after = 0;
};

// Pads of every dim; negative ones crop.
template <typename Context>
std::vector<Width> widths(Context& c) {
  const Shape& in = c.shape(0);
  const auto pads = c.ints(1);
  const auto axes = c.has(3) ? normal_axes(c.ints(3), in.rank) : all_axes(in.rank);
  if (pads.size() != 2 * axes.size()) throw OpError("pads has " + std::to_string(pads.size()) + " values for " + std::to_string(axes.size()) + " axes of " + in.str());
  std::vector<Width> result(static_cast<size_t>(in.rank));
  for (int64_t n : pads)
    if (n > kMost || n < -kMost) throw OpError("pads has " + std::to_string(n) + ", which is more than memory can hold");
  for (size_t i = 0; i < axes.size(); i++) result[static_cast<size_t>(axes[i])] = {pads[i], pads[i + axes.size()]};
  return result;
}

void infer_pad(InferCtx& c) {
  Shape out = c.shape(0);
  if (c.has(2) && c.shape(2).size() != 1) throw OpError("constant_value must be a scalar, not of shape " + c.shape(2).str());
  const auto all = widths(c);
  for (int i = 0; i < out.rank; i++) {
    out[i] += all[static_cast<size_t>(i)].before + all[static_cast<size_t>(i)].after;
    if (out[i] < 0) throw OpError("pads crop more than the tensor of shape " + c.shape(0).str() + " has");
  }
  c.output(0, out);
}

// What the output's indices of one axis copy. Negative widths crop before anything is mirrored, repeated or wrapped.
AxisMap pad_map(int64_t dim, Width w, const std::string& mode) {
  AxisMap map;
  const int64_t out = dim + w.before + w.after, first = std::max<int64_t>(0, -w.before), size = dim - first - std::max<int64_t>(0, -w.after);
  const bool constant = mode == "constant";
  if (!constant && size < 0) throw OpError("pads crop more than the " + std::to_string(dim) + " elements of an axis");
  if (!constant && size == 0 && out > 0) throw OpError("mode " + mode + " has no element to pad with");
  if (mode == "reflect" && std::max(w.before, w.after) >= size && size > 0)
    throw OpError("mode reflect cannot add " + std::to_string(std::max(w.before, w.after)) + " elements to an axis of " + std::to_string(size));
  for (int64_t i = 0; i < out; i++) {
    int64_t k = i - std::max<int64_t>(w.before, 0);  // among the elements that are left
    if (constant) {
      k = i - w.before;
      map.push_back(k >= 0 && k < dim ? static_cast<int32_t>(k) : -1);
      continue;
    }
    if (mode == "edge") {
      k = std::min(std::max<int64_t>(k, 0), size - 1);
    } else if (mode == "wrap") {
      k = (k % size + size) % size;
    } else {
      k = k < 0 ? -k : k;
      k = k >= size ? 2 * (size - 1) - k : k;
    }
    map.push_back(static_cast<int32_t>(first + k));
  }
  return map;
}

void plan_pad(PlanCtx& p) {
  const Shape& in = p.shape(0);
  const std::string mode = p.op.attrs.gets("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") throw OpError("pad mode " + mode + " is not one of constant, reflect, edge, wrap");
  const auto all = widths(p);
  std::vector<AxisMap> maps(all.size());
  for (size_t i = 0; i < all.size(); i++)
    if (all[i].before != 0 || all[i].after != 0) maps[i] = pad_map(in[static_cast<int>(i)], all[i], mode);
  emit_map_copy(p, 0, 0, maps, Fill{p.has(2) ? 2 : -1, 0});
}

// CenterCropPad: an odd rest is cropped or padded at the end.
template <typename Context>
Shape crop_pad_shape(Context& c) {
  Shape out = c.shape(0);
  const auto wanted = c.ints(1);
  const auto axes = c.op.attrs.has("axes") ? normal_axes(c.op.attrs.list("axes"), out.rank) : all_axes(out.rank);
  if (wanted.size() != axes.size()) throw OpError("CenterCropPad got " + std::to_string(wanted.size()) + " sizes for " + std::to_string(axes.size()) + " axes");
  for (size_t i = 0; i < axes.size(); i++) {
    if (wanted[i] < 0) throw OpError("CenterCropPad got a negative size");
    out[axes[i]] = wanted[i];
  }
  return out;
}

void infer_center_crop_pad(InferCtx& c) { c.output(0, crop_pad_shape(c)); }

void plan_center_crop_pad(PlanCtx& p) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  std::vector<AxisMap> maps(static_cast<size_t>(in.rank));
  for (int i = 0; i < in.rank; i++) {
    const int64_t grow = out[i] - in[i];
    if (grow > 0) maps[static_cast<size_t>(i)] = pad_map(in[i], {grow / 2, grow - grow / 2}, "constant");
    if (grow < 0) maps[static_cast<size_t>(i)] = pad_map(in[i], {-(-grow / 2), grow - -(-grow / 2)}, "constant");
  }
  emit_map_copy(p, 0, 0, maps, Fill{});
}

const OpDef kTable[] = {
    {"Pad", infer_pad, plan_pad, nullptr},
    {"CenterCropPad", infer_center_crop_pad, plan_center_crop_pad, nullptr},
};

}  // namespace

OpFamily pad_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
