// MatMul, Gemm and their fused form: float32 products over packed panels.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/jobs.h"
#include "ops/place.h"
#include "ops/table.h"

namespace sx {
namespace {

constexpr double kParallelFlops = 1.5e6;  // below this a second thread costs more than it brings

// Shapes of a product after ONNX's MatMul rules: batch dimensions broadcast, 1-D operands promoted.
struct Dims {
  Shape a, b, batch;
  int64_t m = 0, n = 0, k = 0;
  bool a_vector = false, b_vector = false;
};

Dims matmul_dims(Shape a, Shape b, bool trans_a, bool trans_b) {
  Dims d;
  if (a.rank == 0 || b.rank == 0) throw OpError("MatMul takes no scalars: " + a.str() + " x " + b.str());
  if (a.rank == 1) {
    d.a_vector = true;
    Shape s;
    s.push(1);
    s.push(a[0]);
    a = s;
  }
  if (b.rank == 1) {
    d.b_vector = true;
    b.push(1);
  }
  const int64_t ka = trans_a ? a[a.rank - 2] : a[a.rank - 1], kb = trans_b ? b[b.rank - 1] : b[b.rank - 2];
  d.m = trans_a ? a[a.rank - 1] : a[a.rank - 2];
  d.n = trans_b ? b[b.rank - 2] : b[b.rank - 1];
  if (ka != kb) throw OpError("inner dimensions differ: " + a.str() + " x " + b.str());
  d.k = ka;
  const int rank = std::max(a.rank, b.rank) - 2;
  for (int i = 0; i < rank; i++) {
    const int ia = i - (rank - (a.rank - 2)), ib = i - (rank - (b.rank - 2));
    const int64_t x = ia >= 0 ? a[ia] : 1, y = ib >= 0 ? b[ib] : 1;
    if (x != y && x != 1 && y != 1) throw OpError("batch dimensions do not broadcast: " + a.str() + " x " + b.str());
    d.batch.push(x == 1 ? y : x);
  }
  d.a = a;
  d.b = b;
  return d;
}

Epilogue epilogue(const Attributes& attrs) {
  Epilogue e;
  e.act = static_cast<Act>(attrs.get("activation", 0));
  e.alpha = static_cast<float>(attrs.getf("act_alpha", 0));
  e.beta = static_cast<float>(attrs.getf("act_beta", 0));
  e.residual_after = static_cast<int32_t>(attrs.get("residual_after", 0));
  return e;
}

// A product of one matrix with packed weights, cut into row_chunks x panel_chunks.
struct PackedArgs {
  Gemm g;
  int64_t panels, row_chunks, panel_chunks;
  decltype(Kernels::gemm) gemm;
};

constexpr int64_t kRowUnit = 8;  // rows of most tiles

void packed_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const PackedArgs*>(args);
  if (a.row_chunks * a.panel_chunks == 1) {
    a.gemm(a.g, 0, a.g.m, 0, a.panels);
    return;
  }
  const int64_t half = (a.panel_chunks + 1) / 2;
  rt.pool->parallel(a.row_chunks * a.panel_chunks, [&a, half](int64_t chunk) {
    const int64_t r = chunk % a.row_chunks, p = chunk / a.row_chunks, units = (a.g.m + kRowUnit - 1) / kRowUnit;
    const int64_t first = a.panels * p / a.panel_chunks, last = a.panels * (p + 1) / a.panel_chunks;
    // Threads come from both ends, and what each takes next lies further in.
    const int64_t next = p < half ? last : a.panels * (p - 1) / a.panel_chunks;
    Gemm g = a.g;
    if (p != half - 1 && p != half) g.next = reinterpret_cast<const char*>(g.b) + next * g.next_bytes;
    a.gemm(g, units * r / a.row_chunks * kRowUnit, std::min(g.m, units * (r + 1) / a.row_chunks * kRowUnit), first, last);
  });
}

void cut(PackedArgs* a, int threads) {
  const int64_t width = kernels().gemm_panel(a->g.n);
  a->panels = (a->g.n + width - 1) / width;
  a->row_chunks = a->panel_chunks = 1;
  if (threads == 1 || 2.0 * a->g.m * a->g.n * a->g.k < kParallelFlops) return;
  // Panels by preference: each then has one reader. Rows as well where panels are few.
  const int64_t wanted = (a->g.m < 64 ? 4 : 8) * threads;
  a->panel_chunks = std::min<int64_t>(a->panels, wanted);
  a->row_chunks = std::max<int64_t>(1, std::min<int64_t>(a->g.m / 24, (wanted + a->panel_chunks - 1) / a->panel_chunks));
}

std::shared_ptr<Buffer> pack(const float* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, bool bf16) {
  const int64_t lanes = bf16 ? kernels().gemm_packed_size_bf16(k, n) : kernels().gemm_packed_size(k, n);
  auto buffer = lasting_buffer(static_cast<size_t>(lanes) * sizeof(float));
  PackB p{b, stride_k, stride_n, static_cast<float*>(buffer->data), k, n};
  const int64_t width = kernels().gemm_panel(n);
  (bf16 ? kernels().pack_b_bf16 : kernels().pack_b)(p, 0, (n + width - 1) / width);
  return buffer;
}

// A product by Strassen-Winograd. A thread does whole blocks of rows: it finds the sums of A that it made itself in its L2.
struct StrassenArgs {
  Strassen s;
  int64_t pairs, buffer_floats;
  decltype(Kernels::strassen) strassen;
  decltype(Kernels::strassen_sums) sums;
};

void strassen_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const StrassenArgs*>(args);
  run_jobs(rt, a.s.blocks, true, [&a](int64_t block, int64_t slot) {
    a.sums(a.s, block, block + 1);
    a.strassen(a.s, block, block + 1, 0, a.pairs, a.s.buffers + slot * a.buffer_floats);
  });
}

