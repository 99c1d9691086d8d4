// MatMulInteger and QLinearMatMul: exact products of 8-bit matrices.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/integer_pack.h"
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

int64_t matrix_of(const Dims& d, const int64_t* strides, int64_t batch) {
  int64_t at = 0;
  for (int i = d.batch.rank - 1; i >= 0; i--) {
    at += batch % d.batch[i] * strides[i];
    batch /= d.batch[i];
  }
  return at;
}

// A factor's matrices packed while running.
struct PackArgs {
  const uint8_t* from;
  ZeroPoints zero;
  Per per;
  int16_t* to;
  int64_t matrices, lines, k, packed;  // packed: int16 of one packed matrix
  int32_t is_signed;
  int64_t chunks;
};

void pack_left_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const PackArgs*>(args);
  const int64_t rows = a.matrices * a.lines;
  auto part = [&](int64_t i) {
    // Rows of all matrices follow one another.
    for (int64_t r = rows * i / a.chunks, end = rows * (i + 1) / a.chunks; r < end;) {
      const int64_t matrix = r / a.lines, first = r % a.lines, count = std::min(a.lines - first, end - r);
      ZeroPoints zero = a.zero;
      if (a.per == Per::all_lines) zero.data += matrix * a.lines;
      pack_rows(kernels(), a.from + matrix * a.lines * a.k, a.is_signed, a.k, 1, a.k, zero, first, first + count, a.to + matrix * a.packed);
      r += count;
    }
  };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

void pack_right_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const PackArgs*>(args);
  rt.pool->parallel(a.matrices, [&](int64_t matrix) {
    ZeroPoints zero = a.zero;
    if (a.per == Per::all_lines) zero.data += matrix * a.lines;
    pack_panels(kernels(), a.from + matrix * a.k * a.lines, a.is_signed, a.k, a.lines, zero, a.to + matrix * a.packed);
  });
}

struct ProductArgs {
  IntegerGemm g;
  Dims d;
  int64_t a_matrix, b_matrix;  // int16 of one packed matrix
  int64_t panels, row_chunks, panel_chunks;
  int32_t parallel;
  decltype(Kernels::integer_gemm) run;
};

void product_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ProductArgs*>(args);
  auto part = [&a](int64_t i) {
    const int64_t panel = i % a.panel_chunks, row = i / a.panel_chunks % a.row_chunks, batch = i / a.panel_chunks / a.row_chunks;
    IntegerGemm g = a.g;
    g.a += matrix_of(a.d, a.d.a_strides, batch) * a.a_matrix;
    g.b += matrix_of(a.d, a.d.b_strides, batch) * a.b_matrix;
    g.c += batch * a.d.m * a.d.n;
    a.run(g, a.d.m * row / a.row_chunks, a.d.m * (row + 1) / a.row_chunks, a.panels * panel / a.panel_chunks, a.panels * (panel + 1) / a.panel_chunks);
  };
  const int64_t jobs = a.d.batches * a.row_chunks * a.panel_chunks;
  if (a.parallel)
    rt.pool->parallel(jobs, part);
  else
    for (int64_t i = 0; i < jobs; i++) part(i);
}

// The bytes of a constant zero point, to tell packed forms apart.
std::string name_of_zero(PlanCtx& p, size_t i) {
  if (!p.has(i)) return "none";
  std::string name;
  for (int64_t v : p.ints(i)) name += std::to_string(v) + ",";
  return name;
}

ZeroPoints zeros_of(PlanCtx& p, size_t i, Per per) {
  ZeroPoints z{};
  z.per_line = per != Per::tensor;
  z.is_signed = p.has(i) && p.dtype(i) == DType::i8;
  return z;
}

