// Operators of the attention family.
#include "ops/table.h"

namespace sx {

OpFamily attention_ops() { return {nullptr, nullptr}; }

}  // namespace sx
