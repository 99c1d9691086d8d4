// Argument structs of the rows family: elementwise loops, normalisations, softmax, reductions.
#pragma once
#include <cstdint>

namespace sx {

// One elementwise loop over n elements: out[i] = f(a[i], b[i], c[i]); operands that an operator lacks are null, p holds
// its two numbers (alpha, beta, ...). `out` may be an operand's own memory.
using Loop = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n, const float* p);

// Inner elements that softmax_strips takes at a time.
constexpr int64_t kStrip = 64;

// Softmax, or its logarithm, along n of [rows][n][inner].
struct Softmax {
  const float* x;
  float* y;
  int64_t n, inner;
  bool log;
};

// Layer normalisation, or with `rms` that by the root mean square, of rows of n. With a residual the sum of both is
// normalised, and written to `sum` if that is wanted.
struct Norm {
  const float *x, *residual, *scale, *bias;  // residual, scale and bias may be null
  float *y, *sum, *mean, *inverse;           // all but y may be null
  int64_t n;
  float epsilon;
  bool rms;
};

// x [samples, groups, channels of a group, inner] normalised over each group, then scaled and shifted by channel.
struct GroupNorm {
  const float *x, *scale, *bias;
  float* y;
  int64_t groups, channels, inner;
  float epsilon;
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by channel of [samples, channels, inner].
struct BatchNorm {
  const float *x, *scale, *bias, *mean, *variance;
  float* y;
  int64_t channels, inner;
  float epsilon;
};

enum class Reduction : int32_t { sum, sum_square, l1, max, min, prod, log_sum_exp };
enum class Finish : int32_t { none, mean, root, log };

// A reduction along n of [outer][n][inner], in float32, float64 or int64.
struct Reduce {
  const void* x;
  void* y;
  int64_t n, inner;
  Reduction kind;
  Finish finish;
  int64_t count;     // that a mean divides by
  double empty;      // the result where n is 0 (of an integer: `empty_int`)
  int64_t empty_int;
};

// Index of the greatest or least element along n of [outer][n][inner]. A NaN counts as both.
struct ArgReduce {
  const void* x;
  int64_t* y;
  int64_t n, inner;
  bool least, last;
};

// 1 at y[index], 0 elsewhere, along n of [outer][n][inner].
struct OneHot {
  const int64_t* index;
  float* y;
  int64_t n, inner;
};

// Running sums or products along n of [outer][n][inner].
struct Scan {
  const void* x;
  void* y;
  int64_t n, inner;
  bool product, exclusive, reverse;
};

// x / (bias + alpha / size * sum of squares of `size` neighbouring channels)^beta, of [samples, channels, inner].
struct Lrn {
  const float* x;
  float* y;
  int64_t channels, inner, size;
  float alpha, beta, bias;
};

// x / norm along n of [outer][n][inner], p = 1 or 2; 0 where the norm is 0.
struct LpNorm {
  const float* x;
  float* y;
  int64_t n, inner;
  int32_t p;
};

}  // namespace sx
