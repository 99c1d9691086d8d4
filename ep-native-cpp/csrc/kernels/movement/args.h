// Argument structs of the movement family.
#pragma once
#include <cstdint>

namespace sx {}
