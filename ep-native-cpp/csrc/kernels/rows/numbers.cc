// Elementwise operators on numbers of any type, one at a time (the compiler vectorises what it can): integer and float64
// arithmetic, comparisons, logic, Where. Integers wrap around; dividing an integer by zero gives 0.
#include "kernels/rows/half.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

template <typename T>
constexpr bool kSigned = static_cast<T>(-1) < static_cast<T>(0);
template <typename T>
constexpr bool kFloat = static_cast<T>(0.5) != static_cast<T>(0);
template <typename T, bool = kFloat<T>>
struct Wrapping {
  using type = uint64_t;
};
template <typename T>
struct Wrapping<T, true> {
  using type = T;
};
// The type to add and multiply in, so that an overflow is no undefined behaviour.
template <typename T>
using Wrap = typename Wrapping<T>::type;

template <typename T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) + static_cast<Wrap<T>>(b));
}
template <typename T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) - static_cast<Wrap<T>>(b));
}
template <typename T>
T mul(T a, T b) {
  return static_cast<T>(static_cast<Wrap<T>>(a) * static_cast<Wrap<T>>(b));
}
template <typename T>
T neg(T a) {
  if constexpr (kFloat<T>)
    return -a;
  else
    return sub<T>(0, a);
}
template <typename T>
T div(T a, T b) {
  if constexpr (kFloat<T>)
    return a / b;
  else if constexpr (kSigned<T>)
    return b == 0 ? 0 : b == -1 ? neg(a) : static_cast<T>(a / b);
  else
    return b == 0 ? 0 : static_cast<T>(a / b);
}
// The remainder with the sign of a.
template <typename T>
T fmod(T a, T b) {
  if constexpr (kFloat<T>)
    return __builtin_fmod(a, b);
  else if constexpr (kSigned<T>)
    return b == 0 || b == -1 ? 0 : static_cast<T>(a % b);
  else
    return b == 0 ? 0 : static_cast<T>(a % b);
}
// The remainder with the sign of b.
template <typename T>
T mod(T a, T b) {
  const T r = fmod(a, b);
  if constexpr (kFloat<T>) {
    if (r == 0) return __builtin_copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
  } else if constexpr (kSigned<T>) {
    return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
  } else {
    return r;
  }
}
template <typename T>
T min(T a, T b) {
  if constexpr (kFloat<T>)
    return a != a ? a : b != b ? b : a < b ? a : b;
  else
    return a < b ? a : b;
}
template <typename T>
T max(T a, T b) {
  if constexpr (kFloat<T>)
    return a != a ? a : b != b ? b : a > b ? a : b;
  else
    return a > b ? a : b;
}
template <typename T>
T abs(T a) {
  if constexpr (kFloat<T>)
    return __builtin_fabs(a);
  else
    return a < 0 ? neg(a) : a;
}
template <typename T>
T sign(T a) {
  return a > 0 ? static_cast<T>(1) : a < 0 ? static_cast<T>(-1) : a == 0 ? static_cast<T>(0) : a;
}
template <typename T>
T relu(T a) {
  return max(a, static_cast<T>(0));
}
template <typename T>
T prelu(T a, T slope) {
  return a < 0 ? mul(a, slope) : a;
}

template <typename T>
T shift_left(T a, T b) {
  return b < 0 || b >= static_cast<T>(8 * sizeof(T)) ? 0 : static_cast<T>(static_cast<uint64_t>(a) << b);
}
// A sign is copied; an amount past the width leaves 0, or -1 of a sign.
template <typename T>
T shift_right(T a, T b) {
  if (b < 0 || b >= static_cast<T>(8 * sizeof(T))) return a < 0 ? static_cast<T>(-1) : 0;
  return static_cast<T>(a >> b);
}
template <typename T>
T bit_and(T a, T b) {
  return a & b;
}
template <typename T>
T bit_or(T a, T b) {
  return a | b;
}
template <typename T>
T bit_xor(T a, T b) {
  return a ^ b;
}
template <typename T>
T bit_not(T a) {
  return static_cast<T>(~a);
}

template <typename T>
bool equal(T a, T b) {
  return a == b;
}
template <typename T>
bool less(T a, T b) {
  return a < b;
}
template <typename T>
bool less_or_equal(T a, T b) {
  return a <= b;
}
template <typename T>
bool greater(T a, T b) {
  return a > b;
}
template <typename T>
bool greater_or_equal(T a, T b) {
  return a >= b;
}

bool logical_and(uint8_t a, uint8_t b) { return (a != 0) & (b != 0); }
bool logical_or(uint8_t a, uint8_t b) { return (a | b) != 0; }
bool logical_xor(uint8_t a, uint8_t b) { return (a != 0) != (b != 0); }
bool logical_not(uint8_t a) { return a == 0; }