PackArgs* emit_pack(PlanCtx& p, StepFn fn, size_t in, size_t zero, Per per, int64_t matrices, int64_t lines, int64_t k, int64_t packed, size_t scratch) {
  auto* a = p.emit<PackArgs>(fn);
  a->zero = zeros_of(p, zero, per);
  a->per = per;
  a->matrices = matrices;
  a->lines = lines;
  a->k = k;
  a->packed = packed;
  a->is_signed = p.dtype(in) == DType::i8;
  a->chunks = chunks_for(p, 4 * matrices * lines * k);
  p.bind_in(a->from, in);
  if (p.has(zero)) p.bind_in(a->zero.data, zero);
  p.bind_scratch(a->to, scratch);
  return a;
}

// The product in int32 into output 0 or scratch; inputs by number.
void emit_product(PlanCtx& p, size_t a_in, size_t b_in, size_t a_zero, size_t b_zero, const size_t* scratch) {
  const Dims d = dims_of(p.shape(a_in), p.shape(b_in));
  const int64_t panel = kernels().integer_panel(), pairs = pairs_of(d.k), a_matrix = d.m * 2 * pairs, b_matrix = panels_of(d.n, panel) * pairs * panel * 2;
  const int64_t a_count = p.shape(a_in).size() / std::max<int64_t>(d.m * d.k, 1), b_count = p.shape(b_in).size() / std::max<int64_t>(d.n * d.k, 1);
  const Per a_per = p.has(a_zero) ? per_of(p.shape(a_zero), d.m, a_count * d.m, "the left zero point") : Per::tensor;
  const Per b_per = p.has(b_zero) ? per_of(p.shape(b_zero), d.n, b_count * d.n, "the right zero point") : Per::tensor;
  const size_t left = p.scratch(static_cast<size_t>(a_count * a_matrix) * sizeof(int16_t));
  emit_pack(p, pack_left_step, a_in, a_zero, a_per, a_count, d.m, d.k, a_matrix, left);
  std::shared_ptr<Buffer> packed;
  size_t right = 0;
  if (p.is_const(b_in) && b_count == 1 && (!p.has(b_zero) || (p.is_const(b_zero) && p.shape(b_zero).size() <= 1024))) {
    ZeroPoints zero = zeros_of(p, b_zero, b_per);
    if (p.has(b_zero)) zero.data = static_cast<const uint8_t*>(p.const_data(b_zero));
    const bool is_signed = p.dtype(b_in) == DType::i8;
    packed = p.pack(b_in, std::string("int16:") + isa_name(current_isa()) + ":" + name_of_zero(p, b_zero), [&](const void* data) {
      auto buffer = lasting_buffer(static_cast<size_t>(b_matrix) * sizeof(int16_t));
      pack_panels(kernels(), static_cast<const uint8_t*>(data), is_signed, d.k, d.n, zero, static_cast<int16_t*>(buffer->data));
      return buffer;
    });
  } else {
    right = p.scratch(static_cast<size_t>(b_count * b_matrix) * sizeof(int16_t));
    emit_pack(p, pack_right_step, b_in, b_zero, b_per, b_count, d.n, d.k, b_matrix, right);
  }
  auto* a = p.emit<ProductArgs>(product_step);
  a->d = d;
  a->a_matrix = a_matrix;
  a->b_matrix = b_matrix;
  a->panels = panels_of(d.n, panel);
  a->g.lda = 2 * pairs;
  a->g.ldc = a->g.n = d.n;
  a->g.pairs = pairs;
  a->run = kernels().integer_gemm;
  a->row_chunks = std::max<int64_t>(1, ceil_div(d.m, 96));  // a block of rows stays in L2 with a panel
  a->panel_chunks = 1;
  a->parallel = p.threads() > 1 && d.batches * d.m * d.n * d.k > 1500000;
  if (a->parallel) a->panel_chunks = std::min<int64_t>(a->panels, std::max<int64_t>(1, 4 * p.threads() / (a->row_chunks * d.batches)));
  p.bind_scratch(a->g.a, left);
  if (packed)
    p.bind_packed(a->g.b, packed);
  else
    p.bind_scratch(a->g.b, right);
  if (scratch)
    p.bind_scratch(a->g.c, *scratch);
  else
    p.bind_out(a->g.c, 0);
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
