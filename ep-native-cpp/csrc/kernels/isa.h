// The instruction sets kernels are compiled for, and the choice among them.
#pragma once
#include "kernels/table.h"

namespace sx {

enum class Isa { baseline, avx2, avx512, avx512_vnni };

// The best instruction set of this processor, or the one SARDONYX_NATIVE_ISA names if the processor has it.
Isa detect_isa();
const char* isa_name(Isa isa);
// Throws std::invalid_argument for an unknown name or one this processor lacks.
Isa parse_isa(const char* name);
const Kernels& kernels_for(Isa isa);
// The table in use: detect_isa()'s, or set_isa()'s.
const Kernels& kernels();
void set_isa(Isa isa);
Isa current_isa();

}  // namespace sx
