// Reductions of float64 and int64, and indices of extremes: one element at a time.
#include "kernels/simd.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

template <typename T>
inline T wrap_add(T a, T b) {
  return a + b;
}
template <>
inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
inline T wrap_mul(T a, T b) {
  return a * b;
}
template <>
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <typename T>
inline T magnitude(T a) {
  return a < 0 ? wrap_mul<T>(a, -1) : a;
}

template <typename T>
T join(Reduction kind, T a, T b) {
  switch (kind) {
    case Reduction::max: return a != a || a > b ? a : b;
    case Reduction::min: return a != a || a < b ? a : b;
    case Reduction::prod: return wrap_mul(a, b);
    default: return wrap_add(a, b);
  }
}
template <typename T>
T term(Reduction kind, T a) {
  return kind == Reduction::sum_square ? wrap_mul(a, a) : kind == Reduction::l1 ? magnitude(a) : a;
}

template <typename T>
T log_sum_exp(const T* x, int64_t n, int64_t stride) {
  double top = -__builtin_inf(), sum = 0;
  for (int64_t i = 0; i < n; i++) top = x[i * stride] > top || x[i * stride] != x[i * stride] ? static_cast<double>(x[i * stride]) : top;
  const double shift = top - top == 0 ? top : 0;
  for (int64_t i = 0; i < n; i++) sum += __builtin_exp(static_cast<double>(x[i * stride]) - shift);
  return static_cast<T>(__builtin_log(sum) + shift);
}

template <typename T>
T finished(const Reduce& r, T v) {
  switch (r.finish) {
    case Finish::none: return v;
    case Finish::mean: return r.count || static_cast<T>(0.5) != 0 ? v / static_cast<T>(r.count) : v;  // NaN of no floats, 0 of no integers
    case Finish::root: return static_cast<T>(__builtin_sqrt(static_cast<double>(v)));
    case Finish::log: return static_cast<T>(__builtin_log(static_cast<double>(v)));
  }
  return v;
}

template <typename T>
void reduce(const Reduce& r, T empty, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; o++) {
    const T* x = static_cast<const T*>(r.x) + o * r.n * r.inner;
    T* y = static_cast<T*>(r.y) + o * r.inner;
    for (int64_t j = 0; j < r.inner; j++) {
      if (r.n == 0) {
        y[j] = empty;
      } else if (r.kind == Reduction::log_sum_exp) {
        y[j] = log_sum_exp(x + j, r.n, r.inner);
      } else {
        T v = term(r.kind, x[j]);
        for (int64_t i = 1; i < r.n; i++) v = join(r.kind, v, term(r.kind, x[i * r.inner + j]));
        y[j] = v;
      }
      y[j] = finished(r, y[j]);
    }
  }
}

template <typename T>
void arg_reduce(const ArgReduce& a, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; o++) {
    const T* x = static_cast<const T*>(a.x) + o * a.n * a.inner;
    for (int64_t j = 0; j < a.inner; j++) {
      int64_t at = 0;
      T best = x[j];
      for (int64_t i = 1; i < a.n; i++) {
        const T v = x[i * a.inner + j];
        const bool better = best == best && (v != v || (a.least ? v < best : v > best));
        const bool same = v == best || (v != v && best != best);
        if (better || (a.last && same)) {
          at = i;
          best = v;
        }
      }
      a.y[o * a.inner + j] = at;
    }
  }
}

}  // namespace

void reduce_f64(const Reduce& r, int64_t begin, int64_t end) { reduce<double>(r, r.empty, begin, end); }
void reduce_i64(const Reduce& r, int64_t begin, int64_t end) { reduce<int64_t>(r, r.empty_int, begin, end); }
void arg_reduce_f32(const ArgReduce& a, int64_t begin, int64_t end) { arg_reduce<float>(a, begin, end); }
void arg_reduce_f64(const ArgReduce& a, int64_t begin, int64_t end) { arg_reduce<double>(a, begin, end); }
void arg_reduce_i64(const ArgReduce& a, int64_t begin, int64_t end) { arg_reduce<int64_t>(a, begin, end); }

void one_hot(const OneHot& h, int64_t begin, int64_t end) {
  for (int64_t o = begin; o < end; o++) {
    float* y = h.y + o * h.n * h.inner;
    for (int64_t i = 0; i < h.n; i++)
      for (int64_t j = 0; j < h.inner; j++) y[i * h.inner + j] = h.index[o * h.inner + j] == i ? 1.0f : 0.0f;
  }
}

}  // namespace SX_ISA
}  // namespace sx
