// Indices as data: checks, and the walks that Gather and Scatter operators share.
#pragma once
#include "ops/axes.h"

namespace sx {

inline void fail_index(Runtime& rt, int64_t index, int64_t dim) {
  rt.fail("index %lld is out of range for a dim of %lld: allowed are %lld to %lld", static_cast<long long>(index), static_cast<long long>(dim), static_cast<long long>(-dim),
          static_cast<long long>(dim - 1));
}

// Whether `count` indices, `stride` apart, lie in [-dim, dim); fails the run if not.
template <typename Index>
bool check_indices(const Index* indices, int64_t count, int64_t stride, int64_t dim, Runtime& rt) {
  bool bad = false;
  for (int64_t i = 0; i < count; i++) {
    const int64_t k = indices[i * stride];
    bad |= (k >= dim) | (k < -dim);
  }
  if (!bad) return true;
  for (int64_t i = 0; i < count; i++) {
    const int64_t k = indices[i * stride];
    if (k >= dim || k < -dim) {
      fail_index(rt, k, dim);
      break;
    }
  }
  return false;
}

// GatherElements and ScatterElements: each position of the indices, and the place in the data that it names.
struct Elements {
  int rank, axis;
  int64_t dim, axis_stride;             // of the data along the axis
  int64_t dims[kMaxRank], strides[kMaxRank];  // the indices' dims; the data's strides, 0 along the axis
};

inline void check_elements(const Shape& data, const Shape& indices, int64_t axis) {
  if (data.rank == 0 || indices.rank != data.rank) throw OpError("indices of shape " + indices.str() + " must have the rank of data, " + data.str() + ", at least 1");
  const int a = normal_axis(axis, data.rank);
  for (int i = 0; i < data.rank; i++)
    if (i != a && indices[i] > data[i]) throw OpError("indices of shape " + indices.str() + " exceed data of shape " + data.str() + " in dim " + std::to_string(i));
}

inline Elements elements_of(const Shape& data, const Shape& indices, int64_t axis) {
  Elements e{};
  e.rank = data.rank;
  e.axis = normal_axis(axis, data.rank);
  e.dim = data[e.axis];
  int64_t n = 1;
  for (int i = data.rank - 1; i >= 0; i--) {
    e.dims[i] = indices[i];
    e.strides[i] = n;
    n *= data[i];
  }
  e.axis_stride = e.strides[e.axis];
  e.strides[e.axis] = 0;
  return e;
}

// Calls f(position among the indices, place in the data) for all indices in order; all are checked before.
template <typename Index, typename F>
void for_elements(const Elements& e, const Index* indices, Runtime& rt, F&& f) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < e.rank; i++) rows *= e.dims[i];
  const int last = e.rank - 1;
  const int64_t cols = e.dims[last], step = e.strides[last];
  if (!check_indices(indices, rows * cols, 1, e.dim, rt)) return;
  int64_t at[kMaxRank] = {}, base = 0;
  for (int64_t r = 0; r < rows; r++) {
    const Index* row = indices + r * cols;
    for (int64_t c = 0; c < cols; c++) {
      const int64_t k = row[c];
      f(r * cols + c, base + c * step + (k < 0 ? k + e.dim : k) * e.axis_stride);
    }
    for (int i = last - 1; i >= 0; i--) {
      base += e.strides[i];
      if (++at[i] < e.dims[i]) break;
      base -= at[i] * e.strides[i];
      at[i] = 0;
    }
  }
}

// GatherND and ScatterND: rows named by coordinates.
struct Coordinates {
  int depth;
  int64_t dims[kMaxRank];
};

inline Coordinates coordinates_of(const Shape& data, int from, int depth) {
  Coordinates c{};
  c.depth = depth;
  for (int i = 0; i < depth; i++) c.dims[i] = data[from + i];
  return c;
}

// The row that one tuple of coordinates names; -1 after failing the run.
template <typename Index>
int64_t row_of(const Coordinates& c, const Index* at, Runtime& rt) {
  int64_t row = 0;
  for (int i = 0; i < c.depth; i++) {
    const int64_t k = at[i], dim = c.dims[i];
    if (k < -dim || k >= dim) {
      fail_index(rt, k, dim);
      return -1;
    }
    row = row * dim + (k < 0 ? k + dim : k);
  }
  return row;
}

}  // namespace sx