// A batch of products with B packed while running: one chunk does one (batch, run of rows).
struct BatchArgs {
  Gemm g;
  PackB pack;
  float* packed;       // one panel area per chunk in flight
  int64_t packed_floats;
  int64_t batch, row_chunks, panels;
  int64_t a_strides[kMaxRank], b_strides[kMaxRank], dims[kMaxRank];
  int rank;
  decltype(Kernels::gemm) gemm;
  decltype(Kernels::pack_b) pack_b;
};

void batch_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const BatchArgs*>(args);
  auto one = [&a](int64_t chunk) {
    const int64_t index = chunk / a.row_chunks, r = chunk % a.row_chunks;
    int64_t rest = index, oa = 0, ob = 0;
    for (int i = a.rank - 1; i >= 0; i--) {
      const int64_t at = rest % a.dims[i];
      rest /= a.dims[i];
      oa += at * a.a_strides[i];
      ob += at * a.b_strides[i];
    }
    Gemm g = a.g;
    PackB p = a.pack;
    g.a += oa;
    g.c += index * g.m * g.ldc;
    if (g.e.residual) g.e.residual += index * g.m * g.e.ldr;
    p.b += ob;
    p.out = a.packed + chunk * a.packed_floats;
    a.pack_b(p, 0, a.panels);
    g.b = p.out;
    a.gemm(g, g.m * r / a.row_chunks, g.m * (r + 1) / a.row_chunks, 0, a.panels);
  };
  const int64_t chunks = a.batch * a.row_chunks;
  if (rt.threads == 1 || 2.0 * a.g.m * a.g.n * a.g.k * a.batch < kParallelFlops)
    for (int64_t i = 0; i < chunks; i++) one(i);
  else
    rt.pool->parallel(chunks, one);
}

// Copies a transposed A into rows.
struct TransposeA {
  const float* from;
  float* to;
  int64_t batch, m, k;
};
void transpose_a_step(const void* args, Runtime&) {
  auto& t = *static_cast<const TransposeA*>(args);
  for (int64_t b = 0; b < t.batch; b++)
    for (int64_t i = 0; i < t.k; i++)
      for (int64_t j = 0; j < t.m; j++) t.to[(b * t.m + j) * t.k + i] = t.from[(b * t.k + i) * t.m + j];
}

// to[rows, n] = factor * from, broadcast by strides of 0.
struct ScaledCopy {
  const float* from;
  float* to;
  int64_t rows, n, stride_row, stride_col;
  float factor;
};
void scaled_copy_step(const void* args, Runtime&) {
  auto& t = *static_cast<const ScaledCopy*>(args);
  for (int64_t i = 0; i < t.rows; i++)
    for (int64_t j = 0; j < t.n; j++) t.to[i * t.n + j] = t.factor * t.from[i * t.stride_row + j * t.stride_col];
}

