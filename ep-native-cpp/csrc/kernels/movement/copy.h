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

typedef uint64_t u64_unaligned __attribute__((may_alias, aligned(1)));
typedef uint32_t u32_unaligned __attribute__((may_alias, aligned(1)));
typedef uint16_t u16_unaligned __attribute__((may_alias, aligned(1)));
typedef uint8_t v16_unaligned __attribute__((vector_size(16), may_alias, aligned(1)));

template <typename V>
static inline void move_as(char* to, const char* from) {
  *reinterpret_cast<V*>(to) = *reinterpret_cast<const V*>(from);
}

// Two moves that may overlap cover every length of [sizeof(V), 2 * sizeof(V)].
template <typename V>
static inline void move_ends(char* to, const char* from, int64_t bytes) {
  const int64_t last = bytes - static_cast<int64_t>(sizeof(V));
  const V a = *reinterpret_cast<const V*>(from), b = *reinterpret_cast<const V*>(from + last);
  *reinterpret_cast<V*>(to) = a;
  *reinterpret_cast<V*>(to + last) = b;
}

static inline void move_bytes(char* to, const char* from, int64_t bytes) {
  if (bytes > 256) {
    __builtin_memcpy(to, from, static_cast<size_t>(bytes));
  } else if (bytes >= 16) {
    for (int64_t i = 0; i + 16 < bytes; i += 16) move_as<v16_unaligned>(to + i, from + i);
    move_as<v16_unaligned>(to + bytes - 16, from + bytes - 16);
  } else if (bytes >= 8) {
    move_ends<u64_unaligned>(to, from, bytes);
  } else if (bytes >= 4) {
    move_ends<u32_unaligned>(to, from, bytes);
  } else if (bytes >= 2) {
    move_ends<u16_unaligned>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

}  // namespace SX_ISA
}  // namespace sx
