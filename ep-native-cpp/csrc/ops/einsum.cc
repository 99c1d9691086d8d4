// Einsum of float32: batched products over operands read by strides, and sums.
#include "ops/einsum.h"

#include <algorithm>
#include <set>

#include "kernels/isa.h"

namespace sx {
namespace {

constexpr int kMostAxes = 2 * kMaxRank;
constexpr double kParallelFlops = 1.5e6;

// Nested loops over offsets into several tensors.
template <int TENSORS>
struct Nest {
  int rank = 0;
  int64_t sizes[kMostAxes], strides[TENSORS][kMostAxes];

  void add(int64_t size, std::initializer_list<int64_t> by) {
    if (rank == kMostAxes) throw OpError("an equation of more than 16 labels");
    sizes[rank] = size;
    int t = 0;
    for (int64_t s : by) strides[t++][rank] = s;
    rank++;
  }
  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= sizes[i];
    return n;
  }
  void offsets(int64_t index, int64_t (&to)[TENSORS]) const {
    for (int t = 0; t < TENSORS; t++) to[t] = 0;
    for (int i = rank - 1; i >= 0; i--) {
      const int64_t at = index % sizes[i];
      index /= sizes[i];
      for (int t = 0; t < TENSORS; t++) to[t] += at * strides[t][i];
    }
  }
};

int64_t stride_in(const Axes& axes, int label) {
  const LabelledAxis* a = find_axis(axes, label);
  return a ? a->stride : 0;
}

// to = from, by strides, summed over some axes.
struct SumArgs {
  const float* from;
  float* to;
  Nest<2> rows;
  int64_t n, from_stride, to_stride;  // the innermost kept axis
  Nest<1> summed;
};

void sum_step(const void* args, Runtime&) {
  auto& a = *static_cast<const SumArgs*>(args);
  for (int64_t i = 0, rows = a.rows.count(), terms = a.summed.count(); i < rows; i++) {
    int64_t at[2], more[1];
    a.rows.offsets(i, at);
    float* to = a.to + at[1];
    if (terms == 1) {
      for (int64_t j = 0; j < a.n; j++) to[j * a.to_stride] = a.from[at[0] + j * a.from_stride];
      continue;
    }
    if (a.n == 1) {
      double total = 0;
      for (int64_t t = 0; t < terms; t++) {
        a.summed.offsets(t, more);
        total += a.from[at[0] + more[0]];
      }
      *to = static_cast<float>(total);
      continue;
    }
    for (int64_t j = 0; j < a.n; j++) to[j * a.to_stride] = 0;
    for (int64_t t = 0; t < terms; t++) {
      a.summed.offsets(t, more);
      const float* from = a.from + at[0] + more[0];
      for (int64_t j = 0; j < a.n; j++) to[j * a.to_stride] += from[j * a.from_stride];
    }
  }
}

// to = a b, elementwise by strides.
struct TimesArgs {
  const float *a, *b;
  float* to;
  Nest<3> rows;
  int64_t n, strides[3];
};

void times_step(const void* args, Runtime&) {
  auto& t = *static_cast<const TimesArgs*>(args);
  for (int64_t i = 0, rows = t.rows.count(); i < rows; i++) {
    int64_t at[3];
    t.rows.offsets(i, at);
    const float *a = t.a + at[0], *b = t.b + at[1];
    float* to = t.to + at[2];
    for (int64_t j = 0; j < t.n; j++) to[j * t.strides[2]] = a[j * t.strides[0]] * b[j * t.strides[1]];
  }
}

// A batch of products; B is packed before, or (where it has the batch's axes) for each.
struct ProductArgs {
  Gemm g;
  PackB pack;
  float* packed;
  int64_t packed_floats, batch, row_chunks, panels;
  int32_t parallel, pack_each;
  Nest<3> nest;  // offsets of A, B and C
  decltype(Kernels::gemm) gemm;
  decltype(Kernels::pack_b) pack_b;
};

void product_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ProductArgs*>(args);
  auto one = [&a](int64_t chunk) {
    const int64_t r = chunk % a.row_chunks;
    int64_t at[3];
    a.nest.offsets(chunk / a.row_chunks, at);
    Gemm g = a.g;
    g.a += at[0];
    g.c += at[2];
    if (a.pack_each) {
      PackB pack = a.pack;
      pack.b += at[1];
      pack.out = a.packed + (a.parallel ? chunk * a.packed_floats : 0);
      a.pack_b(pack, 0, a.panels);
      g.b = pack.out;
    }
    a.gemm(g, g.m * r / a.row_chunks, g.m * (r + 1) / a.row_chunks, 0, a.panels);
  };
  const int64_t chunks = a.batch * a.row_chunks;
  if (a.parallel) return rt.pool->parallel(chunks, one);
  for (int64_t i = 0; i < chunks; i++) one(i);
}

struct PackArgs {
  PackB p;
  decltype(Kernels::pack_b) run;
};
void pack_range(const PackArgs& a, int64_t begin, int64_t end) { a.run(a.p, begin, end); }

// An operand or intermediate result.
struct Term {
  Place place;
  Axes axes;
};

