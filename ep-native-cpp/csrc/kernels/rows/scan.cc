// Running sums and products along an axis.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

template <typename T>
inline T add(T a, T b) {
  return a + b;
}
template <>
inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
inline T mul(T a, T b) {
  return a * b;
}
template <>
inline int64_t mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Rows of `inner` numbers, `step` apart (negative: from the back); each result row is the one before joined with a row of x.
template <typename T, T (*join)(T, T)>
void run(const T* x, T* y, int64_t n, int64_t inner, int64_t step, bool exclusive, T identity) {
  if (inner == 1) {
    T total = identity;
    for (int64_t i = 0; i < n; i++, x += step, y += step) {
      const T before = total;
      total = join(total, *x);
      *y = exclusive ? before : total;
    }
    return;
  }
  const int64_t lag = exclusive ? step : 0;
  for (int64_t j = 0; j < inner; j++) y[j] = exclusive ? identity : x[j];
  for (int64_t i = 1; i < n; i++) {
    x += step;
    y += step;
    const T *row = x - lag, *before = y - step;
    for (int64_t j = 0; j < inner; j++) y[j] = join(before[j], row[j]);
  }
}

template <typename T>
void scan(const Scan& s, int64_t begin, int64_t end) {
  const int64_t step = s.reverse ? -s.inner : s.inner;
  for (int64_t o = begin; o < end; o++) {
    const int64_t at = (o * s.n + (s.reverse ? s.n - 1 : 0)) * s.inner;
    const T* x = static_cast<const T*>(s.x) + at;
    T* y = static_cast<T*>(s.y) + at;
    if (s.product)
      run<T, mul<T>>(x, y, s.n, s.inner, step, s.exclusive, 1);
    else
      run<T, add<T>>(x, y, s.n, s.inner, step, s.exclusive, 0);
  }
}

}  // namespace

void scan_f32(const Scan& s, int64_t begin, int64_t end) { scan<float>(s, begin, end); }
void scan_f64(const Scan& s, int64_t begin, int64_t end) { scan<double>(s, begin, end); }
void scan_i64(const Scan& s, int64_t begin, int64_t end) { scan<int64_t>(s, begin, end); }

}  // namespace SX_ISA
}  // namespace sx
