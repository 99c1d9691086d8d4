// Strided copies: transpositions, slices, concatenations, repetitions.
#include "kernels/movement/copy.h"

#include "kernels/movement/transpose.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// One stripe: `rows` rows of the block, from element `in`, `out`.
template <typename T>
static void copy_stripe(const CopyNd& c, const T* in, T* out, int64_t rows) {
  const int last = c.rank - 1;
  const int64_t cols = c.dims[last], in_row = c.in_strides[last - 1], out_row = c.out_strides[last - 1];
  switch (c.kind) {
    case CopyKind::rows:
      for (int64_t r = 0; r < rows; r++)
        move_bytes(reinterpret_cast<char*>(out + r * out_row), reinterpret_cast<const char*>(in + r * in_row), cols * static_cast<int64_t>(sizeof(T)));
      return;
    case CopyKind::fill:
      for (int64_t r = 0; r < rows; r++) {
        const T x = get(in + r * in_row);
        T* to = out + r * out_row;
        for (int64_t i = 0; i < cols; i++) put(to + i, x);
      }
      return;
    case CopyKind::elements: {
      const int64_t from = c.in_strides[last], to = c.out_strides[last];
      for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < cols; i++) put(out + r * out_row + i * to, get(in + r * in_row + i * from));
      return;
    }
    case CopyKind::transpose: transpose_block(in, c.in_strides[last], out, out_row, rows, cols); return;
  }
}

template <typename T>
static void copy_typed(const CopyNd& c, int64_t begin, int64_t end) {
  const T* in = static_cast<const T*>(c.in) + c.in_offset;
  T* out = static_cast<T*>(c.out) + c.out_offset;
  const int block = c.rank - 2;
  // The position of the first unit; then as an odometer.
  int64_t at[kCopyRank] = {}, rest = begin / c.stripes, stripe = begin % c.stripes;
  for (int k = block - 1; k >= 0; k--) {
    at[k] = rest % c.dims[k];
    rest /= c.dims[k];
    in += at[k] * c.in_strides[k];
    out += at[k] * c.out_strides[k];
  }
  for (int64_t unit = begin; unit < end; unit++) {
    const int64_t row = stripe * c.stripe, left = c.dims[block] - row;
    copy_stripe<T>(c, in + row * c.in_strides[block], out + row * c.out_strides[block], left < c.stripe ? left : c.stripe);
    if (++stripe < c.stripes) continue;
    stripe = 0;
    for (int k = block - 1; k >= 0; k--) {
      in += c.in_strides[k];
      out += c.out_strides[k];
      if (++at[k] < c.dims[k]) break;
      in -= at[k] * c.in_strides[k];
      out -= at[k] * c.out_strides[k];
      at[k] = 0;
    }
  }
}

void copy_nd(const CopyNd& c, int64_t begin, int64_t end) {
  switch (c.item) {
    case 1: return copy_typed<uint8_t>(c, begin, end);
    case 2: return copy_typed<uint16_t>(c, begin, end);
    case 4: return copy_typed<uint32_t>(c, begin, end);
    default: return copy_typed<uint64_t>(c, begin, end);
  }
}

}  // namespace SX_ISA
}  // namespace sx
