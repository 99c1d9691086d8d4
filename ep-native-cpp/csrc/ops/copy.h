// Planning of strided copies, which most movement operators come down to.
#pragma once
#include "engine/op.h"
#include "kernels/args.h"

namespace sx {

// A strided copy while it is being described: dims from the outermost in, strides and offsets in elements.
struct Strided {
  int rank = 0;
  int64_t dims[2 * kMaxRank], in[2 * kMaxRank], out[2 * kMaxRank];
  int64_t in_offset = 0, out_offset = 0;

  void add(int64_t dim, int64_t in_stride, int64_t out_stride) {
    dims[rank] = dim;
    in[rank] = in_stride;
    out[rank++] = out_stride;
  }
  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    return n;
  }
  // Drops dims of 1 and joins neighbours that are one run on both sides.
  void merge();
  // Whether it is, after merge(), the identity on storage of n elements.
  bool is_whole(int64_t n) const;
};

// Row-major strides of a shape, in elements.
void strides_of(const Shape& s, int64_t* strides);

// Emits the steps of the copy from input `in` to output `out`, or none where it is empty.
void emit_copy(PlanCtx& p, size_t out, size_t in, Strided s);
// As emit_copy; a copy that is the identity becomes a view, if nothing else is written to the output.
void emit_copy_or_view(PlanCtx& p, size_t out, size_t in, Strided s);

// Chunks to cut `bytes` of traffic into: 1 where a second thread would not pay.
int64_t chunks_for(const PlanCtx& p, int64_t bytes);

}  // namespace sx
