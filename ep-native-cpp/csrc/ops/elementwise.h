// Planning of elementwise programs: single operators and fused chains.
#pragma once
#include <string>
#include <vector>

#include "engine/op.h"

namespace sx {

// One instruction of an elementwise program.
struct Instruction {
  std::string op;                 // an ONNX operator, or one of the loops of kernels/rows that go by another name
  int operand[3] = {-1, -1, -1};  // below the number of inputs: an input; above: the result of an earlier instruction
  float p[2] = {};                // its attributes
};

// Emits the steps of a program: output 0 is the result of the last instruction. All inputs of the op broadcast to the
// output's shape. Arithmetic is done in `compute` (float16 and bfloat16 inputs are widened, the result is narrowed).
void plan_elementwise(PlanCtx& p, const std::vector<Instruction>& code, DType compute);

// Nanoseconds per element that an instruction takes, roughly: to decide what is worth a second thread.
double elementwise_cost(const std::string& op);

// The shape that all inputs broadcast to.
Shape broadcast_inputs(const InferCtx& c);

}  // namespace sx
