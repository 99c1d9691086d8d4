// MatMulNBits of com.microsoft: a product with constant weights of 2, 4 or 8 bits, quantized in blocks along K.
#include <algorithm>
#include <cstring>

#include "kernels/isa.h"
#include "ops/jobs.h"
#include "ops/rows.h"

namespace sx {
namespace {

constexpr int64_t kFewRows = 4;    // up to here each row reads the packed weights, beyond they are widened by panels
constexpr int64_t kStretch = 1024;  // of K, whose panel stays in the second-level cache
constexpr int64_t kTogether = 2;   // groups that nbits_row takes at a time

struct Weights {
  int64_t n, k, bits, block, blocks, groups;
};

Weights weights_of(const Attributes& attrs) {
  Weights w{attrs.get("N", 0), attrs.get("K", 0), attrs.get("bits", 4), attrs.get("block_size", 0), 0, 0};
  const bool fits = w.n > 0 && w.k > 0 && (w.bits == 2 || w.bits == 4 || w.bits == 8) && w.block >= 16 && w.block % 16 == 0;
  if (!fits) throw OpError("N, K, bits and block_size are " + std::to_string(w.n) + ", " + std::to_string(w.k) + ", " + std::to_string(w.bits) + " and " + std::to_string(w.block));
  w.blocks = (w.k + w.block - 1) / w.block;
  w.groups = (w.n + kNBitsGroup - 1) / kNBitsGroup;
  return w;
}

template <typename Ctx>
Weights checked(const Ctx& c) {
  const Weights w = weights_of(c.op.attrs);
  const Shape& a = c.shape(0);
  if (a.rank == 0 || a[a.rank - 1] != w.k) throw OpError("A has shape " + a.str() + ", but K is " + std::to_string(w.k));
  auto expect = [&](size_t i, int64_t size) {
    if (c.has(i) && c.shape(i).size() != size)
      throw OpError("input " + std::to_string(i) + " has shape " + c.shape(i).str() + ", but N, K, bits and block_size ask for " + std::to_string(size) + " elements");
  };
  expect(1, w.n * w.blocks * w.block * w.bits / 8);
  expect(2, w.n * w.blocks);
  expect(3, c.has(3) && c.dtype(3) == DType::u8 ? w.n * ((w.blocks * w.bits + 7) / 8) : w.n * w.blocks);
  expect(5, w.n);
  return w;
}

void infer_nbits(InferCtx& c) {
  Shape out = c.shape(0);
  out[out.rank - 1] = checked(c).n;
  c.output(0, out);
}

// rows [n][count] of T, at any alignment, as [groups][count][group], zeros beyond the last.
template <typename T>
std::shared_ptr<Buffer> by_groups(const T* from, const Weights& w, int64_t count) {
  auto buffer = lasting_buffer(static_cast<size_t>(w.groups * count * kNBitsGroup) * sizeof(T));
  T* to = static_cast<T*>(buffer->data);
  for (int64_t group = 0; group < w.groups; group++)
    for (int64_t i = 0; i < count; i++)
      for (int64_t lane = 0; lane < kNBitsGroup; lane++) {
        const int64_t row = group * kNBitsGroup + lane;
        T x(0);
        if (row < w.n) std::memcpy(&x, from + row * count + i, sizeof x);
        *to++ = x;
      }
  return buffer;
}

std::shared_ptr<Buffer> unpacked_zeros(const uint8_t* from, const Weights& w) {
  std::vector<uint8_t> wide(static_cast<size_t>(w.n * w.blocks));
  const int64_t row_bytes = (w.blocks * w.bits + 7) / 8;
  for (int64_t row = 0; row < w.n; row++)
    for (int64_t i = 0; i < w.blocks; i++)
      wide[row * w.blocks + i] = static_cast<uint8_t>(from[row * row_bytes + i * w.bits / 8] >> (i * w.bits % 8) & ((1 << w.bits) - 1));
  return by_groups(wide.data(), w, w.blocks);
}

// Binds the packed weights of the op to `b`.
void bind_weights(PlanCtx& p, const Weights& w, NBits& b) {
  b.n = w.n;
  b.k = w.k;
  b.blocks = w.blocks;
  b.block = w.block;
  b.bits = static_cast<int32_t>(w.bits);
  const std::string key = "nbits:" + std::to_string(w.n) + ":" + std::to_string(w.blocks) + ":" + std::to_string(w.block * w.bits);
  p.bind_packed(b.words, p.pack(1, key, [&](const void* data) { return by_groups(static_cast<const uint32_t*>(data), w, w.blocks * w.block * w.bits / 32); }));
  const std::string line = "nbits:" + std::to_string(w.n) + ":" + std::to_string(w.blocks);
  p.bind_packed(b.scales, p.pack(2, line, [&](const void* data) { return by_groups(static_cast<const float*>(data), w, w.blocks); }));
  if (!p.has(3)) return;
  if (p.dtype(3) == DType::u8)
    p.bind_packed(b.zero_bytes, p.pack(3, line + ":" + std::to_string(w.bits), [&](const void* data) { return unpacked_zeros(static_cast<const uint8_t*>(data), w); }));
  else
    p.bind_packed(b.zero_floats, p.pack(3, line, [&](const void* data) { return by_groups(static_cast<const float*>(data), w, w.blocks); }));
}

// A few rows: prepared, then multiplied.
struct RowsArgs {
  NBitsRow r;
  const float* a;
  float *scaled, *sums;
  int64_t rows, groups, units, ranges;  // a unit is kTogether groups
  decltype(Kernels::nbits_row_prepare) prepare;
  decltype(Kernels::nbits_row) run;
};

void rows_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const RowsArgs*>(args);
  const int64_t k = a.r.b.k, padded = a.r.b.blocks * a.r.b.block;
  for (int64_t m = 0; m < a.rows; m++) a.prepare(a.r.b, a.a + m * k, a.scaled + m * padded, a.sums + m * a.r.b.blocks);
  auto row = [&a, padded](int64_t m, int64_t begin, int64_t end) {
    NBitsRow r = a.r;
    r.a = a.scaled + m * padded;
    r.sums = a.sums + m * a.r.b.blocks;
    r.c += m * a.r.b.n;
    a.run(r, begin * kTogether, std::min(end * kTogether, a.groups));
  };
  auto range = [&](int64_t i) {
    const int64_t begin = a.units * i / a.ranges, end = a.units * (i + 1) / a.ranges;
    if (a.rows == 1) return row(0, begin, end);
    // All rows of a unit while its weights are in the first-level cache.
    for (int64_t u = begin; u < end; u++)
      for (int64_t m = 0; m < a.rows; m++) row(m, u, u + 1);
  };
  if (a.ranges == 1) return range(0);
  rt.pool->parallel(a.ranges, range);
}

// Many rows: some columns of a stretch of K at a time, widened into a panel and multiplied.
struct PanelArgs {
  NBits b;
  Gemm g;
  float* panels;
  int64_t columns, stretch, jobs;
  int32_t parallel;
  decltype(Kernels::nbits_widen) widen;
};

void panel_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const PanelArgs*>(args);
  const auto& k = kernels();
  run_jobs(rt, a.jobs, a.parallel, [&](int64_t job, int64_t slot) {
    const int64_t first = job * a.columns;
    float* panel = a.panels + slot * a.columns * a.stretch;
    Gemm g = a.g;
    g.n = std::min(a.columns, a.g.n - first);
    g.b = panel;
    g.c += first;
    if (g.e.bias) g.e.bias += first;
    const int64_t width = k.gemm_panel(g.n);
    for (int64_t k0 = 0; k0 < a.g.k; k0 += a.stretch) {
      g.k = std::min(a.stretch, a.g.k - k0);
      a.widen(a.b, k0, k0 + g.k, first, g.n, width, panel);
      k.gemm(g, 0, g.m, 0, (g.n + width - 1) / width);
      // The next stretch is added to this one.
      g.a += g.k;
      g.e.bias = nullptr;
      g.e.residual = g.c;
      g.e.ldr = g.ldc;
    }
  });
}

