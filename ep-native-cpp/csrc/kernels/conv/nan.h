// Maximum and minimum that are NaN where either operand is, whichever operand the processor's instruction prefers.
#pragma once
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

static inline vf max_or_nan(vf a, vf b) { return select(b != b, b, vmax(a, b)); }
static inline vf min_or_nan(vf a, vf b) { return select(b != b, b, vmin(a, b)); }

}  // namespace SX_ISA
}  // namespace sx
