// This instruction set's kernel table; compiled once per instruction set.
#include "kernels/table.h"

#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

#define SX_KERNEL(result, name, params) result name params;
#include "kernels/kernels.def"
#undef SX_KERNEL

extern const Kernels table;
const Kernels table = {
#define SX_KERNEL(result, name, params) name,
#include "kernels/kernels.def"
#undef SX_KERNEL
};

}  // namespace SX_ISA
}  // namespace sx
