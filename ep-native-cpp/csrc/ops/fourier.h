// Fourier transforms of one length: tables made at planning, run without allocation.
#pragma once
#include <memory>

#include "engine/op.h"
#include "kernels/args.h"
#include "kernels/table.h"

namespace sx {

// Lengths with prime factors above 13 are done by Bluestein's algorithm: as a convolution of power-of-two length.
struct Fourier {
  Fft fft;               // of n points, or of the convolution's length
  int64_t n;
  int32_t chirped;       // Bluestein
  const double* chirp;   // n pairs: exp(-i pi k^2 / n)
  const double* filter;  // the transform of the conjugate chirp, divided by its length
  decltype(Kernels::fft) run;

  // Doubles of working memory that transform() takes.
  int64_t room() const { return 4 * fft.n; }
};

// Numbers of a transform of n points; bind_fourier then emits its tables.
Fourier fourier_of(int64_t n);
void bind_fourier(PlanCtx& p, Fourier* f);

// Transforms the n complex numbers at `room` (pairs) in place of the first 2 n doubles of the result, which is returned:
// it lies within `room`.
const double* transform(const Fourier& f, double* room);

}  // namespace sx
