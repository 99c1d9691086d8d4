// What the attributes of RNN, GRU and LSTM say.
#pragma once
#include <string>
#include <vector>

#include "kernels/args.h"
#include "ops/table.h"

namespace sx {

enum class Direction { forward, reverse, both };
Direction direction_of(const Attributes& attrs);

// The activations of every direction, three each (the last are tanh where an operator takes fewer). `usual` are the default
// ones of a direction, separated by commas. The values of activation_alpha and activation_beta go to those that take
// one, in order.
std::vector<GateFn> gate_functions(const Attributes& attrs, const std::string& usual, int64_t directions);

}  // namespace sx