Axes select(const Axes& axes, const std::set<int>& labels) {
  Axes kept;
  for (const LabelledAxis& a : axes)
    if (labels.count(a.label)) kept.push_back(a);
  return kept;
}

Axes strided(const Axes& order, const Axes& by) {
  Axes axes = order;
  for (LabelledAxis& a : axes) a.stride = stride_in(by, a.label);
  return axes;
}

Axes concat(std::initializer_list<const Axes*> parts) {
  Axes all;
  for (const Axes* p : parts) all.insert(all.end(), p->begin(), p->end());
  return all;
}

Place new_scratch(PlanCtx& p, int64_t n) { return {Place::scratch, p.scratch(static_cast<size_t>(std::max<int64_t>(n, 1)) * sizeof(float))}; }

// Copies `from` to `to`, summing over what `to` lacks.
void emit_sum(PlanCtx& p, const Term& from, const Term& to) {
  auto* a = p.emit<SumArgs>(sum_step);
  a->rows = {};
  a->summed = {};
  a->n = 1;
  for (size_t i = 0; i < to.axes.size(); i++) {
    const LabelledAxis& axis = to.axes[i];
    const int64_t stride = stride_in(from.axes, axis.label);
    if (i + 1 < to.axes.size()) {
      a->rows.add(axis.size, {stride, axis.stride});
    } else {
      a->n = axis.size;
      a->from_stride = stride;
      a->to_stride = axis.stride;
    }
  }
  for (const LabelledAxis& axis : from.axes)
    if (!find_axis(to.axes, axis.label)) a->summed.add(axis.size, {axis.stride});
  from.place.bind(p, a->from);
  to.place.bind(p, a->to);
}

// The term in new storage with these axes, row-major.
Term copied(PlanCtx& p, const Term& t, Axes order) {
  const int64_t n = make_contiguous(order);
  Term made{new_scratch(p, n), order};
  emit_sum(p, t, made);
  return made;
}

// Summed over labels that nothing else has.
Term summed(PlanCtx& p, const Term& t, const std::set<int>& needed) {
  Axes kept = select(t.axes, needed);
  return kept.size() == t.axes.size() ? t : copied(p, t, kept);
}

void emit_times(PlanCtx& p, const Term& a, const Term& b, const Term& to) {
  auto* t = p.emit<TimesArgs>(times_step);
  t->rows = {};
  t->n = 1;
  for (size_t i = 0; i < to.axes.size(); i++) {
    const LabelledAxis& axis = to.axes[i];
    const int64_t x = stride_in(a.axes, axis.label), y = stride_in(b.axes, axis.label);
    if (i + 1 < to.axes.size()) {
      t->rows.add(axis.size, {x, y, axis.stride});
    } else {
      t->n = axis.size;
      t->strides[0] = x;
      t->strides[1] = y;
      t->strides[2] = axis.stride;
    }
  }
  a.place.bind(p, t->a);
  b.place.bind(p, t->b);
  to.place.bind(p, t->to);
}

// The axes of a product: those of both that stay, of both that go, of A and of B alone.
struct Roles {
  Axes batch, inner, rows, columns;
};

// A B into `to`, whose columns must be adjacent.
void emit_product(PlanCtx& p, Term a, Term b, const Roles& roles, const Term& to) {
  int64_t m, n, k, lda, stride_k, stride_n, ldc, unit, size;
  if (!joined(strided(roles.rows, a.axes), &m, &lda) || !joined(strided(roles.inner, a.axes), &size, &unit) || (unit != 1 && size != 1))
    a = copied(p, a, concat({&roles.batch, &roles.rows, &roles.inner}));
  if (!joined(strided(roles.columns, b.axes), &n, &stride_n) || !joined(strided(roles.inner, b.axes), &k, &stride_k))
    b = copied(p, b, concat({&roles.batch, &roles.inner, &roles.columns}));
  joined(strided(roles.rows, a.axes), &m, &lda);
  joined(strided(roles.columns, b.axes), &n, &stride_n);
  joined(strided(roles.inner, b.axes), &k, &stride_k);
  joined(strided(roles.rows, to.axes), &size, &ldc);
  Nest<3> nest{};
  for (const LabelledAxis& axis : roles.batch) nest.add(axis.size, {stride_in(a.axes, axis.label), stride_in(b.axes, axis.label), stride_in(to.axes, axis.label)});
  const int64_t batch = nest.count(), width = kernels().gemm_panel(n), panels = (n + width - 1) / width;
  const int64_t floats = round_up(kernels().gemm_packed_size(k, n), 16);
  const bool parallel = p.threads() > 1 && 2.0 * static_cast<double>(batch * m) * static_cast<double>(n * k) >= kParallelFlops;
  const int64_t row_chunks = parallel ? std::max<int64_t>(1, std::min<int64_t>(m / 48, (2 * p.threads() + batch - 1) / std::max<int64_t>(batch, 1))) : 1;
  const PackB pack{nullptr, stride_k, stride_n, nullptr, k, n};
  const bool each = !roles.batch.empty();
  std::shared_ptr<Buffer> kept;
  Place area;
  if (!each && b.place.kind == Place::input && p.is_const(b.place.index)) {
    const std::string key = std::string("einsum:") + isa_name(current_isa()) + ":" + std::to_string(k) + ":" + std::to_string(stride_k) + ":" + std::to_string(stride_n);
    kept = p.pack(b.place.index, key, [&](const void* data) {
      auto buffer = lasting_buffer(static_cast<size_t>(floats) * sizeof(float));
      PackB packing = pack;
      packing.b = static_cast<const float*>(data);
      packing.out = static_cast<float*>(buffer->data);
      kernels().pack_b(packing, 0, panels);
      return buffer;
    });
  } else {
    area = new_scratch(p, floats * (each && parallel ? batch * row_chunks : 1));
    if (!each) {
      auto* a0 = emit_ranges<PackArgs>(p, pack_range, panels, static_cast<double>(k * n));
      a0->p = pack;
      a0->run = kernels().pack_b;
      b.place.bind(p, a0->p.b);
      area.bind(p, a0->p.out);
    }
  }
  auto* x = p.emit<ProductArgs>(product_step);
  x->g.lda = lda;
  x->g.ldc = ldc;
  x->g.m = m;
  x->g.n = n;
  x->g.k = k;
  x->pack = pack;
  x->packed_floats = floats;
  x->batch = batch;
  x->row_chunks = row_chunks;
  x->panels = panels;
  x->parallel = parallel;
  x->pack_each = each;
  x->nest = nest;
  x->gemm = kernels().gemm;
  x->pack_b = kernels().pack_b;
  a.place.bind(p, x->g.a);
  to.place.bind(p, x->g.c);
  if (kept) {
    p.bind_packed(x->g.b, kept);
  } else if (each) {
    b.place.bind(p, x->pack.b);
    area.bind(p, x->packed);
  } else {
    area.bind(p, x->g.b);
  }
}

