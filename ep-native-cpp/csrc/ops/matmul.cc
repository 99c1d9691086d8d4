// Operators of the matmul family.
#include "ops/table.h"

namespace sx {

OpFamily matmul_ops() { return {nullptr, nullptr}; }

}  // namespace sx
