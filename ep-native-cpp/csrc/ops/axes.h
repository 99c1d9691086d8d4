// Axis numbers and small shape arithmetic of the movement operators.
#pragma once
#include <algorithm>
#include <string>

#include "engine/op.h"

namespace sx {

// An axis as ONNX writes it, in [0, rank).
inline int normal_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) throw OpError("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// `axes` in [0, rank), all of them where none are given; an axis named twice is an error.
inline std::vector<int> normal_axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> result;
  for (int64_t a : axes) {
    const int axis = normal_axis(a, rank);
    if (std::find(result.begin(), result.end(), axis) != result.end()) throw OpError("axis " + std::to_string(axis) + " is named twice");
    result.push_back(axis);
  }
  return result;
}

inline std::vector<int> all_axes(int rank) {
  std::vector<int> result(static_cast<size_t>(rank));
  for (int i = 0; i < rank; i++) result[static_cast<size_t>(i)] = i;
  return result;
}

// The one element of input i, an integer scalar.
template <typename Context>
int64_t scalar(Context& c, size_t i, const char* name) {
  if (c.shape(i).size() != 1) throw OpError(std::string(name) + " must hold one value, not shape " + c.shape(i).str());
  return c.ints(i)[0];
}

inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

}  // namespace sx
