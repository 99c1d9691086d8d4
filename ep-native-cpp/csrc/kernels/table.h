// The kernel table: one entry per kernel in kernels.def, one table per instruction set.
//
// A kernel is a plain function over raw pointers and an argument struct from its family's args.h. Its source includes
// kernels/simd.h, lives in namespace sx::SX_ISA, and is compiled once per instruction set. Kernel sources use no std::
// containers and no templates from outside that namespace: an inline function shared between instruction sets could
// be taken by the linker from the wrong one.
#pragma once
#include <cstdint>

#include "kernels/args.h"

namespace sx {

struct Kernels {
#define SX_KERNEL(result, name, params) result(*name) params;
#include "kernels/kernels.def"
#undef SX_KERNEL
};

}  // namespace sx
