// Copies whose source is chosen per axis: Pad, nearest-neighbour Resize.
#pragma once
#include <vector>

#include "engine/op.h"

namespace sx {

// For each index of an output axis the input's index, or -1 for the fill value; empty: the axis is copied as it is.
using AxisMap = std::vector<int32_t>;

// What is written where a map says -1: the element that input `input` holds at run time, or these bits.
struct Fill {
  int input = -1;
  uint64_t bits = 0;
};

// Emits output `out` (of input `in`'s dtype): out[i, j, ...] = in[map_0[i], map_1[j], ...].
void emit_map_copy(PlanCtx& p, size_t out, size_t in, const std::vector<AxisMap>& maps, Fill fill);

}  // namespace sx