// Whether a product can be written straight to storage with these axes: columns adjacent, rows evenly apart.
bool takes(const Axes& to, const Roles& roles) {
  int64_t size, stride, columns;
  if (!joined(strided(roles.rows, to), &size, &stride)) return false;
  return joined(strided(roles.columns, to), &columns, &stride) && (stride == 1 || columns == 1) && !roles.columns.empty();
}

// Two terms as one, summed over common labels that are not needed; written to `out` where that is given and fits.
Term contract(PlanCtx& p, Term a, Term b, const std::set<int>& needed, const Term* out) {
  std::set<int> keep_a = needed, keep_b = needed;
  for (const LabelledAxis& x : b.axes) keep_a.insert(x.label);
  for (const LabelledAxis& x : a.axes) keep_b.insert(x.label);
  a = summed(p, a, keep_a);
  b = summed(p, b, keep_b);
  Roles roles;
  for (const LabelledAxis& x : a.axes) (!find_axis(b.axes, x.label) ? roles.rows : needed.count(x.label) ? roles.batch : roles.inner).push_back(x);
  for (const LabelledAxis& x : b.axes)
    if (!find_axis(a.axes, x.label)) roles.columns.push_back(x);
  if (out && !roles.inner.empty() && !takes(out->axes, roles)) {
    Roles other = roles;
    std::swap(other.rows, other.columns);
    if (takes(out->axes, other)) {
      std::swap(a, b);
      roles = other;
    }
  }
  Term to{{}, concat({&roles.batch, &roles.rows, &roles.columns})};
  if (out && (roles.inner.empty() || takes(out->axes, roles)))
    to = *out;
  else
    to.place = new_scratch(p, make_contiguous(to.axes));
  if (roles.inner.empty())
    emit_times(p, a, b, to);
  else
    emit_product(p, a, b, roles, to);
  return to;
}

std::string equation_of(const Op& op) { return op.attrs.gets("equation", ""); }

template <typename Ctx>
Equation equation(const Ctx& c) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.op.in.size(); i++) shapes.push_back(c.shape(i));
  return bind_equation(equation_of(c.op), shapes);
}

void infer_einsum(InferCtx& c) {
  Shape out;
  for (const LabelledAxis& a : equation(c).output) out.push(a.size);
  c.output(0, out);
}

void plan_einsum(PlanCtx& p) {
  const Equation e = equation(p);
  if (p.out_shape(0).size() == 0) return;
  const Term out{{Place::output, 0}, e.output};
  std::set<int> wanted;
  for (const LabelledAxis& a : e.output) wanted.insert(a.label);
  Term done{{Place::input, 0}, e.operands[0]};
  for (size_t i = 1; i < e.operands.size(); i++) {
    std::set<int> needed = wanted;
    for (size_t j = i + 1; j < e.operands.size(); j++)
      for (const LabelledAxis& a : e.operands[j]) needed.insert(a.label);
    done = contract(p, done, {{Place::input, i}, e.operands[i]}, needed, i + 1 == e.operands.size() ? &out : nullptr);
  }
  if (done.place.kind != Place::output) emit_sum(p, done, out);
}

const OpDef kTable[] = {
    {"Einsum", infer_einsum, plan_einsum, nullptr},
};

}  // namespace

OpFamily einsum_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
