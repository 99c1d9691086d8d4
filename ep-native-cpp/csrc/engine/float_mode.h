// How this thread's arithmetic treats subnormal numbers.
#pragma once
#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace sx {

#if defined(__x86_64__) || defined(__i386__)
// Operands that are subnormal count as zero, and so do such results.
constexpr unsigned kSubnormalsAsZero = 0x8040;
inline unsigned float_mode() { return _mm_getcsr(); }
inline void set_float_mode(unsigned mode) { _mm_setcsr(mode); }
#else
constexpr unsigned kSubnormalsAsZero = 0;
inline unsigned float_mode() { return 0; }
inline void set_float_mode(unsigned) {}
#endif

// While one exists, and `wanted`, subnormal numbers count as zero in this thread.
class SubnormalsAsZero {
 public:
  explicit SubnormalsAsZero(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    before_ = float_mode();
    set_float_mode(before_ | kSubnormalsAsZero);
  }
  ~SubnormalsAsZero() {
    if (wanted_) set_float_mode(before_);
  }
  SubnormalsAsZero(const SubnormalsAsZero&) = delete;
  SubnormalsAsZero& operator=(const SubnormalsAsZero&) = delete;

 private:
  const bool wanted_;
  unsigned before_ = 0;
};

}  // namespace sx
