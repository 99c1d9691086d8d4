// Operators of the elementwise family: each is a program of one or a few instructions.
#include "ops/elementwise.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <iterator>

#include "ops/table.h"

namespace sx {
namespace {

void infer_broadcast(InferCtx& c) { c.output(0, broadcast_inputs(c)); }
void infer_first(InferCtx& c) { c.output(0, c.shape(0)); }
void infer_prelu(InferCtx& c) {
  if (broadcast_inputs(c) != c.shape(0)) throw OpError("a slope of shape " + c.shape(1).str() + " does not broadcast to " + c.shape(0).str());
  c.output(0, c.shape(0));
}
void infer_clip(InferCtx& c) {
  for (size_t i = 1; i <= 2; i++)
    if (c.has(i) && c.shape(i).size() != 1) throw OpError("min and max are scalars, got shape " + c.shape(i).str());
  c.output(0, c.shape(0));
}
void infer_same(InferCtx& c) {
  if (c.shape(0) != c.shape(1)) throw OpError("the shapes " + c.shape(0).str() + " and " + c.shape(1).str() + " must be equal");
  c.output(0, c.shape(0));
}

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
DType arithmetic(DType t) { return is_half(t) ? DType::f32 : t; }

struct Defaults {
  const char* op;
  const char* name[2];
  double value[2];
};
const Defaults kDefaults[] = {
    {"LeakyRelu", {"alpha", ""}, {0.009999999776482582, 0}},
    {"Elu", {"alpha", ""}, {1, 0}},
    {"Selu", {"alpha", "gamma"}, {1.6732631921768188, 1.0507010221481323}},
    {"Celu", {"alpha", ""}, {1, 0}},
    {"HardSigmoid", {"alpha", "beta"}, {0.20000000298023224, 0.5}},
    {"Swish", {"alpha", ""}, {1, 0}},
    {"SwiGLU", {"alpha", ""}, {1, 0}},
    {"ThresholdedRelu", {"alpha", ""}, {1, 0}},
    {"Shrink", {"bias", "lambd"}, {0, 0.5}},
    {"IsInf", {"detect_negative", "detect_positive"}, {1, 1}},
};

std::string loop_name(const Op& op) {
  const std::string name = op.def->name;
  if (name == "Gelu" && op.attrs.gets("approximate", "none") == "tanh") return "GeluTanh";
  if (name == "Mod" && op.attrs.get("fmod", 0)) return "Fmod";
  if (name == "BitShift") return op.attrs.gets("direction", "") == "LEFT" ? "ShiftLeft" : "ShiftRight";
  return name;
}

Instruction instruction(const Op& op) {
  Instruction i;
  i.op = loop_name(op);
  for (size_t k = 0; k < op.in.size() && k < 3; k++) i.operand[k] = static_cast<int>(k);
  for (const Defaults& d : kDefaults)
    if (i.op == d.op)
      for (int k = 0; k < 2; k++) i.p[k] = static_cast<float>(op.attrs.ints.count(d.name[k]) ? op.attrs.get(d.name[k], 0) : op.attrs.getf(d.name[k], d.value[k]));
  return i;
}

void plan_simple(PlanCtx& p) { plan_elementwise(p, {instruction(p.op)}, arithmetic(p.dtype(0))); }

void plan_where(PlanCtx& p) { plan_elementwise(p, {instruction(p.op)}, p.dtype(1)); }

void plan_cast(PlanCtx& p) {
  if (p.dtype(0) == p.out_dtype(0)) return p.view(0, 0);
  plan_elementwise(p, {}, p.out_dtype(0));
}

void plan_bit_cast(PlanCtx& p) { p.view(0, 0); }

// Sum, Mean, Min and Max of any number of tensors.
void plan_variadic(PlanCtx& p) {
  const std::string name = p.op.def->name;
  const int n = static_cast<int>(p.op.in.size());
  if (n == 1) return p.view(0, 0);
  std::vector<Instruction> code;
  for (int k = 1; k < n; k++) {
    Instruction i;
    i.op = name == "Sum" || name == "Mean" ? "Add" : name;
    i.operand[0] = k == 1 ? 0 : n + k - 2;
    i.operand[1] = k;
    code.push_back(i);
  }
  if (name == "Mean") {
    Instruction i;
    i.op = "DivBy";
    i.operand[0] = n + n - 2;
    i.p[0] = static_cast<float>(n);
    code.push_back(i);
  }
  plan_elementwise(p, code, arithmetic(p.dtype(0)));
}

float greatest(DType t) { return t == DType::f16 ? 65504.0f : t == DType::bf16 ? 3.3895314e38f : FLT_MAX; }

// An absent bound is the type's least or greatest finite value. NaN as a bound gives NaN, which the loop named Clip does not.
void plan_clip(PlanCtx& p) {
  const DType compute = arithmetic(p.dtype(0));
  auto known = [&](size_t k) { return !p.has(k) || (p.is_const(k) && !std::isnan(p.numbers(k).at(0))); };
  if (compute == DType::f32 && known(1) && known(2)) {
    Instruction i;
    i.op = "Clip";
    i.operand[0] = 0;
    i.p[0] = p.has(1) ? static_cast<float>(p.numbers(1).at(0)) : -greatest(p.dtype(0));
    i.p[1] = p.has(2) ? static_cast<float>(p.numbers(2).at(0)) : greatest(p.dtype(0));
    return plan_elementwise(p, {i}, compute);
  }
  std::vector<Instruction> code;
  for (int k = 1; k <= 2; k++) {
    Instruction i;
    i.operand[0] = code.empty() ? 0 : static_cast<int>(p.op.in.size());
    if (p.has(static_cast<size_t>(k))) {
      i.op = k == 1 ? "Max" : "Min";
      i.operand[1] = k;
    } else if (compute == DType::f32) {
      i.op = "Clip";
      i.p[0] = k == 1 ? -greatest(p.dtype(0)) : -__builtin_inff();
      i.p[1] = k == 1 ? __builtin_inff() : greatest(p.dtype(0));
    } else if (compute == DType::f64) {
      i.op = k == 1 ? "AtLeastFinite" : "AtMostFinite";
    } else {
      continue;
    }
    code.push_back(i);
  }
  if (code.empty()) return p.view(0, 0);
  plan_elementwise(p, code, compute);
}

void plan_pow(PlanCtx& p) {
  const DType compute = arithmetic(p.dtype(0)), exponent = p.dtype(1);
  Instruction i = instruction(p.op);
  if (compute == DType::f32 && p.is_const(1) && p.shape(1).size() == 1 && p.shape(1).rank <= p.shape(0).rank) {
    const double e = p.numbers(1)[0];
    if (e == 1 && p.dtype(0) == p.out_dtype(0)) return p.view(0, 0);
    const char* special = e == 2 ? "Square" : e == 3 ? "Cube" : e == 0.5 ? "PowHalf" : e == -1 ? "Reciprocal" : nullptr;
    if (special) {
      i.op = special;
      i.operand[1] = -1;
    }
  } else if (compute != DType::f32 && compute != DType::f64 && (exponent == DType::f64 || arithmetic(exponent) == DType::f32)) {
    i.op = "RealPow";
  } else if (compute != DType::f32 && compute != DType::f64 && exponent == DType::u64) {
    i.op = "UnsignedPow";
  }
  plan_elementwise(p, {i}, compute);
}

// A fused program: "Mul 0 1;Add 3 2;Relu 4", numbers below the count of inputs being inputs, the others results in order;
// two numbers per instruction in `params`.
void plan_chain(PlanCtx& p) {
  const std::string text = p.op.attrs.gets("program", "");
  auto params = p.op.attrs.float_lists.find("params");
  std::vector<Instruction> code;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    Instruction i;
    size_t from = std::min(text.find(' ', at), end);
    i.op = text.substr(at, from - at);
    for (int k = 0; from < end && k < 3; k++) {
      const size_t next = std::min(text.find(' ', from + 1), end);
      i.operand[k] = std::stoi(text.substr(from + 1, next - from - 1));
      from = next;
    }
    if (params != p.op.attrs.float_lists.end())
      for (size_t k = 0; k < 2; k++) i.p[k] = static_cast<float>(params->second.at(2 * code.size() + k));
    code.push_back(i);
    at = end + 1;
  }
  plan_elementwise(p, code, DType::f32);
}

const OpDef kTable[] = {
    {"Add", infer_broadcast, plan_simple, nullptr},
    {"Sub", infer_broadcast, plan_simple, nullptr},
    {"Mul", infer_broadcast, plan_simple, nullptr},
    {"Div", infer_broadcast, plan_simple, nullptr},
    {"Mod", infer_broadcast, plan_simple, nullptr},
    {"Pow", infer_broadcast, plan_pow, nullptr},
    {"Min", infer_broadcast, plan_variadic, nullptr},
    {"Max", infer_broadcast, plan_variadic, nullptr},
    {"Sum", infer_broadcast, plan_variadic, nullptr},
    {"Mean", infer_broadcast, plan_variadic, nullptr},
    {"Equal", infer_broadcast, plan_simple, nullptr},
    {"Less", infer_broadcast, plan_simple, nullptr},
    {"LessOrEqual", infer_broadcast, plan_simple, nullptr},
    {"Greater", infer_broadcast, plan_simple, nullptr},
    {"GreaterOrEqual", infer_broadcast, plan_simple, nullptr},
    {"And", infer_broadcast, plan_simple, nullptr},
    {"Or", infer_broadcast, plan_simple, nullptr},
    {"Xor", infer_broadcast, plan_simple, nullptr},
    {"Not", infer_first, plan_simple, nullptr},
    {"BitShift", infer_broadcast, plan_simple, nullptr},
    {"BitwiseAnd", infer_broadcast, plan_simple, nullptr},
    {"BitwiseOr", infer_broadcast, plan_simple, nullptr},
    {"BitwiseXor", infer_broadcast, plan_simple, nullptr},
    {"BitwiseNot", infer_first, plan_simple, nullptr},
    {"Where", infer_broadcast, plan_where, nullptr},
    {"PRelu", infer_prelu, plan_simple, nullptr},
    {"SwiGLU", infer_same, plan_simple, nullptr},
    {"Neg", infer_first, plan_simple, nullptr},
    {"Abs", infer_first, plan_simple, nullptr},
    {"Sign", infer_first, plan_simple, nullptr},
    {"Sqrt", infer_first, plan_simple, nullptr},
    {"Reciprocal", infer_first, plan_simple, nullptr},
    {"Exp", infer_first, plan_simple, nullptr},
    {"Log", infer_first, plan_simple, nullptr},
    {"Sin", infer_first, plan_simple, nullptr},
    {"Cos", infer_first, plan_simple, nullptr},
    {"Tan", infer_first, plan_simple, nullptr},
    {"Asin", infer_first, plan_simple, nullptr},
    {"Acos", infer_first, plan_simple, nullptr},
    {"Atan", infer_first, plan_simple, nullptr},
    {"Sinh", infer_first, plan_simple, nullptr},
    {"Cosh", infer_first, plan_simple, nullptr},
    {"Asinh", infer_first, plan_simple, nullptr},
    {"Acosh", infer_first, plan_simple, nullptr},
    {"Atanh", infer_first, plan_simple, nullptr},
    {"Erf", infer_first, plan_simple, nullptr},
    {"Floor", infer_first, plan_simple, nullptr},
    {"Ceil", infer_first, plan_simple, nullptr},
    {"Round", infer_first, plan_simple, nullptr},
    {"Tanh", infer_first, plan_simple, nullptr},
    {"Sigmoid", infer_first, plan_simple, nullptr},
    {"Softplus", infer_first, plan_simple, nullptr},
    {"Softsign", infer_first, plan_simple, nullptr},
    {"Mish", infer_first, plan_simple, nullptr},
    {"Gelu", infer_first, plan_simple, nullptr},
    {"Swish", infer_first, plan_simple, nullptr},
    {"HardSwish", infer_first, plan_simple, nullptr},
    {"HardSigmoid", infer_first, plan_simple, nullptr},
    {"Relu", infer_first, plan_simple, nullptr},
    {"LeakyRelu", infer_first, plan_simple, nullptr},
    {"Elu", infer_first, plan_simple, nullptr},
    {"Selu", infer_first, plan_simple, nullptr},
    {"Celu", infer_first, plan_simple, nullptr},
    {"ThresholdedRelu", infer_first, plan_simple, nullptr},
    {"Shrink", infer_first, plan_simple, nullptr},
    {"IsNaN", infer_first, plan_simple, nullptr},
    {"IsInf", infer_first, plan_simple, nullptr},
    {"Clip", infer_clip, plan_clip, nullptr},
    {"Cast", infer_first, plan_cast, nullptr},
    {"CastLike", infer_first, plan_cast, nullptr},
    {"BitCast", infer_first, plan_bit_cast, nullptr},
    {"Chain", infer_broadcast, plan_chain, nullptr},
};

}  // namespace

OpFamily elementwise_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
