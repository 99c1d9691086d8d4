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

// One axis resampled: out[o, i, :] = sum over t of weights[i * taps + t] * in[o, index[i * taps + t], :], with `inner`
// elements in the last dim, of float or double.
struct Resample {
  const void* in;
  void* out;
  const int32_t* index;
  const void* weights;
  int64_t size, out_size, inner, taps;
};

// The last two axes resampled at once, in float: rows of the input are resampled along the width when they are first
// needed, into a ring of `ring` rows of `out_w` floats, a power of two that holds all rows one output row takes.
struct ResamplePlane {
  const float* in;
  float* out;
  const int32_t *rows, *columns;
  const float *row_weights, *column_weights;
  int64_t h, w, out_h, out_w, row_taps, column_taps, ring;
};

// The 8- and 16-bit integers that numbers are quantized to.
enum class QType : int32_t { i8, u8, i16, u16 };

// Exact products of small integers: c[m, n] = sum over k of a[m, k] * b[k, n] in int32, which wraps around. A has rows of
// 2 * pairs int16, `lda` apart; B is in panels [pairs][integer_panel()][2], which hold columns past n as zeros.
struct IntegerGemm {
  const int16_t *a, *b;
  int32_t* c;
  int64_t lda, ldc, n, pairs;
};

// Total int32 to a quantized type: saturate(round(total * multiplier) + zero).
struct Requantize {
  const int32_t* total;
  void* out;
  int64_t count;
  float multiplier;
  int32_t zero;
  QType type;
};

// A complex Fourier transform of n = product of `factors` points, in double. `twiddles`: per factor r, for p < m (the
// product of the factors after it) and 1 <= j < r: cos and sin of -2 pi p j / (r m). `roots`: per factor r above 4, r
// pairs cos, sin of -2 pi j / r.
constexpr int kMostFactors = 40;
struct Fft {
  int64_t n;
  int32_t count;
  int32_t factors[kMostFactors];
  const double *twiddles, *roots;
};

}  // namespace sx
