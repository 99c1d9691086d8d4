// Elements at any alignment, and copies of short runs of bytes without a call.
#pragma once
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

template <typename T>
static inline T get(const T* p) {
  T x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <typename T>
static inline void put(T* p, T x) {
  __builtin_memcpy(p, &x, sizeof x);
}

template <int N>
static inline void move(char* to, const char* from) {
  __builtin_memcpy(to, from, N);
}

// Two moves that may overlap cover every length of [N, 2 N].
template <int N>
static inline void move_ends(char* to, const char* from, int64_t bytes) {
  char a[N], b[N];
  __builtin_memcpy(a, from, N);
  __builtin_memcpy(b, from + bytes - N, N);
  __builtin_memcpy(to, a, N);
  __builtin_memcpy(to + bytes - N, b, N);
}

static inline void move_bytes(char* to, const char* from, int64_t bytes) {
  if (bytes > 256) {
    __builtin_memcpy(to, from, static_cast<size_t>(bytes));
  } else if (bytes >= 16) {
    for (int64_t i = 0; i + 16 < bytes; i += 16) move<16>(to + i, from + i);
    move<16>(to + bytes - 16, from + bytes - 16);
  } else if (bytes >= 8) {
    move_ends<8>(to, from, bytes);
  } else if (bytes >= 4) {
    move_ends<4>(to, from, bytes);
  } else if (bytes >= 2) {
    move_ends<2>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

}  // namespace SX_ISA
}  // namespace sx