void product(PlanCtx& p, const Dims& d, bool trans_a, bool trans_b, Place a, Place bias, Place residual) {
  const int64_t batch = d.batch.size();
  if (batch * d.m * d.n == 0) return;
  const int64_t a_batch = d.a.size(0, d.a.rank - 2), b_batch = d.b.size(0, d.b.rank - 2);
  if (trans_a) {
    const size_t rows = p.scratch(static_cast<size_t>(a_batch * d.m * d.k) * sizeof(float));
    auto* t = p.emit<TransposeA>(transpose_a_step);
    *t = {nullptr, nullptr, a_batch, d.m, d.k};
    a.bind(p, t->from);
    p.bind_scratch(t->to, rows);
    a = {Place::scratch, rows};
  }
  const Epilogue e = epilogue(p.op.attrs);
  const int64_t stride_k = trans_b ? 1 : d.n, stride_n = trans_b ? d.k : 1;
  auto fill = [&](Gemm& g, int64_t m) {
    g = Gemm{};
    g.lda = d.k;
    g.ldc = d.n;
    g.m = m;
    g.n = d.n;
    g.k = d.k;
    g.e = e;
    g.e.ldr = d.n;
    a.bind(p, g.a);
    p.bind_out(g.c, 0);
    bias.bind(p, g.e.bias);
    residual.bind(p, g.e.residual);
  };
  const bool constant = p.is_const(1) && b_batch == 1;
  if (constant) {
    const std::string key = std::string("gemm:") + isa_name(current_isa()) + (trans_b ? ":t" : ":n");
    const bool bf16 = p.option("bf16", 0) != 0;
    auto packed = p.pack(1, key + (bf16 ? ":bf16" : ""), [&](const void* data) { return pack(static_cast<const float*>(data), stride_k, stride_n, d.k, d.n, bf16); });
    const int64_t m = batch * d.m, width = kernels().gemm_panel(d.n);
    // Blocks of rows enough that threads end at about the same time.
    const int64_t shares = p.threads() == 1 ? 1 : 2 * p.threads();
    if (!bf16 && p.option("strassen", 1) && kernels().strassen_pays(m / shares, d.n, d.k)) {
      // Nearly equal blocks: long ones read the weights seldom, shorter ones find their A and sums in L2.
      const int64_t most = std::max<int64_t>(200, 51200 / d.k), wanted = std::max(shares, (m + most - 1) / most), block = (m + wanted - 1) / wanted;
      const int64_t blocks = (m + block - 1) / block, rows = (block + 1) / 2, buffer_floats = round_up(kernels().strassen_buffer(block, d.n, d.k), 16);
      const size_t sums = p.scratch(static_cast<size_t>(4 * blocks * rows * (d.k / 2)) * sizeof(float));
      const size_t buffers = p.scratch(static_cast<size_t>(p.threads() * buffer_floats) * sizeof(float));
      auto* args = p.emit<StrassenArgs>(strassen_step);
      fill(args->s.g, m);
      p.bind_packed(args->s.g.b, packed);
      p.bind_next_weights(args->s.g.next);
      p.bind_scratch(args->s.sums, sums);
      p.bind_scratch(args->s.buffers, buffers);
      args->s.block = block;
      args->s.blocks = blocks;
      args->pairs = d.n / 2 / width;
      args->buffer_floats = buffer_floats;
      args->strassen = kernels().strassen;
      args->sums = kernels().strassen_sums;
      return;
    }
    auto* args = p.emit<PackedArgs>(packed_step);
    fill(args->g, batch * d.m);
    args->gemm = bf16 ? kernels().gemm_bf16 : kernels().gemm;
    p.bind_packed(args->g.b, packed);
    if (!bf16) p.bind_next_weights(args->g.next);
    args->g.next_bytes = width * d.k * static_cast<int64_t>(sizeof(float));  // a panel
    cut(args, p.threads());
    return;
  }
  const int64_t width = kernels().gemm_panel(d.n);
  const bool single = b_batch == 1 && batch >= 1;
  const int64_t m = single ? batch * d.m : d.m, products = single ? 1 : batch;
  const int64_t wanted = p.threads() == 1 ? 1 : std::max<int64_t>(1, std::min<int64_t>(m / 48, (2 * p.threads() + products - 1) / products));
  const int64_t floats = round_up(kernels().gemm_packed_size(d.k, d.n), 16);
  const size_t area = p.scratch(static_cast<size_t>(floats * products * wanted) * sizeof(float));
  auto* args = p.emit<BatchArgs>(batch_step);
  fill(args->g, m);
  args->pack = PackB{nullptr, stride_k, stride_n, nullptr, d.k, d.n};
  p.bind_in(args->pack.b, 1);
  p.bind_scratch(args->packed, area);
  args->packed_floats = floats;
  args->batch = products;
  args->row_chunks = wanted;
  args->panels = (d.n + width - 1) / width;
  args->gemm = kernels().gemm;
  args->pack_b = kernels().pack_b;
  args->rank = single ? 0 : d.batch.rank;
  int64_t sa = d.m * d.k, sb = d.k * d.n;
  for (int i = args->rank - 1; i >= 0; i--) {
    const int ia = i - (d.batch.rank - (d.a.rank - 2)), ib = i - (d.batch.rank - (d.b.rank - 2));
    args->dims[i] = d.batch[i];
    args->a_strides[i] = ia >= 0 && d.a[ia] != 1 ? sa : 0;
    args->b_strides[i] = ib >= 0 && d.b[ib] != 1 ? sb : 0;
    if (ia >= 0) sa *= d.a[ia];
    if (ib >= 0) sb *= d.b[ib];
  }
}

