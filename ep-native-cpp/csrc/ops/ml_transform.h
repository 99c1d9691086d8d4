// The score transforms that classifiers and regressors of ai.onnx.ml share.
#pragma once
#include <algorithm>
#include <cmath>

#include "engine/op.h"

namespace sx {

enum class PostTransform : int32_t { none, softmax, logistic, softmax_zero, probit };

inline PostTransform post_transform_of(const std::string& name) {
  const char* names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (int i = 0; i < 5; i++)
    if (name == names[i]) return static_cast<PostTransform>(i);
  throw OpError("post_transform is " + name + ", but must be one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT");
}

template <typename T>
T logistic(T x) {
  const T e = std::exp(-std::fabs(x));
  return (x < 0 ? e : T(1)) / (1 + e);
}

// The quantile of the normal distribution; NaN outside [0, 1]. Acklam's approximation, improved by one step of Halley's
// method on the error function.
inline double probit(double p) {
  if (!(p >= 0 && p <= 1)) return std::nan("");
  if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02, -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00, 4.374664141464968e+00, 2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  auto tail = [&](double q) { return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) / ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1); };
  double x;
  if (p < 0.02425) {
    x = tail(std::sqrt(-2 * std::log(p)));
  } else if (p > 1 - 0.02425) {
    x = -tail(std::sqrt(-2 * std::log1p(-p)));
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q / (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - p, step = error * std::sqrt(2 * 3.14159265358979323846) * std::exp(x * x / 2);
  return x - step / (1 + x * step / 2);
}

// Transforms the n scores of one row in place.
template <typename T>
void post_transform(PostTransform t, T* s, int64_t n) {
  switch (t) {
    case PostTransform::none: return;
    case PostTransform::logistic:
      for (int64_t i = 0; i < n; i++) s[i] = logistic(s[i]);
      return;
    case PostTransform::probit:
      for (int64_t i = 0; i < n; i++) s[i] = static_cast<T>(probit(static_cast<double>(s[i])));
      return;
    default: break;
  }
  if (n == 0) return;
  const T most = *std::max_element(s, s + n);
  T sum = 0;
  for (int64_t i = 0; i < n; i++) {
    // Scores of 0 stay 0 in SOFTMAX_ZERO.
    const bool zero = t == PostTransform::softmax_zero && std::fabs(s[i]) <= T(1e-7);
    s[i] = zero ? T(0) : std::exp(s[i] - most);
    sum += s[i];
  }
  if (sum == 0) sum = 1;
  for (int64_t i = 0; i < n; i++) s[i] /= sum;
}

// Both scores of a two-class model from the second class's, by the convention of onnxruntime.
template <typename T>
void two_columns(PostTransform t, T score, bool probability, T* out) {
  out[1] = score;
  if (t == PostTransform::logistic) {
    out[0] = logistic(-score);
    out[1] = logistic(score);
  } else if (t == PostTransform::probit) {
    out[1] = static_cast<T>(probit(static_cast<double>(score)));
    out[0] = -out[1];
  } else {
    out[0] = probability ? 1 - score : -score;
  }
}

}  // namespace sx
