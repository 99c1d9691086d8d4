// Resize: output sizes, and for each axis which input elements an output element takes with what weight.
#pragma once
#include <string>
#include <vector>

#include "engine/op.h"

namespace sx {

// Resize's attributes that decide weights.
struct ResizeMode {
  std::string mode = "nearest", transformation = "half_pixel", nearest = "round_prefer_floor";
  double cubic = -0.75;
  bool exclude_outside = false, antialias = false;
};

// The scale of an axis as a fraction.
struct Scale {
  double up = 1, down = 1;
};

// Output element i of an axis is the sum of weights[i * taps + t] * input[index[i * taps + t]]; without weights it is one
// input element. `outside[i]`: it takes the extrapolation value instead; empty if there are none.
struct AxisPlan {
  bool identity = false;
  int64_t size = 0, taps = 1;
  std::vector<int32_t> index;
  std::vector<double> weights;
  std::vector<char> outside;
};

// How `size` elements become `out`; `start` and `end` of the region count in mode tf_crop_and_resize only.
AxisPlan resize_axis(int64_t size, int64_t out, Scale scale, const ResizeMode& mode, double start, double end);

// floor(size * scale) for a scale that is a double, exactly.
int64_t scaled_size(int64_t size, double scale);

}  // namespace sx