template <typename T>
bool is_nan(T a) {
  return a != a;
}

double reciprocal(double a) { return 1 / a; }
double sqrt(double a) { return __builtin_sqrt(a); }
double exp(double a) { return __builtin_exp(a); }
double log(double a) { return __builtin_log(a); }
double floor(double a) { return __builtin_floor(a); }
double ceil(double a) { return __builtin_ceil(a); }
double round(double a) { return __builtin_rint(a); }
double sigmoid(double a) { return 1 / (1 + __builtin_exp(-a)); }
double tanh(double a) { return __builtin_tanh(a); }
double erf(double a) { return __builtin_erf(a); }
double at_least_finite(double a) { return a < -__DBL_MAX__ ? -__DBL_MAX__ : a; }
double at_most_finite(double a) { return a > __DBL_MAX__ ? __DBL_MAX__ : a; }
double sin(double a) { return __builtin_sin(a); }
double cos(double a) { return __builtin_cos(a); }
double power(double a, double b) { return __builtin_pow(a, b); }

template <typename R, typename T, R (*F)(T)>
void map1(void* out, const void* a, const void*, const void*, int64_t n, const float*) {
  const T* x = static_cast<const T*>(a);
  R* y = static_cast<R*>(out);
  for (int64_t i = 0; i < n; i++) y[i] = F(x[i]);
}
template <typename R, typename T, R (*F)(T, T)>
void map2(void* out, const void* a, const void* b, const void*, int64_t n, const float*) {
  const T *x = static_cast<const T*>(a), *z = static_cast<const T*>(b);
  R* y = static_cast<R*>(out);
  for (int64_t i = 0; i < n; i++) y[i] = F(x[i], z[i]);
}

template <typename T>
void where(void* out, const void* a, const void* b, const void* c, int64_t n, const float*) {
  const uint8_t* condition = static_cast<const uint8_t*>(a);
  const T *x = static_cast<const T*>(b), *z = static_cast<const T*>(c);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; i++) y[i] = condition[i] ? x[i] : z[i];
}

// Integer to a power: b is int64 or uint64, or float64 (then the result is cut toward zero, and 0 where it is not finite).
template <typename T, typename E>
void integer_power(void* out, const void* a, const void* b, const void*, int64_t n, const float*) {
  const T* x = static_cast<const T*>(a);
  const E* z = static_cast<const E*>(b);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; i++) {
    if (kSigned<E> && z[i] < 0) {
      const bool odd = z[i] & 1, one = x[i] == 1, minus_one = kSigned<T> && x[i] == static_cast<T>(-1);
      y[i] = static_cast<T>(one || (minus_one && !odd) ? 1 : minus_one ? -1 : 0);
      continue;
    }
    uint64_t r = 1, base = static_cast<uint64_t>(x[i]);
    for (uint64_t e = static_cast<uint64_t>(z[i]); e; e >>= 1, base *= base)
      if (e & 1) r *= base;
    y[i] = static_cast<T>(r);
  }
}
template <typename T>
void real_power(void* out, const void* a, const void* b, const void*, int64_t n, const float*) {
  const T* x = static_cast<const T*>(a);
  const double* z = static_cast<const double*>(b);
  T* y = static_cast<T*>(out);
  for (int64_t i = 0; i < n; i++) {
    const double r = __builtin_pow(static_cast<double>(x[i]), z[i]);
    y[i] = static_cast<T>(__builtin_fabs(r) < 0x1p63 ? static_cast<int64_t>(r) : 0);
  }
}

// p: detect_negative, detect_positive.
template <typename T>
void is_inf(void* out, const void* a, const void*, const void*, int64_t n, const float* p) {
  const T* x = static_cast<const T*>(a);
  uint8_t* y = static_cast<uint8_t*>(out);
  const bool negative = p[0] != 0, positive = p[1] != 0;
  for (int64_t i = 0; i < n; i++) y[i] = (positive & (x[i] == static_cast<T>(__builtin_inf()))) | (negative & (x[i] == static_cast<T>(-__builtin_inf())));
}

struct Entry {
  const char* name;
  Loop loop;
};
Loop find(const Entry* table, size_t n, const char* op) {
  for (size_t i = 0; i < n; i++)
    if (__builtin_strcmp(table[i].name, op) == 0) return table[i].loop;
  return nullptr;
}
#define FIND(table, op) find(table, sizeof(table) / sizeof(table[0]), op)

