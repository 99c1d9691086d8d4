// Fourier transforms of any length with small prime factors: Stockham's self-sorting algorithm of mixed radix.
//
// A pass of radix r takes n = r * m points in s interleaved series from x to y:
//   y[q + s (r p + j)] = w_n^(p j) * sum over k of x[q + s (p + m k)] * w_r^(j k),  p < m, q < s.
// The next pass has m points in s * r series.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

struct Complex {
  double re, im;
};
static inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
static inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
static inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
// -i times a.
static inline Complex turned(Complex a) { return {a.im, -a.re}; }

static void pass2(const Complex* __restrict x, Complex* __restrict y, int64_t m, int64_t s, const Complex* w) {
  for (int64_t p = 0; p < m; p++, w++)
    for (int64_t q = 0; q < s; q++) {
      const Complex a = x[q + s * p], b = x[q + s * (p + m)];
      y[q + s * 2 * p] = a + b;
      y[q + s * (2 * p + 1)] = *w * (a - b);
    }
}

static void pass3(const Complex* __restrict x, Complex* __restrict y, int64_t m, int64_t s, const Complex* w) {
  constexpr double half_root = 0.86602540378443864676;
  for (int64_t p = 0; p < m; p++, w += 2)
    for (int64_t q = 0; q < s; q++) {
      const Complex a = x[q + s * p], b = x[q + s * (p + m)], c = x[q + s * (p + 2 * m)];
      const Complex sum = b + c, middle = {a.re - 0.5 * sum.re, a.im - 0.5 * sum.im}, side = turned(b - c), tilt = {half_root * side.re, half_root * side.im};
      y[q + s * 3 * p] = a + sum;
      y[q + s * (3 * p + 1)] = w[0] * (middle + tilt);
      y[q + s * (3 * p + 2)] = w[1] * (middle - tilt);
    }
}

static void pass4(const Complex* __restrict x, Complex* __restrict y, int64_t m, int64_t s, const Complex* w) {
  for (int64_t p = 0; p < m; p++, w += 3)
    for (int64_t q = 0; q < s; q++) {
      const Complex a = x[q + s * p], b = x[q + s * (p + m)], c = x[q + s * (p + 2 * m)], d = x[q + s * (p + 3 * m)];
      const Complex even = a + c, odd = b + d, low = a - c, high = turned(b - d);
      y[q + s * 4 * p] = even + odd;
      y[q + s * (4 * p + 1)] = w[0] * (low + high);
      y[q + s * (4 * p + 2)] = w[1] * (even - odd);
      y[q + s * (4 * p + 3)] = w[2] * (low - high);
    }
}

static void pass_any(const Complex* __restrict x, Complex* __restrict y, int64_t r, int64_t m, int64_t s, const Complex* w, const Complex* roots) {
  for (int64_t p = 0; p < m; p++, w += r - 1)
    for (int64_t q = 0; q < s; q++)
      for (int64_t j = 0; j < r; j++) {
        Complex sum = x[q + s * p];
        for (int64_t k = 1, at = j; k < r; k++) {
          sum = sum + x[q + s * (p + m * k)] * roots[at];
          at += j;
          if (at >= r) at -= r;
        }
        y[q + s * (r * p + j)] = j == 0 ? sum : w[j - 1] * sum;
      }
}

bool fft(const Fft& f, double* first, double* second) {
  Complex *x = reinterpret_cast<Complex*>(first), *y = reinterpret_cast<Complex*>(second);
  const Complex *w = reinterpret_cast<const Complex*>(f.twiddles), *roots = reinterpret_cast<const Complex*>(f.roots);
  int64_t n = f.n, s = 1;
  for (int i = 0; i < f.count; i++) {
    const int64_t r = f.factors[i], m = n / r;
    if (r == 4)
      pass4(x, y, m, s, w);
    else if (r == 2)
      pass2(x, y, m, s, w);
    else if (r == 3)
      pass3(x, y, m, s, w);
    else
      pass_any(x, y, r, m, s, w, roots);
    if (r > 4) roots += r;
    w += m * (r - 1);
    Complex* swap = x;
    x = y;
    y = swap;
    n = m;
    s *= r;
  }
  return f.count % 2 != 0;
}

}  // namespace SX_ISA
}  // namespace sx
