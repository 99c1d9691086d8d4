// Rows cut into tiles, and the tile of a number of rows that is known only while running.
#pragma once
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

// f(first, count) for nearly equal parts of [from, to) of at most `most` each: a last one of a single row would cost almost as
// much as a full one.
template <typename F>
static inline __attribute__((always_inline)) void in_parts(int64_t from, int64_t to, int64_t most, F f) {
  for (int64_t parts = (to - from + most - 1) / most; parts > 0; parts--) {
    const int64_t count = (to - from + parts - 1) / parts;
    f(from, count);
    from += count;
  }
}

template <int N>
struct Count {
  static constexpr int value = N;
};

// f(Count<rows>) for 1 <= rows <= MOST.
template <int MOST, typename F>
static inline __attribute__((always_inline)) void with_rows(int64_t rows, F f) {
  if (rows == MOST)
    f(Count<MOST>{});
  else if constexpr (MOST > 1)
    with_rows<MOST - 1>(rows, f);
}

}  // namespace SX_ISA
}  // namespace sx
