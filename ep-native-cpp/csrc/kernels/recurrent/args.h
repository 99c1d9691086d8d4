// Argument structs of the recurrent family: one step of RNN, GRU and LSTM.
#pragma once
#include <cstdint>

namespace sx {

// The activation functions that ONNX names for recurrent operators, with alpha and beta as there.
enum class Gate : int32_t { sigmoid, tanh, relu, affine, leaky_relu, thresholded_relu, scaled_tanh, hard_sigmoid, elu, softsign, softplus };

struct GateFn {
  Gate kind;
  float alpha, beta;
};

// One step for one row of the batch, n hidden units. x and r hold the gates' parts of the input (with biases) and of the
// state, a gate after the other in ONNX's order; states are updated in place.
struct Cell {
  const float *x, *r;
  const float* bias;       // GRU with linear_before_reset: of the state's part of the hidden gate, or null
  const float* peepholes;  // LSTM: [3][n] in the order i, o, f, or null
  float *h, *c;            // the state; c: LSTM's cell
  float *z, *reset;        // GRU: the update gate, and the state after the reset gate
  float* y;                // where the new h is written too, or null
  int64_t n;
  GateFn f, g, out;
  float clip;              // inf: none
  int32_t input_forget;
};

}  // namespace sx
