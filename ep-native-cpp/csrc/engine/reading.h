// The bytes of constants and of small tensors that plans depend on.
#pragma once
#include <memory>
#include <vector>

#include "engine/op.h"

namespace sx {

// Whether a constant's bytes can be used where they lie.
bool is_aligned(const Value& v);
size_t bytes_of(const Value& v);
// Give the pages back that a mapped constant's bytes fill.
void forget(const Value& v);

// A constant's bytes for a while, aligned.
class Reading {
 public:
  explicit Reading(const Value& v);
  const void* data;

 private:
  std::shared_ptr<const void> keep_;
  std::shared_ptr<Buffer> copy_;
};

// Whether some of n weights are subnormal while others are above 2^-60. Beside these they cannot be seen in a product, and
// arithmetic with subnormal numbers takes a CPU up to a hundred times longer.
bool has_unseen(const float* data, int64_t n);

// n elements as int64, of any integer type or bool; OpError for others. As double, of any type.
std::vector<int64_t> read_ints(const void* p, DType t, int64_t n);
std::vector<double> read_numbers(const void* p, DType t, int64_t n);

}  // namespace sx
