// Positions are computed in double. Where they decide (nearest, inside or outside) they are first rounded to float, so
// that a scale such as 1/3, which no float holds exactly, meets the integers and halves it means.
#include "ops/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace sx {
namespace {

std::vector<double> positions(int64_t size, int64_t out, Scale s, const std::string& how, double start, double end) {
  std::vector<double> at(static_cast<size_t>(out));
  const double length = static_cast<double>(size) * s.up / s.down, n = static_cast<double>(size), m = static_cast<double>(out);
  for (int64_t i = 0; i < out; i++) {
    const double x = static_cast<double>(i);
    double& p = at[static_cast<size_t>(i)];
    if (how == "half_pixel" || (how == "pytorch_half_pixel" && out > 1))
      p = (x + 0.5) * s.down / s.up - 0.5;
    else if (how == "tf_half_pixel_for_nn")
      p = (x + 0.5) * s.down / s.up;
    else if (how == "pytorch_half_pixel")
      p = 0;
    else if (how == "half_pixel_symmetric")
      p = n / 2 * (1 - m / length) + (x + 0.5) * s.down / s.up - 0.5;
    else if (how == "asymmetric")
      p = x * s.down / s.up;
    else if (how == "align_corners")
      p = length == 1 || out == 1 ? 0 : x * (n - 1) / (length - 1);
    else if (how == "tf_crop_and_resize")
      p = out == 1 ? 0.5 * (start + end) * (n - 1) : start * (n - 1) + x * (end - start) * (n - 1) / (m - 1);
    else
      throw OpError("coordinate_transformation_mode " + how + " is not one that Resize defines");
  }
  return at;
}

int64_t nearest(double x, const std::string& mode) {
  if (mode == "round_prefer_floor") return static_cast<int64_t>(std::ceil(x - 0.5));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  throw OpError("nearest_mode " + mode + " is none of round_prefer_floor, round_prefer_ceil, floor, ceil");
}

double filter(double distance, const ResizeMode& mode) {
  if (mode.mode == "linear") return std::max(1 - distance, 0.0);
  const double a = mode.cubic;
  if (distance <= 1) return ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  if (distance < 2) return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
  return 0;
}

// A weight of 0 would make NaN of inf: such a tap takes over half of the heaviest one.
void without_zeros(int32_t* index, double* weights, int64_t taps) {
  const int64_t heaviest = std::max_element(weights, weights + taps, [](double a, double b) { return std::fabs(a) < std::fabs(b); }) - weights;
  for (int64_t t = 0; t < taps; t++)
    if (weights[t] == 0) {
      weights[heaviest] /= 2;
      weights[t] = weights[heaviest];
      index[t] = index[heaviest];
    }
}

// Drops taps that no output element uses.
void drop_unused(AxisPlan& plan) {
  std::vector<int64_t> used;
  for (int64_t t = 0; t < plan.taps; t++)
    for (int64_t i = 0; i < plan.size; i++)
      if (plan.weights[static_cast<size_t>(i * plan.taps + t)] != 0) {
        used.push_back(t);
        break;
      }
  AxisPlan kept = plan;
  kept.index.clear();
  kept.weights.clear();
  kept.taps = static_cast<int64_t>(used.size());
  for (int64_t i = 0; i < plan.size; i++)
    for (int64_t t : used) {
      kept.index.push_back(plan.index[static_cast<size_t>(i * plan.taps + t)]);
      kept.weights.push_back(plan.weights[static_cast<size_t>(i * plan.taps + t)]);
    }
  plan = std::move(kept);
}

}  // namespace

int64_t scaled_size(int64_t size, double scale) {
  const double n = static_cast<double>(size), product = n * scale;
  double floor = std::floor(product);
  // The product may have been rounded up to an integer.
  if (floor == product && std::fma(n, scale, -product) < 0) floor -= 1;
  return static_cast<int64_t>(floor);
}

AxisPlan resize_axis(int64_t size, int64_t out, Scale scale, const ResizeMode& mode, double start, double end) {
  AxisPlan plan;
  plan.size = out;
  const bool cropping = mode.transformation == "tf_crop_and_resize";
  if (scale.up == scale.down && out == size && (!cropping || (start == 0 && end == 1))) {
    plan.identity = true;
    return plan;
  }
  if (size == 0 || out == 0) {
    plan.index.assign(static_cast<size_t>(out), 0);
    return plan;
  }
  const auto at = positions(size, out, scale, mode.transformation, start, end);
  const double last = static_cast<double>(size - 1);
  if (cropping) {
    bool any = false;
    for (double p : at) {
      const double x = static_cast<float>(p);
      plan.outside.push_back(x < 0 || x > last);
      any |= plan.outside.back() != 0;
    }
    if (!any) plan.outside.clear();
  }
  if (mode.mode == "nearest") {
    if (mode.antialias) throw OpError("antialias is for the modes linear and cubic, not nearest");
    for (double p : at) plan.index.push_back(static_cast<int32_t>(std::min(std::max<int64_t>(nearest(static_cast<float>(p), mode.nearest), 0), size - 1)));
    return plan;
  }
  if (mode.mode != "linear" && mode.mode != "cubic") throw OpError("mode " + mode.mode + " is none of nearest, linear, cubic");
  const double shrink = mode.antialias ? std::min(1.0, scale.up / scale.down) : 1;
  const int64_t reach = static_cast<int64_t>(std::ceil((mode.mode == "linear" ? 1 : 2) / shrink));
  plan.taps = 2 * reach;
  for (double p : at) {
    const double base = std::floor(p);
    const size_t row = plan.weights.size();
    double sum = 0;
    for (int64_t t = 1 - reach; t <= reach; t++) {
      const double k = base + static_cast<double>(t);
      double w = filter(std::fabs(k - p) * shrink, mode);
      if (mode.exclude_outside && (k < 0 || k > last)) w = 0;
      plan.index.push_back(static_cast<int32_t>(std::min(std::max(k, 0.0), last)));
      plan.weights.push_back(w);
      sum += w;
    }
    if (mode.exclude_outside || mode.antialias)
      for (size_t i = row; i < plan.weights.size(); i++) plan.weights[i] /= sum;
  }
  drop_unused(plan);
  for (int64_t i = 0; i < out; i++) without_zeros(plan.index.data() + i * plan.taps, plan.weights.data() + i * plan.taps, plan.taps);
  return plan;
}

}  // namespace sx
