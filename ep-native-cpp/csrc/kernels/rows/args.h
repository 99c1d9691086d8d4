// Argument structs of the rows family: elementwise loops, normalisations, softmax, reductions.
#pragma once
#include <cstdint>

namespace sx {

// One elementwise loop over n elements: out[i] = f(a[i], b[i], c[i]); operands that an operator lacks are null, p holds
// its two numbers (alpha, beta, ...). `out` may be an operand's own memory.
using Loop = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n, const float* p);

}  // namespace sx
