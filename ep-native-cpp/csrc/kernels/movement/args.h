// Argument structs of the movement family.
#pragma once
#include <cstdint>

namespace sx {

constexpr int kCopyRank = 12;

// How the last two dims of a strided copy are done: rows that are contiguous on both sides, rows of one repeated
// element, single elements, or a transposition (contiguous along the last dim in the output, along the one before it in
// the input).
enum class CopyKind : int32_t { rows, fill, elements, transpose };

// A strided copy of elements of 1, 2, 4 or 8 bytes: out[sum of i_k * out_strides[k]] = in[sum of i_k * in_strides[k]].
// Strides and offsets count elements. The last two dims are a block; the dims before it and stripes of `stripe` rows of
// it are the units that copy_nd's ranges count, `stripes` per block.
struct CopyNd {
  const void* in;
  void* out;
  int64_t in_offset, out_offset;
  int32_t rank, item;
  CopyKind kind;
  int64_t stripe, stripes;
  int64_t dims[kCopyRank], in_strides[kCopyRank], out_strides[kCopyRank];
};

}  // namespace sx
