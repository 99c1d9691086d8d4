// From an elementwise program to its step: what every operand looks like in the output's index space.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/elementwise.h"
#include "ops/elementwise_map.h"
#include "ops/elementwise_space.h"

namespace sx {

Shape broadcast_inputs(const InferCtx& c) {
  Shape out;
  for (size_t k = 0; k < c.op.in.size(); k++) {
    if (!c.has(k)) continue;
    const Shape& s = c.shape(k);
    Shape joined;
    const int rank = std::max(out.rank, s.rank);
    for (int d = 0; d < rank; d++) {
      const int a = d - (rank - out.rank), b = d - (rank - s.rank);
      const int64_t x = a < 0 ? 1 : out[a], y = b < 0 ? 1 : s[b];
      if (x != y && x != 1 && y != 1) throw OpError("shapes " + out.str() + " and " + s.str() + " do not broadcast");
      joined.push(x == 1 ? y : x);
    }
    out = joined;
  }
  return out;
}

namespace {

bool one_of(const std::string& op, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

}  // namespace

double elementwise_cost(const std::string& op) {
  if (one_of(op, {"Pow", "UnsignedPow", "RealPow", "Mod", "Fmod", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"})) return 8;
  if (one_of(op, {"Exp", "Log", "Sin", "Cos", "Tan", "Erf", "Tanh", "Sigmoid", "Softplus", "Mish", "Gelu", "GeluTanh", "Swish", "Elu", "Selu", "Celu", "SwiGLU"})) return 0.5;
  return 0.15;
}

namespace {

DType result_type(const std::string& op, DType compute) {
  return one_of(op, {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN", "IsInf"}) ? DType::boolean : compute;
}
DType operand_type(const Instruction& i, int k, DType compute) {
  if (i.op == "Where" && k == 0) return DType::boolean;
  if (k == 1 && compute != DType::f32 && compute != DType::f64) {
    if (i.op == "Pow") return DType::i64;
    if (i.op == "UnsignedPow") return DType::u64;
    if (i.op == "RealPow") return DType::f64;
  }
  return compute;
}

Loop find_loop(const std::string& op, DType compute, int scalars) {
  if (compute == DType::f32)
    if (Loop l = kernels().float_loop(op.c_str(), scalars)) return l;
  return scalars ? nullptr : kernels().number_loop(op.c_str(), static_cast<int>(compute));
}

Loop must_find(const std::string& op, DType compute, int scalars = 0) {
  Loop l = find_loop(op, compute, scalars);
  if (!l) throw OpError("the engine has no loop for " + op + " of element type " + std::to_string(static_cast<int>(compute)));
  return l;
}

class Planner {
 public:
  Planner(PlanCtx& p, const std::vector<Instruction>& code, DType compute) : p_(p), code_(code), compute_(compute) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < p.op.in.size(); i++) shapes.push_back(p.has(i) ? p.shape(i) : Shape());
    inputs_ = static_cast<int>(shapes.size());
    wanted_.assign(shapes.size(), compute);
    used_.assign(shapes.size(), false);
    for (const Instruction& c : code)
      for (int k = 0; k < 3; k++)
        if (c.operand[k] >= 0 && c.operand[k] < inputs_) {
          wanted_[c.operand[k]] = operand_type(c, k, compute);
          used_[c.operand[k]] = true;
        }
    if (code.empty()) {
      wanted_[0] = p.out_dtype(0);
      used_[0] = true;
    }
    for (size_t i = 0; i < shapes.size(); i++)
      if (!used_[i]) shapes[i] = Shape();
    space_ = make_space(p.out_shape(0), shapes);
    for (const Instruction& c : code) cost_ += elementwise_cost(c.op);
    cost_ += 0.1;
  }

  void emit() {
    total_ = p_.out_shape(0).size();
    const double ns = cost_ * static_cast<double>(total_);
    chunks_ = p_.threads() > 1 && ns > 2e4 ? static_cast<int64_t>(std::min(ns / 5e3, 4.0 * p_.threads())) : 1;
    for (int i = 0; i < inputs_; i++)
      if (used_[i] && kind(i) == MapInput::run && item_size(p_.dtype(i)) == item_size(p_.out_dtype(0)) && p_.reuse(0, i)) break;
    if (!direct()) mapped();
  }

 private:
  MapInput::Kind kind(int i) const {
    const auto& stride = space_.strides[i];
    const int64_t col = stride.back(), row = space_.rows > 1 ? stride[stride.size() - 2] : 0;
    if (space_.rows == 1) return col ? MapInput::run : MapInput::number;
    if (col == 1 && row == space_.cols) return MapInput::run;
    if (row == 0) return col ? MapInput::period : MapInput::number;
    return MapInput::other;
  }
  bool converts(int i) const { return wanted_[i] != p_.dtype(i); }

  // Which of an instruction's two operands are single numbers that its loop takes as such; -1 where it does not.
  int scalars(const Instruction& c) const {
    int bits = 0;
    for (int k = 0; k < 3; k++) {
      const int i = c.operand[k];
      if (i >= 0 && i < inputs_ && kind(i) == MapInput::number) bits |= 1 << k;
    }
    if (bits == 0) return 0;
    return find_loop(c.op, compute_, bits) ? bits : -1;
  }

  bool direct() {
    if (code_.size() > 1 || space_.outer > 0 || space_.rows > 1) return false;
    for (int i = 0; i < inputs_; i++)
      if (used_[i] && converts(i) && !code_.empty()) return false;
    Loop run;
    int operand[3] = {0, -1, -1}, bits = 0;
    if (code_.empty()) {
      if (kind(0) != MapInput::run) return false;
      run = kernels().convert_loop(static_cast<int>(p_.dtype(0)), static_cast<int>(p_.out_dtype(0)));
    } else {
      const Instruction& c = code_[0];
      bits = scalars(c);
      if (bits < 0 || result_type(c.op, compute_) != p_.out_dtype(0)) return false;
      run = must_find(c.op, compute_, bits);
      std::copy(c.operand, c.operand + 3, operand);
    }
    auto* d = p_.emit<DirectArgs>(chunks_ > 1 ? direct_parallel_step : direct_step);
    d->run = run;
    d->n = total_;
    if (!code_.empty()) std::copy(code_[0].p, code_[0].p + 2, d->p);
    d->chunk = round_up((total_ + chunks_ - 1) / chunks_, 64);
    d->size_out = static_cast<int32_t>(item_size(p_.out_dtype(0)));
    auto size = [&](int k) { return operand[k] < 0 || bits >> k & 1 ? 0 : static_cast<int32_t>(item_size(p_.dtype(operand[k]))); };
    d->size_a = size(0);
    d->size_b = size(1);
    d->size_c = size(2);
    if (operand[0] >= 0) p_.bind_in(d->a, operand[0]);
    if (operand[1] >= 0) p_.bind_in(d->b, operand[1]);
    if (operand[2] >= 0) p_.bind_in(d->c, operand[2]);
    p_.bind_out(d->out, 0);
    return true;
  }

  void mapped() {
    if (inputs_ <= 2 && code_.size() <= 2)
      fill<MapArgs<2, 3>>();
    else if (inputs_ <= 4 && code_.size() <= 7)
      fill<MapArgs<4, 8>>();
    else
      fill<MapArgs<kMaxInputs, kMaxCode>>();
  }

  template <typename T>
  void fill() {
    if (inputs_ > kMaxInputs || code_.size() + 1 > static_cast<size_t>(kMaxCode)) throw OpError("an elementwise program of this length is not supported");
    auto* m = p_.emit<T>(map_step);
    MapHead& h = m->head;
    h.inputs_at = static_cast<int32_t>(reinterpret_cast<char*>(m->in) - reinterpret_cast<char*>(m));
    h.code_at = static_cast<int32_t>(reinterpret_cast<char*>(m->run) - reinterpret_cast<char*>(m));
    h.inputs = inputs_;
    h.rows = space_.rows;
    h.cols = space_.cols;
    h.outer = space_.outer;
    for (int d = 0; d < space_.outer; d++) h.dims[d] = space_.dims[d];
    h.out_size = static_cast<int32_t>(item_size(p_.out_dtype(0)));
    int slots = instructions(m->run, h.code);
    size_t widest = item_size(compute_);
    for (int i = 0; i < inputs_; i++) slots = input(m->in[i], i, slots, widest);
    blocks(h, slots, static_cast<int64_t>(std::max<size_t>(widest, h.out_size)));
    for (int i = 0; i < inputs_; i++)
      if (used_[i]) p_.bind_in(m->in[i].data, i);
    p_.bind_out(h.out, 0);
  }

  // Results get buffers by last use; returns how many there are.
  int instructions(MapCode* run, int32_t& count) {
    const int n = static_cast<int>(code_.size());
    const DType last = n ? result_type(code_.back().op, compute_) : wanted_[0];
    const bool narrows = n == 0 || last != p_.out_dtype(0);
    std::vector<int> last_use(n, -1), slot_of(n, -1), free;
    int slots = 0;
    for (int j = 0; j < n; j++)
      for (int o : code_[j].operand)
        if (o >= inputs_) last_use[o - inputs_] = j;
    for (int j = 0; j < n; j++) {
      const Instruction& c = code_[j];
      const int bits = std::max(scalars(c), 0);
      run[j].run = must_find(c.op, compute_, bits);
      for (int k = 0; k < 3; k++) run[j].operand[k] = static_cast<int16_t>(c.operand[k]);
      std::copy(c.p, c.p + 2, run[j].p);
      if (j == n - 1 && !narrows) {
        run[j].slot = -1;
        break;
      }
      if (free.empty()) free.push_back(slots++);
      slot_of[j] = free.back();
      free.pop_back();
      run[j].slot = static_cast<int16_t>(slot_of[j]);
      for (int o : c.operand)
        if (o >= inputs_ && last_use[o - inputs_] == j) {
          last_use[o - inputs_] = -2;
          free.push_back(slot_of[o - inputs_]);
        }
    }
    count = n;
    if (narrows) {
      MapCode& c = run[n];
      c.run = kernels().convert_loop(static_cast<int>(n ? last : p_.dtype(0)), static_cast<int>(p_.out_dtype(0)));
      c.operand[0] = static_cast<int16_t>(n ? inputs_ + n - 1 : 0);
      c.operand[1] = c.operand[2] = -1;
      c.slot = -1;
      count++;
    }
    return slots;
  }

  int input(MapInput& in, int i, int slots, size_t& widest) {
    in.slot = in.raw = -1;
    in.kind = used_[i] ? kind(i) : MapInput::number;
    if (!used_[i]) return slots;
    const auto& stride = space_.strides[i];
    const bool convert = converts(i) && !code_.empty();
    in.size = static_cast<int32_t>(item_size(p_.dtype(i)));
    in.wide = convert ? static_cast<int32_t>(item_size(wanted_[i])) : in.size;
    widest = std::max({widest, static_cast<size_t>(in.size), static_cast<size_t>(in.wide)});
    for (int d = 0; d < space_.outer; d++) in.outer[d] = stride[d] * in.size;
    in.col = stride.back();
    in.row = space_.rows > 1 ? stride[stride.size() - 2] : 0;
    if (convert) in.convert = kernels().convert_loop(static_cast<int>(p_.dtype(i)), static_cast<int>(wanted_[i]));
    if (convert || in.kind == MapInput::period || in.kind == MapInput::other || (in.kind == MapInput::number && expands(i))) in.slot = slots++;
    if (convert && in.kind == MapInput::other) in.raw = slots++;
    return slots;
  }

  // Whether some loop wants the single number i as a vector.
  bool expands(int i) const {
    if (code_.empty()) return true;
    for (const Instruction& c : code_)
      if ((c.operand[0] == i || c.operand[1] == i || c.operand[2] == i) && scalars(c) < 0) return true;
    return false;
  }

  void blocks(MapHead& h, int slots, int64_t width) {
    int64_t elements = slots ? std::min<int64_t>(1024, kSlotsBytes / (slots * width) / 16 * 16) : 16384;
    // Narrow enough blocks for all threads.
    if (chunks_ > 1) elements = std::min(elements, std::max<int64_t>(round_up(total_ / (2 * chunks_), 64), 64));
    if (h.rows > 1) {
      h.block = std::min(std::max<int64_t>(elements / h.cols, 1), h.rows);
      h.blocks = (h.rows + h.block - 1) / h.block;
    } else {
      h.block = std::min(elements, h.cols);
      h.blocks = (h.cols + h.block - 1) / h.block;
    }
    h.slot_bytes = static_cast<int32_t>(round_up((h.rows > 1 ? h.block * h.cols : h.block) * width, 64));
    if (static_cast<int64_t>(h.slot_bytes) * slots > kSlotsBytes) throw OpError("an elementwise program of this length is not supported");
    h.units = total_ / (h.rows * h.cols) * h.blocks;
    h.chunks = static_cast<int32_t>(std::min(chunks_, h.units));
  }

  PlanCtx& p_;
  const std::vector<Instruction>& code_;
  const DType compute_;
  int inputs_ = 0;
  std::vector<DType> wanted_;
  std::vector<char> used_;
  Space space_;
  double cost_ = 0;
  int64_t total_ = 0, chunks_ = 1;
};

}  // namespace

void plan_elementwise(PlanCtx& p, const std::vector<Instruction>& code, DType compute) {
  if (p.out_shape(0).size() == 0) return;
  Planner(p, code, compute).emit();
}

}  // namespace sx
