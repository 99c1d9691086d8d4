// Operators of the conv family.
#include "ops/table.h"

namespace sx {

OpFamily conv_ops() { return {nullptr, nullptr}; }

}  // namespace sx
