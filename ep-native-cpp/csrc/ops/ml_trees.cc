// TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble of ai.onnx.ml.
#ifdef SX_ML
#include <algorithm>

#include "ops/ml_forest.h"
#include "ops/ml_transform.h"
#include "ops/numbers.h"
#include "ops/table.h"

namespace sx {
namespace {

enum class Aggregate : int32_t { average, sum, min, max };

// A forest and what becomes of its votes.
struct Ensemble {
  std::shared_ptr<const Forest> forest;
  int64_t targets = 1;
  Aggregate aggregate = Aggregate::sum;
  PostTransform transform = PostTransform::none;
  std::vector<double> base;
  // Of a classifier:
  std::vector<int64_t> labels;
  std::vector<char> voted;  // by class: whether there is a vote for it
  int64_t only = -1;        // the one class that is voted for, if it is one
  bool positive = true;     // no weight is negative
};

void check(const Ensemble& e) {
  if (e.targets < 1) throw OpError("the number of targets or classes must be positive, not " + std::to_string(e.targets));
  for (const Vote& v : e.forest->votes)
    if (v.target < 0 || v.target >= e.targets) throw OpError("a vote goes to target " + std::to_string(v.target) + " of " + std::to_string(e.targets));
  const int64_t n = static_cast<int64_t>(e.base.size());
  if (n != 0 && n != e.targets && !(n == 1 && e.labels.size() == 2)) throw OpError("base_values has " + std::to_string(n) + " values for " + std::to_string(e.targets) + " targets or classes");
}

int64_t targets_of(const Attributes& attrs, const Forest& f) {
  int64_t most = -1;
  for (const Vote& v : f.votes) most = std::max<int64_t>(most, v.target);
  return attrs.get("n_targets", most + 1);
}

std::vector<double> base_of(const Attributes& attrs, Forest* f) {
  const auto wide = attrs.numbers("base_values_as_tensor");
  f->doubles |= !wide.empty();
  return wide.empty() ? attrs.numbers("base_values") : wide;
}

std::shared_ptr<const Ensemble> build(const Op& op) {
  const std::string name = op.def->name;
  auto e = std::make_shared<Ensemble>();
  if (name == "ai.onnx.ml.TreeEnsemble") {
    e->forest = forest_by_position(op.attrs);
    e->targets = targets_of(op.attrs, *e->forest);
    const int64_t aggregate = op.attrs.get("aggregate_function", 1), transform = op.attrs.get("post_transform", 0);
    if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4) throw OpError("aggregate_function must lie in [0, 3] and post_transform in [0, 4]");
    e->aggregate = static_cast<Aggregate>(aggregate);
    e->transform = static_cast<PostTransform>(transform);
    check(*e);
    return e;
  }
  const bool classifies = name == "ai.onnx.ml.TreeEnsembleClassifier";
  auto forest = std::make_shared<Forest>(*forest_by_id(op.attrs, classifies ? "class" : "target"));
  e->base = base_of(op.attrs, forest.get());
  e->forest = forest;
  e->transform = post_transform_of(op.attrs.gets("post_transform", "NONE"));
  if (classifies) {
    e->labels = op.attrs.list("classlabels_int64s");
    e->targets = static_cast<int64_t>(e->labels.size());
    check(*e);
    e->voted.assign(e->labels.size(), 0);
    for (const Vote& v : forest->votes) {
      e->voted[static_cast<size_t>(v.target)] = 1;
      e->positive &= v.weight >= 0;
    }
    const int64_t count = std::count(e->voted.begin(), e->voted.end(), 1);
    if (count == 1) e->only = std::find(e->voted.begin(), e->voted.end(), 1) - e->voted.begin();
    return e;
  }
  const char* names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string aggregate = op.attrs.gets("aggregate_function", "SUM");
  const auto found = std::find(std::begin(names), std::end(names), aggregate);
  if (found == std::end(names)) throw OpError("aggregate_function is " + aggregate + ", but must be one of AVERAGE, SUM, MIN, MAX");
  e->aggregate = static_cast<Aggregate>(found - std::begin(names));
  e->targets = targets_of(op.attrs, *forest);
  check(*e);
  return e;
}

const Ensemble& ensemble(const Op& op) {
  if (!op.prepared) op.prepared = build(op);
  return *static_cast<const Ensemble*>(op.prepared.get());
}

struct TreeArgs {
  const char* x;
  char* y;
  int64_t* labels;  // of a classifier; may be null
  char* scores;     // working memory: [rows, targets] floats or doubles
  const Ensemble* e;
  int64_t rows, features, chunks;
};

// The votes of rows [begin, end), tree by tree.
template <typename T, typename A>
void vote(const TreeArgs& a, int64_t begin, int64_t end, A* scores) {
  const Ensemble& e = *a.e;
  const Forest& f = *e.forest;
  const bool extreme = e.aggregate == Aggregate::min || e.aggregate == Aggregate::max;
  constexpr int64_t kBlock = 64;  // rows that stay in cache while a tree is walked
  for (int64_t b = begin; b < end; b += kBlock) {
    const int64_t to = std::min(end, b + kBlock);
    std::fill(scores + b * e.targets, scores + to * e.targets, extreme ? std::numeric_limits<A>::quiet_NaN() : A(0));
    for (int32_t root : f.roots)
      for (int64_t r = b; r < to; r++) {
        const ForestNode& leaf = f.leaf(root, reinterpret_cast<const T*>(a.x) + r * a.features);
        for (int32_t v = leaf.yes; v < leaf.no; v++) {
          A& s = scores[r * e.targets + f.votes[static_cast<size_t>(v)].target];
          const A w = static_cast<A>(f.votes[static_cast<size_t>(v)].weight);
          switch (e.aggregate) {
            case Aggregate::min: s = std::fmin(s, w); break;
            case Aggregate::max: s = std::fmax(s, w); break;
            default: s += w;
          }
        }
      }
    for (int64_t i = b * e.targets; i < to * e.targets; i++) {
      if (extreme && scores[i] != scores[i]) scores[i] = 0;
      if (e.aggregate == Aggregate::average) scores[i] /= static_cast<A>(std::max<size_t>(f.roots.size(), 1));
    }
  }
}

template <typename A, typename Y>
void regress_row(const Ensemble& e, A* s, Y* y) {
  for (size_t i = 0; i < e.base.size(); i++) s[i] += static_cast<A>(e.base[i]);
  post_transform(e.transform, s, e.targets);
  for (int64_t i = 0; i < e.targets; i++) y[i] = static_cast<Y>(static_cast<Wide<Y>>(s[i]));
}

// The label, and the scores in place. Two classes and votes for only one of them: a row belongs to the second class if the
// sum of its votes is above 1/2, or above 0 where weights may be negative.
template <typename A>
int64_t classify_row(const Ensemble& e, A* s) {
  const int64_t n = e.targets;
  const A first = e.base.empty() ? A(0) : static_cast<A>(e.base[0]);
  if (n == 1) {
    s[0] += first;
    const int64_t label = s[0] > 0;
    if (e.transform == PostTransform::probit) post_transform(e.transform, s, 1);
    return label;
  }
  if (n == 2 && e.only >= 0 && e.base.size() <= 1) {
    const A score = s[e.only] += first;
    if (e.only == 0)
      two_columns(e.transform, score, e.positive, s);
    else
      post_transform(e.transform, s, 2);
    return e.labels[score > (e.positive ? A(0.5) : A(0))];
  }
  if (static_cast<int64_t>(e.base.size()) == n)
    for (int64_t i = 0; i < n; i++) s[i] += static_cast<A>(e.base[static_cast<size_t>(i)]);
  else
    s[0] += first;
  int64_t best = -1;
  for (int64_t i = 0; i < n; i++)
    if ((!e.base.empty() || e.voted[static_cast<size_t>(i)]) && (best < 0 || s[i] > s[best])) best = i;
  post_transform(e.transform, s, n);
  return e.labels[static_cast<size_t>(std::max<int64_t>(best, 0))];
}

template <typename T, typename A, typename Y>
void trees_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const TreeArgs*>(args);
  const Ensemble& e = *a.e;
  auto part = [&](int64_t chunk) {
    const int64_t begin = a.rows * chunk / a.chunks, end = a.rows * (chunk + 1) / a.chunks;
    A* scores = reinterpret_cast<A*>(a.scores);
    vote<T>(a, begin, end, scores);
    for (int64_t r = begin; r < end; r++) {
      A* s = scores + r * e.targets;
      Y* y = a.y ? reinterpret_cast<Y*>(a.y) + r * e.targets : nullptr;
      if (e.labels.empty()) {
        regress_row(e, s, y);
        continue;
      }
      const int64_t label = classify_row(e, s);
      if (a.labels) a.labels[r] = label;
      if (y)
        for (int64_t i = 0; i < e.targets; i++) y[i] = static_cast<Y>(static_cast<Wide<Y>>(s[i]));
    }
  };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

// Rows and features of x: one row if its rank is 1.
void rows_of(const Shape& x, int64_t* rows, int64_t* features) {
  if (x.rank != 1 && x.rank != 2) throw OpError("the input must have shape [N, F] or [F], not " + x.str());
  *rows = x.rank == 1 ? 1 : x[0];
  *features = x[x.rank - 1];
}

void infer_trees(InferCtx& c) {
  const Ensemble& e = ensemble(c.op);
  int64_t rows, features;
  rows_of(c.shape(0), &rows, &features);
  if (features < e.forest->features) throw OpError("the trees look at feature " + std::to_string(e.forest->features - 1) + ", but the input has shape " + c.shape(0).str());
  Shape labels, scores;
  labels.push(rows);
  scores.push(rows);
  scores.push(e.targets);
  if (!e.labels.empty()) c.output(0, labels);
  c.output(e.labels.empty() ? 0 : 1, scores);
}

void plan_trees(PlanCtx& p) {
  const Ensemble& e = ensemble(p.op);
  const DType in = p.dtype(0);
  const bool classifies = !e.labels.empty(), wide = e.forest->doubles || in == DType::f64;
  const size_t y = classifies ? 1 : 0;
  const bool same = std::string(p.op.def->name) == "ai.onnx.ml.TreeEnsemble";  // scores of the input's type
  int64_t rows, features;
  rows_of(p.shape(0), &rows, &features);
  if (rows == 0) return;
  const size_t scratch = p.scratch(static_cast<size_t>(rows * e.targets) * (wide ? 8 : 4));
  auto choose = [&](auto t) -> StepFn {
    using T = decltype(t);
    if (same && in == DType::f64) return trees_step<T, double, double>;
    if (same && in == DType::f16) return trees_step<T, float, Half>;
    return wide ? trees_step<T, double, float> : trees_step<T, float, float>;
  };
  const StepFn fn = in == DType::f64 ? choose(double()) : in == DType::i64 ? choose(int64_t()) : in == DType::i32 ? choose(int32_t()) : in == DType::f16 ? choose(Half()) : choose(float());
  auto* a = p.emit<TreeArgs>(fn);
  a->e = &e;
  a->rows = rows;
  a->features = features;
  // About 50 ns per row and tree.
  const int64_t work = rows * static_cast<int64_t>(e.forest->roots.size());
  a->chunks = p.threads() == 1 || work < 400 ? 1 : std::min<int64_t>(rows, 4 * p.threads());
  p.bind_in(a->x, 0);
  p.bind_scratch(a->scores, scratch);
  if (classifies && p.has_out(0)) p.bind_out(a->labels, 0);
  if (p.has_out(y)) p.bind_out(a->y, y);
}

const OpDef kTable[] = {
    {"ai.onnx.ml.TreeEnsemble", infer_trees, plan_trees, nullptr},
    {"ai.onnx.ml.TreeEnsembleRegressor", infer_trees, plan_trees, nullptr},
    {"ai.onnx.ml.TreeEnsembleClassifier", infer_trees, plan_trees, nullptr},
};

}  // namespace

OpFamily tree_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
#endif
