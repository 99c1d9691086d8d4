#include "ops/conv_shape.h"

#include <algorithm>

namespace sx {
namespace {

int64_t value(const std::vector<int64_t>& list, size_t i, int64_t otherwise) { return list.empty() ? otherwise : list.at(i); }

std::string text(const std::vector<int64_t>& list) {
  std::string s = "[";
  for (size_t i = 0; i < list.size(); i++) s += (i ? ", " : "") + std::to_string(list[i]);
  return s + "]";
}

void check(const std::vector<int64_t>& list, size_t wanted, const char* name) {
  if (!list.empty() && list.size() != wanted)
    throw OpError(std::string(name) + " has " + std::to_string(list.size()) + " values; these spatial axes take " + std::to_string(wanted));
}

// Windows of a pool with ceil_mode that would begin beyond the input and its padded start are left out.
int64_t outputs(const Axis& a, bool ceil) {
  const int64_t room = a.in + a.begin + a.end - a.reach() - 1 + (ceil ? a.stride - 1 : 0);
  int64_t out = room >= 0 ? room / a.stride + 1 : 0;
  if (ceil && (out - 1) * a.stride >= a.in + a.begin) out--;
  if (out < 1 && a.in > 0)
    throw OpError("a kernel that spans " + std::to_string(a.reach() + 1) + " elements does not fit into " + std::to_string(a.in) + " with pads (" +
                  std::to_string(a.begin) + ", " + std::to_string(a.end) + ")");
  return std::max<int64_t>(out, 0);
}

void same(Axis& a, bool upper) {
  a.out = (a.in + a.stride - 1) / a.stride;
  const int64_t total = std::max<int64_t>(0, (a.out - 1) * a.stride + a.reach() + 1 - a.in);
  a.begin = upper ? total / 2 : total - total / 2;
  a.end = total - a.begin;
}

}  // namespace

void check_auto_pad(const std::string& mode) {
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER")
    throw OpError("auto_pad is '" + mode + "'; it must be NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

void check_kernel_shape(const Attributes& attrs, const int64_t* kernel, size_t axes) {
  if (!attrs.has("kernel_shape")) return;
  const std::vector<int64_t> given = attrs.list("kernel_shape"), real(kernel, kernel + axes);
  if (given != real) throw OpError("kernel_shape " + text(given) + " differs from the spatial shape " + text(real) + " of W");
}

Windows windows_of(const Attributes& attrs, const Shape& x, const int64_t* kernel, bool pool) {
  const int spatial = x.rank - 2;
  if (spatial < 1 || spatial > 3) throw OpError("the input must have 3 to 5 dimensions, not shape " + x.str());
  const size_t n = static_cast<size_t>(spatial);
  const auto given = attrs.list("kernel_shape"), strides = attrs.list("strides"), dilations = attrs.list("dilations"), pads = attrs.list("pads");
  const std::string mode = attrs.gets("auto_pad", "NOTSET");
  check_auto_pad(mode);
  if (kernel) check_kernel_shape(attrs, kernel, n);
  check(given, n, "kernel_shape");
  if (pool && given.empty()) throw OpError("kernel_shape has no values; a pool takes one per spatial axis");
  check(strides, n, "strides");
  check(dilations, n, "dilations");
  check(pads, 2 * n, "pads");
  Windows w;
  w.n = x[0];
  w.c = x[1];
  w.spatial = spatial;
  for (int i = 0; i < spatial; i++) {
    Axis& a = w.axis(i);
    const size_t k = static_cast<size_t>(i);
    a.in = x[2 + i];
    a.kernel = kernel ? kernel[i] : value(given, k, 1);
    a.stride = value(strides, k, 1);
    a.dilation = value(dilations, k, 1);
    if (a.kernel < 1 || a.stride < 1 || a.dilation < 1) throw OpError("kernel, strides and dilations must be positive");
    if (a.stride > kMost || a.dilation > kMost || a.kernel > kMost / a.dilation)
      throw OpError("strides and spans of kernels go up to " + std::to_string(kMost) + " elements");
    const bool ceil = pool && attrs.get("ceil_mode", 0) != 0;
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      same(a, mode == "SAME_UPPER");
      continue;
    }
    if (mode != "VALID") {
      a.begin = value(pads, k, 0);
      a.end = value(pads, k + n, 0);
    }
    if (a.begin > kMost || a.end > kMost) throw OpError("pads of " + std::to_string(std::max(a.begin, a.end)) + " are more than memory can hold");
    if (a.begin < 0 || a.end < 0) throw OpError("pads must not be negative");
    if (pool && (a.begin > a.reach() || a.end > a.reach())) throw OpError("pads of a pool must be smaller than its kernel");
    a.out = outputs(a, ceil && mode != "VALID");
  }
  return w;
}

Shape shape_out(const Windows& w, int64_t channels) {
  Shape s;
  s.push(w.n);
  s.push(channels);
  Windows copy = w;
  for (int i = 0; i < w.spatial; i++) s.push(copy.axis(i).out);
  return s;
}

}  // namespace sx