Dims dims_of(const Shape& a, const Shape& b, const Attributes& attrs) { return matmul_dims(a, b, attrs.get("transA", 0) != 0, attrs.get("transB", 0) != 0); }

void infer_matmul(InferCtx& c) {
  const Dims d = dims_of(c.shape(0), c.shape(1), c.op.attrs);
  Shape out = d.batch;
  if (!d.a_vector) out.push(d.m);
  if (!d.b_vector) out.push(d.n);
  c.output(0, out);
}

// Inputs: A, B, bias [N], residual of the output's shape.
void plan_matmul(PlanCtx& p) {
  const bool ta = p.op.attrs.get("transA", 0) != 0, tb = p.op.attrs.get("transB", 0) != 0;
  auto at = [&p](size_t i) { return p.has(i) ? Place{Place::input, i} : Place{}; };
  product(p, matmul_dims(p.shape(0), p.shape(1), ta, tb), ta, tb, at(0), at(2), at(3));
}

void infer_gemm(InferCtx& c) {
  if (c.shape(0).rank != 2 || c.shape(1).rank != 2) throw OpError("Gemm takes matrices: " + c.shape(0).str() + " x " + c.shape(1).str());
  const Dims d = dims_of(c.shape(0), c.shape(1), c.op.attrs);
  Shape out;
  out.push(d.m);
  out.push(d.n);
  if (c.has(2)) {
    const Shape& s = c.shape(2);
    bool fits = s.rank <= 2;
    for (int i = 0; fits && i < s.rank; i++) fits = s[i] == 1 || s[i] == out[2 - s.rank + i];
    if (!fits) throw OpError("C " + s.str() + " does not broadcast to " + out.str());
  }
  c.output(0, out);
}

// alpha A' B' + beta C: C as bias or residual where it is one, else broadcast and scaled first.
void plan_gemm(PlanCtx& p) {
  const bool ta = p.op.attrs.get("transA", 0) != 0, tb = p.op.attrs.get("transB", 0) != 0;
  const float alpha = static_cast<float>(p.op.attrs.getf("alpha", 1)), beta = static_cast<float>(p.op.attrs.getf("beta", 1));
  const Dims d = matmul_dims(p.shape(0), p.shape(1), ta, tb);
  Place a{Place::input, 0}, bias, residual;
  if (alpha != 1) {
    const int64_t n = p.shape(0).size();
    const size_t scaled = p.scratch(static_cast<size_t>(n) * sizeof(float));
    auto* t = p.emit<ScaledCopy>(scaled_copy_step);
    *t = {nullptr, nullptr, 1, n, 0, 1, alpha};
    p.bind_in(t->from, 0);
    p.bind_scratch(t->to, scaled);
    a = {Place::scratch, scaled};
  }
  if (p.has(2) && beta != 0) {
    const Shape& s = p.shape(2);
    const int64_t cols = s.rank >= 1 ? s[s.rank - 1] : 1, rows = s.rank == 2 ? s[0] : 1;
    if (beta == 1 && rows == 1 && cols == d.n) {
      bias = {Place::input, 2};
    } else if (beta == 1 && rows == d.m && cols == d.n) {
      residual = {Place::input, 2};
    } else {
      const size_t full = p.scratch(static_cast<size_t>(d.m * d.n) * sizeof(float));
      auto* t = p.emit<ScaledCopy>(scaled_copy_step);
      *t = {nullptr, nullptr, d.m, d.n, rows == 1 ? 0 : cols, cols == 1 ? 0 : 1, beta};
      p.bind_in(t->from, 2);
      p.bind_scratch(t->to, full);
      residual = {Place::scratch, full};
    }
  }
  product(p, d, ta, tb, a, bias, residual);
}

const OpDef kTable[] = {
    {"MatMul", infer_matmul, plan_matmul, nullptr},
    {"Gemm", infer_gemm, plan_gemm, nullptr},
    {"FusedMatMul", infer_matmul, plan_matmul, nullptr},
};

}  // namespace

OpFamily matmul_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
