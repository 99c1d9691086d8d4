// MatMulInteger and QLinearMatMul: exact products of 8-bit matrices.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/movement.h"
#include "ops/numbers.h"
#include "ops/quantized.h"

namespace sx {

namespace {

// A product by ONNX's MatMul rules: batch dims broadcast, vectors promoted.
struct Dims {
  int64_t m = 1, n = 1, k = 1, batches = 1;
  Shape batch, out;
  int64_t a_strides[kMaxRank] = {}, b_strides[kMaxRank] = {};  // of matrices, per batch dim
};

Dims dims_of(const Shape& a, const Shape& b) {
  if (a.rank == 0 || b.rank == 0) throw OpError("a product takes no scalars: " + a.str() + " x " + b.str());
  Dims d;
  d.m = a.rank > 1 ? a[a.rank - 2] : 1;
  d.n = b.rank > 1 ? b[b.rank - 1] : 1;
  d.k = a[a.rank - 1];
  if (d.k != b[b.rank > 1 ? b.rank - 2 : 0]) throw OpError("inner dimensions differ: " + a.str() + " x " + b.str());
  const int ra = std::max(a.rank - 2, 0), rb = std::max(b.rank - 2, 0), rank = std::max(ra, rb);
  for (int i = 0; i < rank; i++) {
    const int64_t x = i - (rank - ra) >= 0 ? a[i - (rank - ra)] : 1, y = i - (rank - rb) >= 0 ? b[i - (rank - rb)] : 1;
    if (x != y && x != 1 && y != 1) throw OpError("batch dimensions do not broadcast: " + a.str() + " x " + b.str());
    d.batch.push(x == 1 ? y : x);
  }
  int64_t na = 1, nb = 1;
  for (int i = rank - 1; i >= 0; i--) {
    const int64_t x = i - (rank - ra) >= 0 ? a[i - (rank - ra)] : 1, y = i - (rank - rb) >= 0 ? b[i - (rank - rb)] : 1;
    d.a_strides[i] = x == 1 ? 0 : na;
    d.b_strides[i] = y == 1 ? 0 : nb;
    na *= x;
    nb *= y;
  }
  d.batches = d.batch.size();
  d.out = d.batch;
  if (a.rank > 1) d.out.push(d.m);
  if (b.rank > 1) d.out.push(d.n);
  return d;
}

// A zero point or scale of one factor: one number, one per row (column) of the matrix, or one per row of all matrices.
enum class Per : int32_t { tensor, line, all_lines };

Per per_of(const Shape& s, int64_t lines, int64_t all, const char* name) {
  if (s.size() == 1) return Per::tensor;
  if (s.size() == lines) return Per::line;
  if (s.size() == all) return Per::all_lines;
  throw OpError(std::string(name) + " of shape " + s.str() + " fits neither the tensor nor its rows or columns");
}

int64_t place(Per per, int64_t matrix, int64_t lines, int64_t line) { return per == Per::tensor ? 0 : per == Per::line ? line : matrix * lines + line; }

struct ProductArgs {
  IntegerProduct p;
  Dims d;
  Per a_zero_per, b_zero_per;
  int64_t row_chunks, chunks;
  decltype(Kernels::integer_rows) run;
};

int64_t matrix_of(const Dims& d, const int64_t* strides, int64_t batch) {
  int64_t at = 0;
  for (int i = d.batch.rank - 1; i >= 0; i--) {
    at += batch % d.batch[i] * strides[i];
    batch /= d.batch[i];
  }
  return at;
}

void product_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ProductArgs*>(args);
  auto part = [&a](int64_t chunk) {
    const int64_t batch = chunk / a.row_chunks, r = chunk % a.row_chunks;
    const int64_t ma = matrix_of(a.d, a.d.a_strides, batch), mb = matrix_of(a.d, a.d.b_strides, batch);
    IntegerProduct p = a.p;
    p.a += ma * a.d.m * a.d.k;
    p.b += mb * a.d.k * a.d.n;
    p.c += batch * a.d.m * a.d.n;
    if (p.a_zero) p.a_zero += place(a.a_zero_per, ma, a.d.m, 0);
    if (p.b_zero) p.b_zero += place(a.b_zero_per, mb, a.d.n, 0);
    a.run(p, a.d.m * r / a.row_chunks, a.d.m * (r + 1) / a.row_chunks);
  };
  if (a.chunks == 1)
    for (int64_t i = 0; i < a.d.batches * a.row_chunks; i++) part(i);
  else
    rt.pool->parallel(a.d.batches * a.row_chunks, part);
}

// The product in int32 into output 0 or scratch; inputs by number.
void emit_product(PlanCtx& p, size_t a_in, size_t b_in, size_t a_zero, size_t b_zero, const size_t* scratch) {
  auto* a = p.emit<ProductArgs>(product_step);
  a->d = dims_of(p.shape(a_in), p.shape(b_in));
  const Dims& d = a->d;
  a->p.n = d.n;
  a->p.k = d.k;
  a->p.a_signed = p.dtype(a_in) == DType::i8;
  a->p.b_signed = p.dtype(b_in) == DType::i8;
  a->run = kernels().integer_rows;
  const bool parallel = p.threads() > 1 && d.batches * d.m * d.n * d.k > 500000;
  a->row_chunks = parallel ? std::max<int64_t>(1, std::min<int64_t>(d.m, 4 * p.threads() / std::max<int64_t>(d.batches, 1))) : 1;
  a->chunks = parallel ? 2 : 1;
  p.bind_in(a->p.a, a_in);
  p.bind_in(a->p.b, b_in);
  if (p.has(a_zero)) {
    a->a_zero_per = per_of(p.shape(a_zero), d.m, p.shape(a_in).size() / std::max<int64_t>(d.k, 1), "the left zero point");
    a->p.a_zero_step = a->a_zero_per != Per::tensor;
    p.bind_in(a->p.a_zero, a_zero);
  }
  if (p.has(b_zero)) {
    a->b_zero_per = per_of(p.shape(b_zero), d.n, p.shape(b_in).size() / std::max<int64_t>(d.k, 1), "the right zero point");
    a->p.b_zero_step = a->b_zero_per != Per::tensor;
    p.bind_in(a->p.b_zero, b_zero);
  }
  if (scratch)
    p.bind_scratch(a->p.c, *scratch);
  else
    p.bind_out(a->p.c, 0);
}

void infer_matmul_integer(InferCtx& c) { c.output(0, dims_of(c.shape(0), c.shape(1)).out); }

void plan_matmul_integer(PlanCtx& p) {
  if (p.out_shape(0).size() > 0) emit_product(p, 0, 1, 2, 3, nullptr);
}

// The second half of QLinearMatMul: total * (a_scale * b_scale / y_scale), rounded, shifted, saturated.
struct ScaleArgs {
  const int32_t* total;
  const char *a_scale, *b_scale, *y_scale, *y_zero;
  char* y;
  Dims d;
  Per a_per, b_per, y_per, zero_per;
  DType scale;
  QType type;
  decltype(Kernels::requantize) requantize;
};

float scale_at(const char* p, DType t, int64_t i) {
  return with_real(t, [&](auto tag) { return static_cast<float>(reinterpret_cast<const decltype(tag)*>(p)[i]); });
}

template <typename Q>
void scale_step(const void* args, Runtime&) {
  auto& a = *static_cast<const ScaleArgs*>(args);
  const Dims& d = a.d;
  for (int64_t batch = 0; batch < d.batches; batch++) {
    const int64_t ma = matrix_of(d, d.a_strides, batch), mb = matrix_of(d, d.b_strides, batch);
    for (int64_t m = 0; m < d.m; m++) {
      const int64_t row = (batch * d.m + m) * d.n;
      const float left = scale_at(a.a_scale, a.scale, place(a.a_per, ma, d.m, m)), out = scale_at(a.y_scale, a.scale, place(a.y_per, batch, d.m, m));
      const Q zero = reinterpret_cast<const Q*>(a.y_zero)[place(a.zero_per, batch, d.m, m)];
      Requantize r{a.total + row, a.y + row, d.n, 0, zero, a.type};
      if (a.b_per == Per::tensor) {
        r.multiplier = left * scale_at(a.b_scale, a.scale, 0) / out;
        a.requantize(r);
        continue;
      }
      r.count = 1;
      for (int64_t n = 0; n < d.n; n++) {
        r.total = a.total + row + n;
        r.out = a.y + row + n;
        r.multiplier = left * scale_at(a.b_scale, a.scale, place(a.b_per, mb, d.n, n)) / out;
        a.requantize(r);
      }
    }
  }
}

// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
void infer_qlinear_matmul(InferCtx& c) { c.output(0, dims_of(c.shape(0), c.shape(3)).out); }

void plan_qlinear_matmul(PlanCtx& p) {
  const Shape& out = p.out_shape(0);
  if (out.size() == 0) return;
  const size_t total = p.scratch(static_cast<size_t>(out.size()) * sizeof(int32_t));
  emit_product(p, 0, 3, 2, 5, &total);
  auto* a = p.emit<ScaleArgs>(p.out_dtype(0) == DType::i8 ? scale_step<int8_t> : scale_step<uint8_t>);
  a->d = dims_of(p.shape(0), p.shape(3));
  const Dims& d = a->d;
  const int64_t rows = d.batches * d.m;
  a->a_per = per_of(p.shape(1), d.m, p.shape(0).size() / std::max<int64_t>(d.k, 1), "a_scale");
  a->b_per = per_of(p.shape(4), d.n, p.shape(3).size() / std::max<int64_t>(d.k, 1), "b_scale");
  a->y_per = per_of(p.shape(6), d.m, rows, "y_scale");
  a->zero_per = per_of(p.shape(7), d.m, rows, "y_zero_point");
  a->scale = p.dtype(1);
  a->type = qtype_of(p.out_dtype(0));
  a->requantize = kernels().requantize;
  p.bind_scratch(a->total, total);
  p.bind_in(a->a_scale, 1);
  p.bind_in(a->b_scale, 4);
  p.bind_in(a->y_scale, 6);
  p.bind_in(a->y_zero, 7);
  p.bind_out(a->y, 0);
}

const OpDef kTable[] = {
    {"MatMulInteger", infer_matmul_integer, plan_matmul_integer, nullptr},
    {"QLinearMatMul", infer_qlinear_matmul, plan_qlinear_matmul, nullptr},
};

}  // namespace

OpFamily integer_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
