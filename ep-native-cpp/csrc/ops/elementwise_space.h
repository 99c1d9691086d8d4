// The iteration space of an elementwise program, with dimensions joined where all operands allow it.
#pragma once
#include <vector>

#include "engine/types.h"

namespace sx {

struct Space {
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  std::vector<std::vector<int64_t>> strides;  // elements, per operand; 0 where it is repeated

  // The last dimensions in which the output runs contiguously: [rows, cols]. One dimension, or two where the last one alone
  // is too short for a loop.
  int64_t rows = 1, cols = 1;
  int outer = 0;  // dimensions before them
};

// `out` has no dimension of 0; every operand broadcasts to it.
inline Space make_space(const Shape& out, const std::vector<Shape>& operands) {
  Space s;
  const size_t n = operands.size();
  s.strides.assign(n, {});
  for (int d = 0; d < out.rank; d++) {
    if (out[d] == 1) continue;
    std::vector<int64_t> stride(n);
    for (size_t k = 0; k < n; k++) {
      const Shape& o = operands[k];
      const int at = d - (out.rank - o.rank);
      stride[k] = at < 0 || o[at] == 1 ? 0 : o.size(at + 1, o.rank);
    }
    bool joins = s.rank > 0;
    for (size_t k = 0; joins && k < n; k++) joins = s.strides[k].back() == stride[k] * out[d];
    if (joins) {
      s.dims[s.rank - 1] *= out[d];
      for (size_t k = 0; k < n; k++) s.strides[k].back() = stride[k];
    } else {
      s.dims[s.rank++] = out[d];
      for (size_t k = 0; k < n; k++) s.strides[k].push_back(stride[k]);
    }
  }
  if (s.rank == 0) {
    s.dims[s.rank++] = 1;
    for (auto& k : s.strides) k.push_back(1);
  }
  constexpr int64_t kShort = 64;
  s.cols = s.dims[s.rank - 1];
  s.outer = s.rank - 1;
  if (s.cols < kShort && s.rank > 1) s.rows = s.dims[--s.outer];
  return s;
}

}  // namespace sx
