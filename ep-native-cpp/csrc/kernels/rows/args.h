// Argument structs of the rows family.
#pragma once
#include <cstdint>

namespace sx {}
