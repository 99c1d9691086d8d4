// Elementwise operators on float32: one function and one line of the table each.
#include "kernels/rows/trigonometry.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

// p[0] and p[1] are the operator's attributes in the order of its ONNX schema, unless said otherwise.
vf neg(vf x, const float*) { return -x; }
vf abs_(vf x, const float*) { return vabs(x); }
vf sqrt_(vf x, const float*) { return vsqrt(x); }
vf reciprocal(vf x, const float*) { return 1.0f / x; }
vf square(vf x, const float*) { return x * x; }
vf cube(vf x, const float*) { return x * x * x; }
// Pow by 1/2: unlike sqrt, inf for -inf and no negative zero.
vf power_half(vf x, const float*) { return select(x == -kInf, splat(kInf), vsqrt(x + 0.0f)); }
vf div_by(vf x, const float* p) { return x / p[0]; }
vf exp(vf x, const float*) { return vexp(x); }
vf log(vf x, const float*) { return vlog(x); }
vf sin(vf x, const float*) { return vsin(x); }
vf cos(vf x, const float*) { return vcos(x); }
vf tan(vf x, const float*) { return vtan(x); }
vf erf(vf x, const float*) { return verf(x); }
vf tanh(vf x, const float*) { return vtanh(x); }
vf sigmoid(vf x, const float*) { return vsigmoid(x); }
vf softplus(vf x, const float*) { return vsoftplus(x); }
vf softsign(vf x, const float*) { return x / (1.0f + vabs(x)); }
vf mish(vf x, const float*) { return vmish(x); }
vf gelu(vf x, const float*) { return vgelu(x); }
vf gelu_tanh(vf x, const float*) { return vgelu_tanh(x); }
vf swish(vf x, const float* p) { return x * vsigmoid(x * p[0]); }
vf hard_swish(vf x, const float*) { return x * vclip(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f); }
vf hard_sigmoid(vf x, const float* p) { return vclip(x * p[0] + p[1], 0.0f, 1.0f); }
vf relu(vf x, const float*) { return vmax_keep(x, vf{}); }
vf leaky_relu(vf x, const float* p) { return select(x < 0.0f, x * p[0], x); }
vf elu(vf x, const float* p) { return select(x < 0.0f, p[0] * vexpm1_negative(x), x); }
vf selu(vf x, const float* p) { return p[1] * select(x < 0.0f, p[0] * vexpm1_negative(x), x); }
vf celu(vf x, const float* p) { return vmax_keep(x, vf{}) + p[0] * vexpm1_negative(vmin_keep(x, vf{}) / p[0]); }
vf thresholded_relu(vf x, const float* p) { return keep_if(x > p[0], x); }
vf clip(vf x, const float* p) { return vclip(x, p[0], p[1]); }
vf floor(vf x, const float*) {
  const vf t = vround(x);
  return t - keep_if(t > x, splat(1.0f));
}
vf ceil(vf x, const float*) { return with_sign(-floor(-x, nullptr), x); }
vf round(vf x, const float*) { return vround(x); }
vf sign(vf x, const float*) { return select(x > 0.0f, splat(1.0f), select(x < 0.0f, splat(-1.0f), x + 0.0f)); }
// p: bias, lambd.
vf shrink(vf x, const float* p) { return keep_if((x > p[1]) | (x < -p[1]), select(x > p[1], x - p[0], x + p[0])); }

float asin(float x) { return __builtin_asinf(x); }
float acos(float x) { return __builtin_acosf(x); }
float atan(float x) { return __builtin_atanf(x); }
float sinh(float x) { return __builtin_sinhf(x); }
float cosh(float x) { return __builtin_coshf(x); }
float asinh(float x) { return __builtin_asinhf(x); }
float acosh(float x) { return __builtin_acoshf(x); }
float atanh(float x) { return __builtin_atanhf(x); }
template <float (*F)(float)>
vf lanes(vf x, const float*) {
  return by_lanes<F>(x);
}

vf add(vf a, vf b, const float*) { return a + b; }
vf sub(vf a, vf b, const float*) { return a - b; }
vf mul(vf a, vf b, const float*) { return a * b; }
vf div(vf a, vf b, const float*) { return a / b; }
vf min(vf a, vf b, const float*) { return vmin(a, b); }
vf max(vf a, vf b, const float*) { return vmax(a, b); }
vf prelu(vf x, vf slope, const float*) { return select(x < 0.0f, x * slope, x); }
// p: alpha.
vf swiglu(vf a, vf b, const float* p) { return a * vsigmoid(a * p[0]) * b; }

