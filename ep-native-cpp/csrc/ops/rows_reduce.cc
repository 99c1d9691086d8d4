// Reductions over any axes: one pass per run of neighbouring axes, the last one first.
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "kernels/isa.h"
#include "ops/rows.h"

namespace sx {
namespace {

struct Kind {
  const char* op;
  Reduction first;  // of the first pass; the others join its results
  Finish finish;
};
const Kind kKinds[] = {
    {"ReduceSum", Reduction::sum, Finish::none},
    {"ReduceMean", Reduction::sum, Finish::mean},
    {"ReduceMax", Reduction::max, Finish::none},
    {"ReduceMin", Reduction::min, Finish::none},
    {"ReduceProd", Reduction::prod, Finish::none},
    {"ReduceSumSquare", Reduction::sum_square, Finish::none},
    {"ReduceL1", Reduction::l1, Finish::none},
    {"ReduceL2", Reduction::sum_square, Finish::root},
    {"ReduceLogSum", Reduction::sum, Finish::log},
    {"ReduceLogSumExp", Reduction::log_sum_exp, Finish::none},
};

const Kind& kind_of(const Op& op) {
  for (const Kind& k : kKinds)
    if (std::strcmp(k.op, op.def->name) == 0) return k;
  throw OpError("no such reduction");
}

// Which axes to reduce. Given as an input, or as an attribute by older versions; none means all, or none where the node
// says so.
template <typename Ctx>
std::vector<bool> reduced_axes(Ctx& c) {
  const int rank = c.shape(0).rank;
  const auto axes = c.has(1) ? c.ints(1) : c.op.attrs.list("axes");
  if (axes.empty()) return std::vector<bool>(rank, c.op.attrs.get("noop_with_empty_axes", 0) == 0);
  std::vector<bool> reduced(rank, false);
  for (int64_t a : axes) reduced[axis_in(a, rank)] = true;
  return reduced;
}

void infer_reduce(InferCtx& c) {
  const Shape& s = c.shape(0);
  const auto reduced = reduced_axes(c);
  const bool keep = c.op.attrs.get("keepdims", 1) != 0;
  Shape out;
  for (int i = 0; i < s.rank; i++)
    if (!reduced[i])
      out.push(s[i]);
    else if (keep)
      out.push(1);
  c.output(0, out);
}

int64_t empty_int(Reduction kind, DType t) {
  const int64_t bits = static_cast<int64_t>(item_size(t)) * 8;
  const bool is_signed = t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64;
  const int64_t highest = t == DType::boolean ? 1 : bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - (is_signed ? 1 : 0))) - 1;
  switch (kind) {
    case Reduction::max: return is_signed ? -highest - 1 : 0;
    case Reduction::min: return highest;
    case Reduction::prod: return 1;
    default: return 0;
  }
}

// Runs of neighbouring dimensions that are reduced or kept together; those of size 1 belong to either.
struct Run {
  int64_t size;
  bool reduced;
};
std::vector<Run> runs_of(const Shape& s, const std::vector<bool>& reduced) {
  std::vector<Run> runs;
  for (int i = 0; i < s.rank; i++) {
    if (s[i] == 1) continue;
    if (!runs.empty() && runs.back().reduced == reduced[i])
      runs.back().size *= s[i];
    else
      runs.push_back({s[i], reduced[i]});
  }
  return runs;
}

void plan_reduce(PlanCtx& p) {
  const Shape& s = p.shape(0);
  if (p.out_shape(0).size() == 0) return;
  const Kind& kind = kind_of(p.op);
  const auto reduced = reduced_axes(p);
  auto runs = runs_of(s, reduced);
  int passes = 0;
  int64_t count = 1;
  for (const Run& r : runs)
    if (r.reduced) {
      passes++;
      count *= r.size;
    }
  const bool joins = kind.first != Reduction::sum_square && kind.first != Reduction::l1 && kind.finish != Finish::log;
  if (passes == 0 && joins) return p.view(0, 0);
  if (passes == 0) {
    runs.insert(runs.begin(), {1, true});
    passes = 1;
  }
  DType wide = wide_type(p.dtype(0));
  if (wide == DType::i64 && (kind.finish == Finish::root || kind.finish == Finish::log || kind.first == Reduction::log_sum_exp)) wide = DType::f64;
  const auto& k = kernels();
  auto* run = wide == DType::f32 ? k.reduce_f32 : wide == DType::f64 ? k.reduce_f64 : k.reduce_i64;
  Place from = wide_input(p, 0, wide);
  Reduction how = kind.first;
  for (int i = static_cast<int>(runs.size()) - 1; i >= 0; i--) {
    if (!runs[i].reduced) continue;
    int64_t outer = 1, inner = 1;
    for (int j = 0; j < i; j++) outer *= runs[j].size;
    for (size_t j = i + 1; j < runs.size(); j++) inner *= runs[j].size;
    const bool last = --passes == 0;
    const Place to = last ? wide_output(p, 0, wide) : Place{Place::scratch, p.scratch(static_cast<size_t>(outer * inner) * item_size(wide))};
    auto* r = emit_ranges<Reduce>(p, run, outer, (wide == DType::f32 ? 0.15 : 1.0) * static_cast<double>(outer * runs[i].size * inner));
    r->n = runs[i].size;
    r->inner = inner;
    r->kind = how;
    r->finish = last ? kind.finish : Finish::none;
    r->count = count;
    r->empty = how == Reduction::prod ? 1 : how == Reduction::max || how == Reduction::log_sum_exp ? -INFINITY : how == Reduction::min ? INFINITY : 0;
    r->empty_int = empty_int(how, p.dtype(0));
    from.bind(p, r->x);
    to.bind(p, r->y);
    from = to;
    runs[i].size = 1;
    if (how == Reduction::sum_square || how == Reduction::l1) how = Reduction::sum;
  }
  narrow_output(p, 0, wide, from);
}

const OpDef kTable[] = {
    {"ReduceSum", infer_reduce, plan_reduce, nullptr},       {"ReduceMean", infer_reduce, plan_reduce, nullptr},
    {"ReduceMax", infer_reduce, plan_reduce, nullptr},       {"ReduceMin", infer_reduce, plan_reduce, nullptr},
    {"ReduceProd", infer_reduce, plan_reduce, nullptr},      {"ReduceSumSquare", infer_reduce, plan_reduce, nullptr},
    {"ReduceL1", infer_reduce, plan_reduce, nullptr},        {"ReduceL2", infer_reduce, plan_reduce, nullptr},
    {"ReduceLogSum", infer_reduce, plan_reduce, nullptr},    {"ReduceLogSumExp", infer_reduce, plan_reduce, nullptr},
};

}  // namespace

OpFamily reduce_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
