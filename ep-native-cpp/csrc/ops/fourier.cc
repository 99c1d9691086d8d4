#include "ops/fourier.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/isa.h"

namespace sx {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Factors of 4 first, then 2, then odd primes up to 13; false if something is left.
bool factorize(Fft* f) {
  int64_t rest = f->n;
  f->count = 0;
  for (int32_t r : {4, 2, 3, 5, 7, 11, 13})
    while (rest % r == 0 && f->count < kMostFactors) {
      f->factors[f->count++] = r;
      rest /= r;
    }
  return rest == 1;
}

void push(std::vector<double>& v, int64_t numerator, int64_t denominator) {
  const double angle = -2 * kPi * static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
  v.push_back(std::cos(angle));
  v.push_back(std::sin(angle));
}

void tables(const Fft& f, std::vector<double>* twiddles, std::vector<double>* roots) {
  int64_t n = f.n;
  for (int i = 0; i < f.count; i++) {
    const int64_t r = f.factors[i], m = n / r;
    for (int64_t p = 0; p < m; p++)
      for (int64_t j = 1; j < r; j++) push(*twiddles, p * j, n);
    if (r > 4)
      for (int64_t j = 0; j < r; j++) push(*roots, j, r);
    n = m;
  }
}

// exp(-i pi k^2 / n).
std::vector<double> chirp_of(int64_t n) {
  std::vector<double> v;
  for (int64_t k = 0; k < n; k++) push(v, k * k % (2 * n), 2 * n);
  return v;
}

}  // namespace

Fourier fourier_of(int64_t n) {
  Fourier f{};
  f.n = f.fft.n = n;
  f.run = kernels().fft;
  if (factorize(&f.fft)) return f;
  f.chirped = 1;
  f.fft.n = 1;
  while (f.fft.n < 2 * n - 1) f.fft.n *= 2;
  factorize(&f.fft);
  return f;
}

void bind_fourier(PlanCtx& p, Fourier* f) {
  std::vector<double> twiddles, roots;
  tables(f->fft, &twiddles, &roots);
  auto t = buffer_of(twiddles), r = buffer_of(roots);
  p.bind_packed(f->fft.twiddles, t);
  p.bind_packed(f->fft.roots, r);
  if (!f->chirped) return;
  const std::vector<double> chirp = chirp_of(f->n);
  const int64_t m = f->fft.n;
  std::vector<double> filter(static_cast<size_t>(4 * m), 0.0);
  for (int64_t k = 0; k < f->n; k++)
    for (int64_t at : {k, (m - k) % m}) {
      filter[static_cast<size_t>(2 * at)] = chirp[static_cast<size_t>(2 * k)] / static_cast<double>(m);
      filter[static_cast<size_t>(2 * at + 1)] = -chirp[static_cast<size_t>(2 * k + 1)] / static_cast<double>(m);
    }
  Fft fft = f->fft;
  fft.twiddles = static_cast<const double*>(t->data);
  fft.roots = static_cast<const double*>(r->data);
  const bool second = f->run(fft, filter.data(), filter.data() + 2 * m);
  const double* result = filter.data() + (second ? 2 * m : 0);
  p.bind_packed(f->chirp, buffer_of(chirp));
  p.bind_packed(f->filter, buffer_of(std::vector<double>(result, result + 2 * m)));
}

const double* transform(const Fourier& f, double* room) {
  const int64_t m = f.fft.n;
  double* other = room + 2 * m;
  if (!f.chirped) return f.run(f.fft, room, other) ? other : room;
  auto times = [](double* x, const double* y, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i += 2) {
      const double re = x[i] * y[i] - x[i + 1] * y[i + 1], im = x[i] * y[i + 1] + x[i + 1] * y[i];
      x[i] = re;
      x[i + 1] = im;
    }
  };
  auto conjugate = [](double* x, int64_t n) {
    for (int64_t i = 1; i < 2 * n; i += 2) x[i] = -x[i];
  };
  times(room, f.chirp, f.n);
  std::memset(room + 2 * f.n, 0, static_cast<size_t>(2 * (m - f.n)) * sizeof(double));
  double* spectrum = f.run(f.fft, room, other) ? other : room;
  double* spare = spectrum == room ? other : room;
  times(spectrum, f.filter, m);
  // The inverse transform is the conjugate of the transform of the conjugate.
  conjugate(spectrum, m);
  double* result = f.run(f.fft, spectrum, spare) ? spare : spectrum;
  conjugate(result, f.n);
  times(result, f.chirp, f.n);
  return result;
}

}  // namespace sx