float power(float a, float b) { return __builtin_powf(a, b); }
float fmod_(float a, float b) { return __builtin_fmodf(a, b); }
float mod(float a, float b) {
  const float r = __builtin_fmodf(a, b);
  if (r == 0) return __builtin_copysignf(0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
template <float (*F)(float, float)>
vf lanes2(vf a, vf b, const float*) {
  alignas(64) float x[W], y[W];
  *reinterpret_cast<vf*>(x) = a;
  *reinterpret_cast<vf*>(y) = b;
  for (int i = 0; i < W; i++) x[i] = F(x[i], y[i]);
  return *reinterpret_cast<const vf*>(x);
}

template <vf (*F)(vf, const float*)>
void unary(void* out, const void* a, const void*, const void*, int64_t n, const float* p) {
  const float* x = static_cast<const float*>(a);
  float* y = static_cast<float*>(out);
  const float q[2] = {p[0], p[1]};
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, F(load(x + i), q));
  if (i < n) store_part(y + i, F(load_part(x + i, static_cast<int>(n - i)), q), static_cast<int>(n - i));
}

template <vf (*F)(vf, vf, const float*), int scalars>
void binary(void* out, const void* a, const void* b, const void*, int64_t n, const float* p) {
  const float *x = static_cast<const float*>(a), *z = static_cast<const float*>(b);
  float* y = static_cast<float*>(out);
  const float q[2] = {p[0], p[1]};
  const vf x0 = splat(*x), z0 = splat(*z);
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, F(scalars & 1 ? x0 : load(x + i), scalars & 2 ? z0 : load(z + i), q));
  if (i < n) {
    const int part = static_cast<int>(n - i);
    store_part(y + i, F(scalars & 1 ? x0 : load_part(x + i, part), scalars & 2 ? z0 : load_part(z + i, part), q), part);
  }
}

// a * b + c
void mul_add(void* out, const void* a, const void* b, const void* c, int64_t n, const float*) {
  const float *x = static_cast<const float*>(a), *f = static_cast<const float*>(b), *o = static_cast<const float*>(c);
  float* y = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, load(x + i) * load(f + i) + load(o + i));
  if (i < n) {
    const int part = static_cast<int>(n - i);
    store_part(y + i, load_part(x + i, part) * load_part(f + i, part) + load_part(o + i, part), part);
  }
}

struct Entry {
  const char* name;
  Loop loop[3];  // by `scalars`
};
#define UNARY(name, f) {name, {unary<f>, nullptr, nullptr}}
#define BINARY(name, f) {name, {binary<f, 0>, binary<f, 1>, binary<f, 2>}}
#define SLOW(name, f) {name, {binary<lanes2<f>, 0>, nullptr, nullptr}}
const Entry kTable[] = {
    BINARY("Add", add),
    BINARY("Sub", sub),
    BINARY("Mul", mul),
    BINARY("Div", div),
    BINARY("Min", min),
    BINARY("Max", max),
    BINARY("PRelu", prelu),
    SLOW("Pow", power),
    SLOW("Mod", mod),
    SLOW("Fmod", fmod_),
    {"SwiGLU", {binary<swiglu, 0>, nullptr, nullptr}},
    {"MulAdd", {mul_add, nullptr, nullptr}},
    UNARY("Neg", neg),
    UNARY("Abs", abs_),
    UNARY("Sqrt", sqrt_),
    UNARY("Reciprocal", reciprocal),
    UNARY("Square", square),
    UNARY("Cube", cube),
    UNARY("PowHalf", power_half),
    UNARY("DivBy", div_by),
    UNARY("Exp", exp),
    UNARY("Log", log),
    UNARY("Sin", sin),
    UNARY("Cos", cos),
    UNARY("Tan", tan),
    UNARY("Asin", lanes<asin>),
    UNARY("Acos", lanes<acos>),
    UNARY("Atan", lanes<atan>),
    UNARY("Sinh", lanes<sinh>),
    UNARY("Cosh", lanes<cosh>),
    UNARY("Asinh", lanes<asinh>),
    UNARY("Acosh", lanes<acosh>),
    UNARY("Atanh", lanes<atanh>),
    UNARY("Erf", erf),
    UNARY("Tanh", tanh),
    UNARY("Sigmoid", sigmoid),
    UNARY("Softplus", softplus),
    UNARY("Softsign", softsign),
    UNARY("Mish", mish),
    UNARY("Gelu", gelu),
    UNARY("GeluTanh", gelu_tanh),
    UNARY("Swish", swish),
    UNARY("HardSwish", hard_swish),
    UNARY("HardSigmoid", hard_sigmoid),
    UNARY("Relu", relu),
    UNARY("LeakyRelu", leaky_relu),
    UNARY("Elu", elu),
    UNARY("Selu", selu),
    UNARY("Celu", celu),
    UNARY("ThresholdedRelu", thresholded_relu),
    UNARY("Shrink", shrink),
    UNARY("Clip", clip),
    UNARY("Floor", floor),
    UNARY("Ceil", ceil),
    UNARY("Round", round),
    UNARY("Sign", sign),
};
#undef UNARY
#undef BINARY
#undef SLOW

}  // namespace

Loop float_loop(const char* op, int scalars) {
  for (const Entry& e : kTable)
    if (__builtin_strcmp(e.name, op) == 0) return scalars < 3 ? e.loop[scalars] : nullptr;
  return nullptr;
}

}  // namespace SX_ISA
}  // namespace sx
