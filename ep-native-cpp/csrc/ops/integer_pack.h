// 8-bit factors of an exact product in the forms that integer_gemm takes.
#pragma once
#include "engine/op.h"
#include "kernels/table.h"

namespace sx {

// Where the zero points of a factor's lines (rows of A, columns of B) are: one number for all, or one each; null: 0.
struct ZeroPoints {
  const uint8_t* data;
  int32_t is_signed, per_line;

  int32_t at(int64_t line) const {
    if (!data) return 0;
    const int64_t i = per_line ? line : 0;
    return is_signed ? static_cast<int32_t>(reinterpret_cast<const int8_t*>(data)[i]) : static_cast<int32_t>(data[i]);
  }
};

inline int64_t pairs_of(int64_t k) { return (k + 1) / 2; }
inline int64_t panels_of(int64_t n, int64_t panel) { return (n + panel - 1) / panel; }

// Rows [begin, end) of A [m, k], whose elements are `stride` apart in lines `line_stride` apart, as rows of
// 2 * pairs_of(k) int16.
void pack_rows(const Kernels& kernels, const uint8_t* a, bool is_signed, int64_t line_stride, int64_t stride, int64_t k, const ZeroPoints& zero, int64_t begin, int64_t end, int16_t* out);
// B [k, n], row-major, in panels.
void pack_panels(const Kernels& kernels, const uint8_t* b, bool is_signed, int64_t k, int64_t n, const ZeroPoints& zero, int16_t* out);

}  // namespace sx
