// Operators of the movement family.
#include "ops/table.h"

namespace sx {

OpFamily movement_ops() { return {nullptr, nullptr}; }

}  // namespace sx
