// Elementwise functions on vectors: exp, log, tanh, sigmoid, erf, gelu and what is made of them.
//
// Every polynomial was fitted for this file in float64 (weighted least squares with Lawson's iteration, from 40-digit
// values); "fit" is its greatest relative error before rounding, "measured" that of the float32 function against float64
// over all arguments, in units of the last place.
#pragma once
#include "kernels/gemm/args.h"
#include "kernels/simd.h"

namespace sx {
namespace SX_ISA {

constexpr float kInf = __builtin_inff();

// Whether some lane of a comparison holds.
static inline bool any(vi mask) {
#if SX_WIDTH == 16
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif SX_WIDTH == 8
  return _mm256_movemask_ps((__m256)mask) != 0;
#else
  int r = 0;
  for (int i = 0; i < W; i++) r |= mask[i];
  return r != 0;
#endif
}
static inline vf keep_if(vi mask, vf x) { return as_float(as_int(x) & mask); }
static inline vf with_sign(vf magnitude, vf sign) {
  const int32_t bit = INT32_MIN;
  return as_float((as_int(magnitude) & ~bit) | (as_int(sign) & bit));
}

template <int N>
static inline __attribute__((always_inline)) vf polynomial(const float (&c)[N], vf x) {
  vf p = splat(c[N - 1]);
#pragma GCC unroll 12
  for (int i = N - 2; i >= 0; i--) p = p * x + c[i];
  return p;
}

// exp(x) = 2^n (1 + p): n = x / ln 2 to the nearest integer, r = x - n ln 2 in two steps, p = r + r² Q(r).
// Q: degree 4 on |r| <= 0.34674, fit 3.1e-9.
struct Exp {
  vf p, n;
  vi shifted;  // n in the low bits
};
static inline __attribute__((always_inline)) Exp exp_parts(vf x) {
  constexpr float Q[] = {0.49999994f, 0.166665211f, 0.041668389f, 0.00836874545f, 0.00138145394f};
  const vf magic = splat(12582912.0f);  // 1.5 * 2^23: the sum has no room for a fraction
  const vf t = x * 1.44269504f + magic;
  const vf n = t - magic;
  vf r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  return {polynomial(Q, r) * (r * r) + r, n, as_int(t)};
}

// Measured 1.0 ulp over [-87.3, 88.7]; overflows to inf, underflows through the denormals to 0, keeps NaN.
static inline vf vexp(vf x) {
  x = vmin_keep(vmax_keep(x, splat(-104.0f)), splat(89.0f));
  const Exp e = exp_parts(x);
#if SX_WIDTH == 16
  return (vf)_mm512_scalef_ps((__m512)(e.p + 1.0f), (__m512)e.n);
#else
  // In two factors: one alone has no room for 2^-149 and 2^128.
  const vi k = e.shifted - 0x4b400000, half = k >> 1;
  return (e.p + 1.0f) * as_float((half + 127) << 23) * as_float((k - half + 127) << 23);
#endif
}

// As vexp for x <= 88, with 0 instead of results below 1.3e-38.
static inline vf vexp_short(vf x) {
  const Exp e = exp_parts(vmax_keep(x, splat(-87.0f)));
#if SX_WIDTH == 16
  const vf y = (vf)_mm512_scalef_ps((__m512)(e.p + 1.0f), (__m512)e.n);
#else
  const vf y = as_float(as_int(e.p + 1.0f) + (e.shifted << 23));
#endif
  return keep_if(~(x < -87.0f), y);
}

// exp(x) - 1 for |x| <= 87, without cancellation at 0.
static inline vf expm1_parts(vf x) {
  const Exp e = exp_parts(x);
  const vf s = as_float((e.shifted << 23) + 0x3f800000);
  return e.p * s + (s - 1.0f);
}
static inline vf vexpm1_negative(vf x) { return expm1_parts(vmax_keep(x, splat(-80.0f))); }

// Measured 2.4 ulp; 0 below -88.
static inline vf vsigmoid(vf x) {
  const Exp e = exp_parts(vmin_keep(vmax_keep(-x, splat(-87.0f)), splat(88.0f)));
  const vf power = as_float(as_int(e.p + 1.0f) + (e.shifted << 23));
  return keep_if(~(x < -88.0f), 1.0f / (1.0f + power));
}

// 2^v = s (1 + p): n = v to the nearest integer, s = 2^n, r = v - n, p = r ln 2 + r² Q(r), |v| <= 126.
// Q: degree 4 on |r| <= 0.5005, fit 3.1e-9.
struct Exp2 {
  vf p, s;
};
static inline __attribute__((always_inline)) Exp2 exp2_parts(vf v) {
  constexpr float Q[] = {0.240226477f, 0.0555036217f, 0.00961852819f, 0.00133902743f, 0.000153209927f};
  const vf magic = splat(12582912.0f);
  const vf t = v + magic, r = v - (t - magic);
  return {polynomial(Q, r) * (r * r) + r * 0.693147182f, as_float((as_int(t) << 23) + 0x3f800000)};
}

// With e = exp(2 |x|) - 1: e / (e + 2). Measured 2.2 ulp. tanh rounds to 1 from 9.02 on.
static inline vf vtanh(vf x) {
  const vf a = vmin_keep(vabs(x), splat(9.1f));
  const vf m = expm1_parts(a + a);
  return with_sign(m / (m + 2.0f), x);
}

// erf(a) = 1 - exp(-a q(a)) for a >= 0, erfc being as smooth as that. q: degree 8 up to 3.95, from where on erf rounds to
// 1; fit 4e-9. Its constant term, 2 / sqrt(pi), lies half way between two floats and is given in two parts.
static inline vf verf(vf x) {
  constexpr float Q[] = {-0.00337916709f,  -0.636619389f,   -0.102777831f,    0.0191530641f, 0.000160396172f,
                         -0.00166702757f, 0.000632836949f, -0.000117641292f, 9.25626773e-06f};
  const vf a = vmin_keep(vabs(x), splat(3.95f));
  return with_sign(expm1_parts(a * -1.125f + a * polynomial(Q, a)), x);
}

// max(x, 0) - a / 2 erfc(a / sqrt 2), a = |x|, with erfc as 2^(-a q(a)). q: degree 9, fitted up to 6.5 with a weight that
// allows the more, the smaller erfc is: relative error 1.2e-8 (1 + 16 log(1 / erfc)); from there on it falls to 0. Of -inf it is
// NaN, as -inf times 0 is.
static inline vf vgelu(vf x) {
  constexpr float Q[] = {-1.1511054f,      -0.459203333f,   -0.0525131412f,   0.00707474956f,  -0.00011774421f,
                         -0.000218292873f, 5.76821367e-05f, -7.63186472e-06f, 5.40708697e-07f, -1.6248304e-08f};
  const vf a = vmin_keep(vabs(x), splat(11.75f));
  const Exp2 e = exp2_parts(a * polynomial(Q, a));
  const vf y = vmax_keep(x, vf{}) - (0.5f * a) * (e.p * e.s + e.s);
  return select(x == -kInf, splat(__builtin_nanf("")), y);
}

// x sigmoid(2 z) is x (1 + tanh z) / 2.
static inline vf vgelu_tanh(vf x) { return x * vsigmoid(x * (x * x * 0.0713548163f + 1.5957691216f)); }

// log(x) = n ln 2 + log(1 + f), 1 + f within [sqrt(1/2), sqrt(2)); log(1 + f) = f - f²/2 + f³ P(f).
// P: degree 8, fit 7.5e-10.
static inline vf vlog(vf x) {
  constexpr float P[] = {0.333333135f, -0.250000089f, 0.200021192f, -0.166679963f, 0.142195523f, -0.124055892f, 0.118881628f, -0.116756514f, 0.0674663857f};
  const vi denormal = x < 1.17549435e-38f;
  const vf scaled = select(denormal, x * 8388608.0f, x);
  // So that the exponent field counts from sqrt(1/2). Unsigned, since the bits of -0 wrap around.
  typedef uint32_t vu __attribute__((vector_size(SX_WIDTH * 4)));
  const vi bits = (vi)((vu)as_int(scaled) - 0x3f3504f3u);
  const vi n = (bits >> 23) + (denormal & -23);
  const vf f = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const vf power = to_float(n), z = f * f;
  vf y = polynomial(P, f) * (f * z) + power * -2.12194440e-4f - 0.5f * z;
  y = f + y + power * 0.693359375f;
  const vi special = ~(x > 0.0f) | (x == kInf);
  if (any(special)) {
    y = select(x == kInf, x, y);
    y = select(x == 0.0f, splat(-kInf), y);
    y = select(x < 0.0f, splat(__builtin_nanf("")), y);
    y = select(x != x, x, y);
  }
  return y;
}

// log(1 + u) for 0 <= u <= 1: u P(u), degree 9, fit 4.7e-9.
static inline vf vlog1p_unit(vf u) {
  constexpr float P[] = {1.0f,          -0.499999017f, 0.333299637f, -0.249541342f, 0.196759388f,
                         -0.153055906f, 0.106036514f,  -0.0569594987f, 0.0198514443f, -0.00324402098f};
  return u * polynomial(P, u);
}

// log(1 + exp(x)) without overflow and without losing small results.
static inline vf vsoftplus(vf x) { return vmax_keep(x, vf{}) + vlog1p_unit(vexp(-vabs(x))); }

// x tanh(softplus(x)) = x n / (n + 2) with e = exp(x), n = e (e + 2).
static inline vf vmish(vf x) {
  const vf e = vexp_short(vmin_keep(x, splat(20.0f)));
  const vf n = e * (e + 2.0f);
  return x * (n / (n + 2.0f));
}

static inline vf vclip(vf x, float low, float high) { return vmin_keep(vmax_keep(x, splat(low)), splat(high)); }

// The longer ones in one place: inlined into every epilogue they would make most of its code.
[[maybe_unused]] static __attribute__((noinline)) vf activate_smooth(Act act, vf x, float alpha) {
  switch (act) {
    case Act::sigmoid: return vsigmoid(x);
    case Act::swish: return x * vsigmoid(x * alpha);
    case Act::gelu: return vgelu(x);
    case Act::gelu_tanh: return vgelu_tanh(x);
    case Act::tanh: return vtanh(x);
    case Act::elu: return select(x < 0.0f, alpha * vexpm1_negative(x), x);
    case Act::softplus: return vsoftplus(x);
    case Act::mish: return vmish(x);
    case Act::erf: return verf(x);
    case Act::exp: return vexp(x);
    default: return x;
  }
}

static inline vf activate(Act act, vf x, float alpha, float beta) {
  switch (act) {
    case Act::none: return x;
    case Act::relu: return vmax_keep(x, vf{});
    case Act::leaky_relu: return select(x < 0.0f, x * alpha, x);
    case Act::hard_sigmoid: return vclip(x * alpha + beta, 0.0f, 1.0f);
    case Act::hard_swish: return x * vclip(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f);
    case Act::clip: return vclip(x, alpha, beta);
    case Act::sqrt: return vsqrt(x);
    case Act::abs: return vabs(x);
    default: return activate_smooth(act, x, alpha);
  }
}

// p[n] = act(p[n]) in place, n a multiple of W. Defined in activate.cc.
void activate_floats(Act act, float* p, int64_t n, float alpha, float beta);

}  // namespace SX_ISA
}  // namespace sx
