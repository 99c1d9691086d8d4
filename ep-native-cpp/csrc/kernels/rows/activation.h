// Elementwise functions on vectors: exp, tanh, sigmoid, erf, gelu and what is made of them.
//
// exp: Cody-Waite reduction and a polynomial of degree 6 on [-ln2/2, ln2/2]; about 1 ulp over the whole range, with
// overflow to inf, underflow through denormals to 0, and NaN kept. The other functions go through it (or, for small
// arguments, through polynomials of their own where cancellation would show).
#pragma once
#include "kernels/gemm/args.h"
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

static inline vf vexp(vf x) {
  const vf log2e = splat(1.44269504088896341f);
  vf clamped = select(x > 89.0f, splat(89.0f), x);
  clamped = select(clamped < -104.0f, splat(-104.0f), clamped);
  const vf n = vround(clamped * log2e);
  vf r = clamped - n * splat(0.693359375f);
  r = r - n * splat(-2.12194440e-4f);
  vf p = splat(1.9875691500e-4f);
  p = p * r + splat(1.3981999507e-3f);
  p = p * r + splat(8.3334519073e-3f);
  p = p * r + splat(4.1665795894e-2f);
  p = p * r + splat(1.6666665459e-1f);
  p = p * r + splat(5.0000001201e-1f);
  p = p * (r * r) + r + 1.0f;
  // 2^n in two factors, so that results in the denormal range and near the largest float come out right.
  const vi k = to_int(n);
  const vi half = k >> 1;
  const vf s1 = as_float((half + 127) << 23), s2 = as_float((k - half + 127) << 23);
  vf y = p * s1 * s2;
  y = select(x > 88.7228394f, splat(__builtin_inff()), y);
  return select(x != x, x, y);
}

static inline vf vsigmoid(vf x) {
  // Through exp(-|x|), which cannot overflow.
  const vf e = vexp(-vabs(x));
  const vf positive = 1.0f / (1.0f + e);
  const vf y = select(x < 0.0f, e * positive, positive);
  return select(x != x, x, y);
}

static inline vf vtanh(vf x) {
  const vf a = vabs(x);
  const vf e = vexp(a * -2.0f);
  const vf large = (1.0f - e) / (1.0f + e);
  // Near 0 the quotient cancels: an odd polynomial (Cephes tanhf, |x| < 0.625).
  const vf z = x * x;
  vf p = splat(-5.70498872745e-3f);
  p = p * z + splat(2.06390887954e-2f);
  p = p * z + splat(-5.37397155531e-2f);
  p = p * z + splat(1.33314422036e-1f);
  p = p * z + splat(-3.33332819422e-1f);
  const vf small = p * z * x + x;
  const vi sign = as_int(x) & static_cast<int32_t>(0x80000000);
  const vf y = select(a < 0.625f, small, as_float(as_int(large) | sign));
  return select(x != x, x, y);
}

// erf by two minimax pieces: x P(x^2) below 1; above, 1 - exp(-x^2 + Q(x)) with Q a polynomial.
static inline vf verf(vf x) {
  const vf a = vabs(x);
  const vf z = x * x;
  vf p = splat(-5.9977657e-4f);
  p = p * z + splat(4.9894830e-3f);
  p = p * z + splat(-2.6780869e-2f);
  p = p * z + splat(1.1282184e-1f);
  p = p * z + splat(-3.7612542e-1f);
  p = p * z + splat(1.1283791e+0f);
  const vf small = p * x;
  // |x| >= 0.875: -log(erfc) fitted by a polynomial (Juffa's erff coefficients are not used; fitted in float64).
  vf t = a;
  vf q = splat(1.72948930e-5f);
  q = q * t + splat(-3.83208680e-4f);
  q = q * t + splat(3.88393435e-3f);
  q = q * t + splat(-2.42545605e-2f);
  q = q * t + splat(1.06777847e-1f);
  q = q * t + splat(6.34846687e-1f);
  q = q * t + splat(1.28717512e-1f);
  q = q * t + t;
  const vf big = 1.0f - vexp(-q);
  const vi sign = as_int(x) & static_cast<int32_t>(0x80000000);
  const vf y = select(a < 0.875f, small, as_float(as_int(big) | sign));
  return select(x != x, x, y);
}

