#include "ops/integer_pack.h"

#include <algorithm>

namespace sx {

void pack_rows(const Kernels& kernels, const uint8_t* a, bool is_signed, int64_t line_stride, int64_t stride, int64_t k, const ZeroPoints& zero, int64_t begin, int64_t end, int16_t* out) {
  const int64_t width = 2 * pairs_of(k);
  for (int64_t m = begin; m < end; m++) {
    int16_t* row = out + m * width;
    kernels.shift_row(a + m * line_stride, is_signed, stride, k, zero.at(m), row);
    if (width > k) row[k] = 0;
  }
}

void pack_panels(const Kernels& kernels, const uint8_t* b, bool is_signed, int64_t k, int64_t n, const ZeroPoints& zero, int16_t* out) {
  constexpr int64_t kRun = 512;  // columns at a time; a multiple of every panel
  const int64_t panel = kernels.integer_panel(), pairs = pairs_of(k), stride = pairs * panel * 2;
  int16_t rows[2][kRun];
  for (int64_t n0 = 0; n0 < n; n0 += kRun) {
    const int64_t cols = std::min(kRun, n - n0);
    for (int64_t p = 0; p < pairs; p++) {
      for (int64_t i = 0; i < 2; i++) {
        const uint8_t* from = b + (2 * p + i) * n + n0;
        if (2 * p + i >= k)
          std::fill(rows[i], rows[i] + cols, int16_t(0));
        else if (!zero.data || !zero.per_line)
          kernels.shift_row(from, is_signed, 1, cols, zero.at(0), rows[i]);
        else
          for (int64_t j = 0; j < cols; j++)
            rows[i][j] = static_cast<int16_t>((is_signed ? static_cast<int32_t>(static_cast<int8_t>(from[j])) : static_cast<int32_t>(from[j])) - zero.at(n0 + j));
      }
      kernels.interleave_pair(rows[0], rows[1], cols, out + n0 / panel * stride + p * panel * 2, stride);
    }
  }
}

}  // namespace sx
