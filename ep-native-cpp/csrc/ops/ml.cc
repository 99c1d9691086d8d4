// Linear models, Scaler and Normalizer of ai.onnx.ml.
#include <algorithm>

#include "ops/ml_transform.h"
#include "ops/numbers.h"
#include "ops/table.h"

namespace sx {

#ifdef SX_ML
OpFamily tree_ops();

namespace {

// The weights of a linear model: [outputs, features], the first of the coefficients.
struct Linear {
  std::vector<double> coefficients, intercepts;
  std::vector<int64_t> labels;
  PostTransform transform = PostTransform::none;
  int64_t outputs = 1;
  bool classifies = false;
};

int64_t outputs_of(const Linear& l, int64_t features) {
  return l.classifies && static_cast<int64_t>(l.coefficients.size()) == features ? 1 : l.outputs;
}

const Linear& linear(const Op& op, int64_t features) {
  if (!op.prepared) {
    auto l = std::make_shared<Linear>();
    l->coefficients = op.attrs.numbers("coefficients");
    l->intercepts = op.attrs.numbers("intercepts");
    l->transform = post_transform_of(op.attrs.gets("post_transform", "NONE"));
    l->classifies = std::string(op.def->name) == "ai.onnx.ml.LinearClassifier";
    l->labels = op.attrs.list("classlabels_ints");
    l->outputs = !l->classifies ? op.attrs.get("targets", 1) : static_cast<int64_t>(l->intercepts.empty() ? l->labels.size() : l->intercepts.size());
    op.prepared = l;
  }
  const Linear& l = *static_cast<const Linear*>(op.prepared.get());
  const int64_t labels = static_cast<int64_t>(l.labels.size()), outputs = outputs_of(l, features), biases = static_cast<int64_t>(l.intercepts.size());
  if (static_cast<int64_t>(l.coefficients.size()) < outputs * features || (biases && biases != outputs))
    throw OpError(std::to_string(l.coefficients.size()) + " coefficients and " + (biases ? std::to_string(biases) : "no") + " intercepts do not fit " + std::to_string(outputs) + " outputs of rows with " + std::to_string(features) + " features");
  if (l.classifies && (outputs == 1 ? labels > 2 : labels < outputs))
    throw OpError("LinearClassifier has " + std::to_string(outputs) + " scores for " + std::to_string(labels) + " class labels");
  return l;
}

struct Rows {
  int64_t count, width;
};

Rows rows_of(const Shape& x) {
  if (x.rank != 1 && x.rank != 2) throw OpError("the input must have shape [N, F] or [F], not " + x.str());
  return {x.rank == 1 ? 1 : x[0], x[x.rank - 1]};
}

struct LinearArgs {
  const char* x;
  float* y;         // may be null
  int64_t* labels;  // may be null
  double* scores;   // working memory for one row
  const Linear* l;
  int64_t rows, features, outputs, columns;
};

template <typename T>
void linear_step(const void* args, Runtime&) {
  auto& a = *static_cast<const LinearArgs*>(args);
  const Linear& l = *a.l;
  for (int64_t r = 0; r < a.rows; r++) {
    const T* x = reinterpret_cast<const T*>(a.x) + r * a.features;
    double* s = a.scores;
    for (int64_t o = 0; o < a.outputs; o++) {
      const double* w = l.coefficients.data() + o * a.features;
      s[o] = l.intercepts.empty() ? 0 : l.intercepts[static_cast<size_t>(o)];
      for (int64_t i = 0; i < a.features; i++) s[o] += w[i] * static_cast<double>(x[i]);
    }
    int64_t label = 0;
    if (l.classifies && a.outputs == 1) {
      const size_t positive = s[0] > 0;
      label = l.labels.size() == 2 ? l.labels[positive] : static_cast<int64_t>(positive);
    } else if (l.classifies) {
      label = l.labels[static_cast<size_t>(std::max_element(s, s + a.outputs) - s)];
    }
    if (a.labels) a.labels[r] = label;
    if (!a.y) continue;
    if (l.classifies && a.outputs == 1 && l.labels.size() == 2)
      two_columns(l.transform, s[0], true, s);
    else
      post_transform(l.transform, s, a.outputs);
    for (int64_t o = 0; o < a.columns; o++) a.y[r * a.columns + o] = static_cast<float>(s[o]);
  }
}

int64_t columns_of(const Linear& l, int64_t outputs) { return l.classifies && outputs == 1 && l.labels.size() == 2 ? 2 : outputs; }

void infer_linear(InferCtx& c) {
  const Rows rows = rows_of(c.shape(0));
  const Linear& l = linear(c.op, rows.width);
  Shape labels, scores;
  labels.push(rows.count);
  scores.push(rows.count);
  scores.push(columns_of(l, outputs_of(l, rows.width)));
  if (l.classifies) c.output(0, labels);
  c.output(l.classifies ? 1 : 0, scores);
}

// The input types of ai.onnx.ml's models.
template <typename F>
StepFn with_feature(DType t, F&& f) {
  switch (t) {
    case DType::f64: return f(double());
    case DType::i64: return f(int64_t());
    case DType::i32: return f(int32_t());
    default: return f(float());
  }
}

void plan_linear(PlanCtx& p) {
  const Rows rows = rows_of(p.shape(0));
  const Linear& l = linear(p.op, rows.width);
  const int64_t outputs = outputs_of(l, rows.width);
  const size_t scratch = p.scratch(static_cast<size_t>(outputs + 1) * sizeof(double)), y = l.classifies ? 1 : 0;
  auto* a = p.emit<LinearArgs>(with_feature(p.dtype(0), [](auto t) -> StepFn { return linear_step<decltype(t)>; }));
  a->l = &l;
  a->rows = rows.count;
  a->features = rows.width;
  a->outputs = outputs;
  a->columns = columns_of(l, outputs);
  p.bind_in(a->x, 0);
  p.bind_scratch(a->scores, scratch);
  if (l.classifies && p.has_out(0)) p.bind_out(a->labels, 0);
  if (p.has_out(y)) p.bind_out(a->y, y);
}

// Scaler: (x - offset) * scale, one of each or one per feature.
struct Scale {
  std::vector<double> offset, scale;
};

const Scale& scale_of(const Op& op, const Shape& x) {
  if (!op.prepared) {
    auto s = std::make_shared<Scale>();
    s->offset = op.attrs.has("offset") ? op.attrs.numbers("offset") : std::vector<double>{0};
    s->scale = op.attrs.has("scale") ? op.attrs.numbers("scale") : std::vector<double>{1};
    op.prepared = s;
  }
  const Scale& s = *static_cast<const Scale*>(op.prepared.get());
  for (const auto* v : {&s.offset, &s.scale})
    if (v->size() != 1 && (x.rank == 0 || static_cast<int64_t>(v->size()) != x[x.rank - 1]))
      throw OpError("offset or scale has " + std::to_string(v->size()) + " values, but the input has shape " + x.str() + ": it needs 1, or one per feature");
  return s;
}

struct ScaleArgs {
  const char* x;
  float* y;
  const Scale* s;
  int64_t count, features;
};

template <typename T>
void scaler_step(const void* args, Runtime&) {
  auto& a = *static_cast<const ScaleArgs*>(args);
  using W = typename std::conditional<std::is_same<T, float>::value, float, double>::type;
  const Scale& s = *a.s;
  for (int64_t i = 0; i < a.count; i++) {
    const size_t k = static_cast<size_t>(i % a.features);
    const W offset = static_cast<W>(s.offset[s.offset.size() == 1 ? 0 : k]), scale = static_cast<W>(s.scale[s.scale.size() == 1 ? 0 : k]);
    a.y[i] = static_cast<float>((static_cast<W>(reinterpret_cast<const T*>(a.x)[i]) - offset) * scale);
  }
}

void infer_scaler(InferCtx& c) {
  scale_of(c.op, c.shape(0));
  c.output(0, c.shape(0));
}

void plan_scaler(PlanCtx& p) {
  const Shape& x = p.shape(0);
  if (x.size() == 0) return;
  auto* a = p.emit<ScaleArgs>(with_feature(p.dtype(0), [](auto t) -> StepFn { return scaler_step<decltype(t)>; }));
  a->s = &scale_of(p.op, x);
  a->count = x.size();
  a->features = x.rank ? x[x.rank - 1] : 1;
  p.bind_in(a->x, 0);
  p.bind_out(a->y, 0);
}

// Normalizer: rows over their maximum, sum of magnitudes or Euclidean norm.
struct NormArgs {
  const char* x;
  float* y;
  int64_t rows, features;
  int32_t norm;
};

template <typename T>
void normalizer_step(const void* args, Runtime&) {
  auto& a = *static_cast<const NormArgs*>(args);
  for (int64_t r = 0; r < a.rows; r++) {
    const T* x = reinterpret_cast<const T*>(a.x) + r * a.features;
    double size = a.norm == 0 ? static_cast<double>(x[0]) : 0;
    for (int64_t i = 0; i < a.features; i++) {
      const double v = static_cast<double>(x[i]);
      size = a.norm == 0 ? (v > size || v != v ? v : size) : a.norm == 1 ? size + std::fabs(v) : size + v * v;
    }
    if (a.norm == 2) size = std::sqrt(size);
    if (size == 0) size = 1;
    for (int64_t i = 0; i < a.features; i++) a.y[r * a.features + i] = static_cast<float>(static_cast<double>(x[i]) / size);
  }
}

void infer_normalizer(InferCtx& c) {
  rows_of(c.shape(0));
  c.output(0, c.shape(0));
}

void plan_normalizer(PlanCtx& p) {
  const std::string norm = p.op.attrs.gets("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2") throw OpError("norm is " + norm + ", but must be MAX, L1 or L2");
  const Rows rows = rows_of(p.shape(0));
  if (rows.count * rows.width == 0) return;
  auto* a = p.emit<NormArgs>(with_feature(p.dtype(0), [](auto t) -> StepFn { return normalizer_step<decltype(t)>; }));
  a->rows = rows.count;
  a->features = rows.width;
  a->norm = norm == "MAX" ? 0 : norm == "L1" ? 1 : 2;
  p.bind_in(a->x, 0);
  p.bind_out(a->y, 0);
}

const OpDef kTable[] = {
    {"ai.onnx.ml.LinearRegressor", infer_linear, plan_linear, nullptr},
    {"ai.onnx.ml.LinearClassifier", infer_linear, plan_linear, nullptr},
    {"ai.onnx.ml.Scaler", infer_scaler, plan_scaler, nullptr},
    {"ai.onnx.ml.Normalizer", infer_normalizer, plan_normalizer, nullptr},
};

}  // namespace

OpFamily ml_ops() {
  static const auto* all = [] {
    auto* t = new std::vector<OpDef>(std::begin(kTable), std::end(kTable));
    t->insert(t->end(), tree_ops().begin, tree_ops().end);
    return t;
  }();
  return {all->data(), all->data() + all->size()};
}

#else

OpFamily ml_ops() { return {nullptr, nullptr}; }

#endif

}  // namespace sx
