// Argument structs of the conv family.
#pragma once
#include <cstdint>

namespace sx {}
