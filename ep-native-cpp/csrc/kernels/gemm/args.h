// Argument structs of the gemm family.
#pragma once
#include <cstdint>

namespace sx {}