static inline vf vgelu(vf x) { return 0.5f * x * (1.0f + verf(x * 0.70710678118654752f)); }

static inline vf vgelu_tanh(vf x) { return 0.5f * x * (1.0f + vtanh(0.79788456080286536f * (x + 0.044715f * x * x * x))); }

// log of a positive normal number.
static inline vf vlog(vf x) {
  const vi bits = as_int(x);
  vi e = ((bits >> 23) & 255) - 126;
  vf m = as_float((bits & 0x007fffff) | 0x3f000000);  // [0.5, 1)
  const vi low = m < 0.70710678118654752f;
  e += low;  // true lanes are -1
  m = select(low, m + m, m) - 1.0f;
  const vf z = m * m;
  vf p = splat(7.0376836292e-2f);
  p = p * m + splat(-1.1514610310e-1f);
  p = p * m + splat(1.1676998740e-1f);
  p = p * m + splat(-1.2420140846e-1f);
  p = p * m + splat(1.4249322787e-1f);
  p = p * m + splat(-1.6668057665e-1f);
  p = p * m + splat(2.0000714765e-1f);
  p = p * m + splat(-2.4999993993e-1f);
  p = p * m + splat(3.3333331174e-1f);
  const vf n = to_float(e);
  vf y = p * m * z + n * splat(-2.12194440e-4f) - 0.5f * z;
  y = m + y + n * splat(0.693359375f);
  y = select(x == 0.0f, splat(-__builtin_inff()), y);
  y = select(x == __builtin_inff(), x, y);
  y = select(x < 0.0f, splat(__builtin_nanf("")), y);
  return select(x != x, x, y);
}

// log(1 + exp(x)), without overflow and without losing small results: max(x, 0) + log1p(exp(-|x|)).
static inline vf vsoftplus(vf x) {
  const vf u = vexp(-vabs(x));
  const vf w = 1.0f + u;
  // log1p(u) = u * log(w) / (w - 1) where w = fl(1 + u) (Kahan); u itself where w rounds to 1.
  const vf log1p = select(w == 1.0f, u, vlog(w) * (u / select(w == 1.0f, splat(1.0f), w - 1.0f)));
  return vmax_keep(x, vf{}) + log1p;
}

static inline vf activate(Act act, vf x, float alpha, float beta) {
  switch (act) {
    case Act::none: return x;
    case Act::relu: return vmax_keep(x, vf{});
    case Act::leaky_relu: return select(x < 0.0f, x * alpha, x);
    case Act::sigmoid: return vsigmoid(x);
    case Act::hard_sigmoid: return vmin_keep(vmax_keep(x * alpha + beta, vf{}), splat(1.0f));
    case Act::hard_swish: return x * vmin_keep(vmax_keep(x * (1.0f / 6.0f) + 0.5f, vf{}), splat(1.0f));
    case Act::swish: return x * vsigmoid(x * alpha);
    case Act::gelu: return vgelu(x);
    case Act::gelu_tanh: return vgelu_tanh(x);
    case Act::tanh: return vtanh(x);
    case Act::clip: return vmin_keep(vmax_keep(x, splat(alpha)), splat(beta));
    case Act::elu: return select(x < 0.0f, alpha * (vexp(x) - 1.0f), x);
    case Act::softplus: return vsoftplus(x);
    case Act::mish: return x * vtanh(vsoftplus(x));
    case Act::erf: return verf(x);
    case Act::exp: return vexp(x);
    case Act::sqrt: return vsqrt(x);
    case Act::abs: return vabs(x);
  }
  return x;
}

}  // namespace SX_ISA
}  // namespace sx