template <typename T>
Loop compare(const char* op) {
  static constexpr Entry kTable[] = {
      {"Equal", map2<bool, T, equal<T>>},
      {"Less", map2<bool, T, less<T>>},
      {"LessOrEqual", map2<bool, T, less_or_equal<T>>},
      {"Greater", map2<bool, T, greater<T>>},
      {"GreaterOrEqual", map2<bool, T, greater_or_equal<T>>},
  };
  return FIND(kTable, op);
}

template <typename T>
Loop arithmetic(const char* op) {
  static constexpr Entry kTable[] = {
      {"Add", map2<T, T, add<T>>}, {"Sub", map2<T, T, sub<T>>}, {"Mul", map2<T, T, mul<T>>}, {"Div", map2<T, T, div<T>>},
      {"Mod", map2<T, T, mod<T>>}, {"Fmod", map2<T, T, fmod<T>>}, {"Min", map2<T, T, min<T>>}, {"Max", map2<T, T, max<T>>},
      {"Neg", map1<T, T, neg<T>>}, {"Abs", map1<T, T, abs<T>>}, {"Sign", map1<T, T, sign<T>>}, {"Relu", map1<T, T, relu<T>>},
      {"PRelu", map2<T, T, prelu<T>>},
  };
  if (Loop l = FIND(kTable, op)) return l;
  return compare<T>(op);
}

template <typename T>
Loop integer(const char* op) {
  static constexpr Entry kTable[] = {
      {"ShiftLeft", map2<T, T, shift_left<T>>}, {"ShiftRight", map2<T, T, shift_right<T>>}, {"BitwiseAnd", map2<T, T, bit_and<T>>},
      {"BitwiseOr", map2<T, T, bit_or<T>>},     {"BitwiseXor", map2<T, T, bit_xor<T>>},     {"BitwiseNot", map1<T, T, bit_not<T>>},
      {"Pow", integer_power<T, int64_t>},       {"UnsignedPow", integer_power<T, uint64_t>},      {"RealPow", real_power<T>},
  };
  if (Loop l = FIND(kTable, op)) return l;
  return arithmetic<T>(op);
}

Loop real(const char* op) {
  static constexpr Entry kTable[] = {
      {"Reciprocal", map1<double, double, reciprocal>}, {"Sqrt", map1<double, double, sqrt>},   {"Exp", map1<double, double, exp>},
      {"Log", map1<double, double, log>},               {"Floor", map1<double, double, floor>}, {"Ceil", map1<double, double, ceil>},
      {"Round", map1<double, double, round>},           {"Tanh", map1<double, double, tanh>},   {"Sigmoid", map1<double, double, sigmoid>},
      {"Erf", map1<double, double, erf>},               {"Sin", map1<double, double, sin>},     {"Cos", map1<double, double, cos>},
      {"AtLeastFinite", map1<double, double, at_least_finite>}, {"AtMostFinite", map1<double, double, at_most_finite>},
      {"Pow", map2<double, double, power>},             {"IsInf", is_inf<double>},              {"IsNaN", map1<bool, double, is_nan<double>>},
  };
  if (Loop l = FIND(kTable, op)) return l;
  return arithmetic<double>(op);
}

Loop single(const char* op) {
  static constexpr Entry kTable[] = {{"IsNaN", map1<bool, float, is_nan<float>>}, {"IsInf", is_inf<float>}};
  if (Loop l = FIND(kTable, op)) return l;
  return compare<float>(op);
}

Loop boolean(const char* op) {
  static constexpr Entry kTable[] = {
      {"And", map2<bool, uint8_t, logical_and>}, {"Or", map2<bool, uint8_t, logical_or>},    {"Xor", map2<bool, uint8_t, logical_xor>},
      {"Not", map1<bool, uint8_t, logical_not>}, {"Equal", map2<bool, uint8_t, equal<uint8_t>>},
  };
  return FIND(kTable, op);
}

Loop choose(int dtype) {
  switch (dtype) {
    case 0: case 8: case 9: return where<uint32_t>;
    case 1: case 10: case 11: return where<uint64_t>;
    case 2: case 3: case 6: case 7: return where<uint16_t>;
    default: return where<uint8_t>;
  }
}
#undef FIND

}  // namespace

Loop number_loop(const char* op, int dtype) {
  if (__builtin_strcmp(op, "Where") == 0) return choose(dtype);
  switch (dtype) {
    case 0: return single(op);
    case 1: return real(op);
    case 4: return integer<int8_t>(op);
    case 5: return integer<uint8_t>(op);
    case 6: return integer<int16_t>(op);
    case 7: return integer<uint16_t>(op);
    case 8: return integer<int32_t>(op);
    case 9: return integer<uint32_t>(op);
    case 10: return integer<int64_t>(op);
    case 11: return integer<uint64_t>(op);
    case 12: return boolean(op);
    default: return nullptr;
  }
}

}  // namespace SX_ISA
}  // namespace sx
