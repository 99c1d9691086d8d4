#include "kernels/isa.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace sx {

#define SX_TABLE(ns) \
  namespace ns {     \
  extern const Kernels table; \
  }
SX_TABLE(baseline)
#ifdef SX_HAVE_avx2
SX_TABLE(avx2)
#endif
#ifdef SX_HAVE_avx512
SX_TABLE(avx512)
#endif
#ifdef SX_HAVE_avx512_vnni
SX_TABLE(avx512_vnni)
#endif
#undef SX_TABLE

static const char* const kNames[] = {"baseline", "avx2", "avx512", "avx512_vnni"};

// Whether kernels for `isa` were compiled in and this processor runs them.
static bool has(Isa isa) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  // F16C, which clang cannot ask for, is older than AVX2.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  [[maybe_unused]] const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  switch (isa) {
    case Isa::baseline: return true;
    case Isa::avx2:
#ifdef SX_HAVE_avx2
      return avx2;
#else
      return false;
#endif
    case Isa::avx512:
#ifdef SX_HAVE_avx512
      return avx512;
#else
      return false;
#endif
    case Isa::avx512_vnni:
#ifdef SX_HAVE_avx512_vnni
      return avx512 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
#else
      return false;
#endif
  }
#endif
  return isa == Isa::baseline;
}

const char* isa_name(Isa isa) { return kNames[static_cast<int>(isa)]; }

Isa parse_isa(const char* name) {
  for (int i = 0; i < 4; i++)
    if (std::strcmp(name, kNames[i]) == 0) {
      if (!has(static_cast<Isa>(i))) throw std::invalid_argument("this processor has no " + std::string(name));
      return static_cast<Isa>(i);
    }
  throw std::invalid_argument("no instruction set is called '" + std::string(name) + "'; known: baseline, avx2, avx512, avx512_vnni");
}

Isa detect_isa() {
  const char* forced = std::getenv("SARDONYX_NATIVE_ISA");
  if (forced && *forced) return parse_isa(forced);
  for (int i = 3; i > 0; i--)
    if (has(static_cast<Isa>(i))) return static_cast<Isa>(i);
  return Isa::baseline;
}

const Kernels& kernels_for(Isa isa) {
  switch (isa) {
#ifdef SX_HAVE_avx2
    case Isa::avx2: return avx2::table;
#endif
#ifdef SX_HAVE_avx512
    case Isa::avx512: return avx512::table;
#endif
#ifdef SX_HAVE_avx512_vnni
    case Isa::avx512_vnni: return avx512_vnni::table;
#endif
    default: return baseline::table;
  }
}

static std::atomic<int> g_isa{-1};

Isa current_isa() {
  int isa = g_isa.load(std::memory_order_relaxed);
  if (isa < 0) {
    isa = static_cast<int>(detect_isa());
    g_isa.store(isa, std::memory_order_relaxed);
  }
  return static_cast<Isa>(isa);
}

void set_isa(Isa isa) { g_isa.store(static_cast<int>(isa), std::memory_order_relaxed); }

const Kernels& kernels() { return kernels_for(current_isa()); }

}  // namespace sx
