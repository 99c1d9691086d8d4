// Einsum equations bound to shapes.
#pragma once
#include <vector>

#include "ops/rows.h"

namespace sx {

// One dimension of an operand: its label (a letter, or 256 + i for the ellipsis' i-th dimension), size, and stride in elements.
struct LabelledAxis {
  int label;
  int64_t size, stride;
};
using Axes = std::vector<LabelledAxis>;

struct Equation {
  std::vector<Axes> operands;  // a label once in each; dimensions that only broadcast are left out
  Axes output;                 // row-major
};

// Raises OpError for an equation that does not parse, or does not fit the shapes: an ellipsis must stand for equally many
// dimensions in every operand, equal labels for equal sizes or 1.
Equation bind_equation(const std::string& equation, const std::vector<Shape>& shapes);

const LabelledAxis* find_axis(const Axes& axes, int label);
// Gives axes row-major strides; returns the number of elements.
int64_t make_contiguous(Axes& axes);
// Whether the axes, outermost first, are one run of equal strides; gives its size and stride.
bool joined(const Axes& axes, int64_t* size, int64_t* stride);

}  // namespace sx