void plan_nbits(PlanCtx& p) {
  const Weights w = checked(p);
  const int64_t m = p.shape(0).size() / w.k;
  if (m == 0) return;
  const auto& k = kernels();
  const double work = static_cast<double>(m) * static_cast<double>(w.n) * static_cast<double>(w.k);
  if (m <= kFewRows) {
    const int64_t padded = w.blocks * w.block, units = (w.groups + kTogether - 1) / kTogether;
    const size_t scaled = p.scratch(static_cast<size_t>(m * padded) * sizeof(float)), sums = p.scratch(static_cast<size_t>(m * w.blocks) * sizeof(float));
    auto* a = p.emit<RowsArgs>(rows_step);
    bind_weights(p, w, a->r.b);
    a->rows = m;
    a->groups = w.groups;
    a->units = units;
    a->ranges = ranges(p, 0.1 * work, units);
    a->prepare = k.nbits_row_prepare;
    a->run = k.nbits_row;
    p.bind_in(a->a, 0);
    p.bind_scratch(a->scaled, scaled);
    p.bind_scratch(a->sums, sums);
    if (p.has(5)) p.bind_in(a->r.bias, 5);
    p.bind_out(a->r.c, 0);
    return;
  }
  const int64_t columns = std::max<int64_t>(kNBitsGroup, k.gemm_panel(w.n));
  const int64_t stretch = std::max<int64_t>(1, kStretch / w.block) * w.block;
  const size_t panels = p.scratch(static_cast<size_t>(p.threads() * columns * stretch) * sizeof(float));
  auto* a = p.emit<PanelArgs>(panel_step);
  bind_weights(p, w, a->b);
  a->columns = columns;
  a->stretch = stretch;
  a->jobs = (w.n + columns - 1) / columns;
  a->parallel = work > 7.5e5;
  a->widen = k.nbits_widen;
  a->g.lda = a->g.k = w.k;
  a->g.ldc = a->g.n = w.n;
  a->g.m = m;
  p.bind_in(a->g.a, 0);
  p.bind_scratch(a->panels, panels);
  if (p.has(5)) p.bind_in(a->g.e.bias, 5);
  p.bind_out(a->g.c, 0);
}

const OpDef kTable[] = {
    {"com.microsoft.MatMulNBits", infer_nbits, plan_nbits, nullptr},
};

}  // namespace

OpFamily nbits_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
