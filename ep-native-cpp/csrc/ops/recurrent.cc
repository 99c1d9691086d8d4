// RNN, GRU and LSTM: one product for the inputs of all time steps, then a small product and a fused cell per step.
#include "ops/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/isa.h"
#include "ops/rows.h"

namespace sx {
namespace {

constexpr int kMostDirections = 2;

// Sizes of a layer, checked.
struct Layer {
  int64_t time = 0, batch = 0, inputs = 0, hidden = 0, gates = 0, directions = 0;
  bool batch_first = false;
};

template <typename Ctx>
Layer layer_of(const Ctx& c) {
  const char* name = c.op.def->name;
  Layer l;
  l.gates = name[0] == 'L' ? 4 : name[0] == 'G' ? 3 : 1;
  l.directions = direction_of(c.op.attrs) == Direction::both ? 2 : 1;
  l.batch_first = c.op.attrs.get("layout", 0) != 0;
  const Shape &x = c.shape(0), &w = c.shape(1), &r = c.shape(2);
  if (x.rank != 3 || w.rank != 3 || r.rank != 3) throw OpError("X, W and R must have three dimensions: " + x.str() + ", " + w.str() + ", " + r.str());
  l.time = x[l.batch_first ? 1 : 0];
  l.batch = x[l.batch_first ? 0 : 1];
  l.inputs = x[2];
  l.hidden = r[2];
  const int64_t rows = l.gates * l.hidden;
  if (w[0] != l.directions || r[0] != l.directions || w[1] != rows || r[1] != rows || w[2] != l.inputs)
    throw OpError("the weights W " + w.str() + " and R " + r.str() + " do not fit an input of " + x.str() + ", " + std::to_string(l.directions) + " direction(s) and " +
                  std::to_string(l.gates) + " gate(s)");
  if (c.op.attrs.get("hidden_size", l.hidden) != l.hidden) throw OpError("hidden_size differs from that of R " + r.str());
  auto expect = [&](size_t i, std::initializer_list<int64_t> wanted) {
    if (!c.has(i)) return;
    Shape s;
    for (int64_t d : wanted) s.push(d);
    if (c.shape(i) != s) throw OpError("input " + std::to_string(i) + " has shape " + c.shape(i).str() + ", but must have " + s.str());
  };
  expect(3, {l.directions, 2 * rows});
  expect(4, {l.batch});
  for (size_t i : {5, 6})
    if (l.batch_first)
      expect(i, {l.batch, l.directions, l.hidden});
    else
      expect(i, {l.directions, l.batch, l.hidden});
  expect(7, {l.directions, 3 * l.hidden});
  return l;
}

void infer_recurrent(InferCtx& c) {
  const Layer l = layer_of(c);
  Shape y, state;
  for (int64_t d : {l.time, l.directions, l.batch, l.hidden}) y.push(d);
  for (int64_t d : {l.directions, l.batch, l.hidden}) state.push(d);
  if (l.batch_first) {
    y[0] = l.batch;
    y[1] = l.time;
    y[2] = l.directions;
    state[0] = l.batch;
    state[1] = l.directions;
  }
  c.output(0, y);
  c.output(1, state);
  c.output(2, state);
}

// The input's biases and, where they are only added, those of the state: to[directions][gates * hidden].
struct BiasArgs {
  const float* from;
  float* to;
  int64_t directions, rows, added;
};

void bias_step(const void* args, Runtime&) {
  auto& a = *static_cast<const BiasArgs*>(args);
  for (int64_t d = 0; d < a.directions; d++) {
    const float* from = a.from + d * 2 * a.rows;
    for (int64_t i = 0; i < a.rows; i++) a.to[d * a.rows + i] = from[i] + (i < a.added ? from[a.rows + i] : 0.0f);
  }
}

// Some rows of weights [.., k], transposed and packed.
struct PackRows {
  PackB p;
  int64_t first;  // element of the first row
};

void pack_range(const PackRows& a, int64_t begin, int64_t end) {
  PackB p = a.p;
  p.b += a.first;
  kernels().pack_b(p, begin, end);
}

int64_t panels_of(int64_t n) {
  const int64_t width = kernels().gemm_panel(n);
  return (n + width - 1) / width;
}

Packed pack(PlanCtx& p, size_t input, int64_t first, int64_t rows) {
  const Shape& s = p.shape(input);
  const int64_t k = s[2];
  const size_t bytes = static_cast<size_t>(kernels().gemm_packed_size(k, rows)) * sizeof(float);
  const PackRows args{{nullptr, 1, k, nullptr, k, rows}, first * k};
  if (p.is_const(input)) {
    const std::string key = std::string("rows:") + isa_name(current_isa()) + ":" + std::to_string(first) + ":" + std::to_string(rows);
    return {p.pack(input, key, [&](const void* data) {
              auto buffer = lasting_buffer(bytes);
              PackRows a = args;
              a.p.b = static_cast<const float*>(data);
              a.p.out = static_cast<float*>(buffer->data);
              pack_range(a, 0, panels_of(rows));
              return buffer;
            }),
            0};
  }
  const size_t scratch = p.scratch(bytes);
  auto* a = emit_ranges<PackRows>(p, pack_range, panels_of(rows), 1.0 * static_cast<double>(k * rows));
  *a = args;
  p.bind_in(a->p.b, input);
  p.bind_scratch(a->p.out, scratch);
  return {nullptr, scratch};
}

// The gates' part of the inputs of one direction, by ranges of rows.
struct InputProduct {
  Gemm g;
  int64_t c_offset, bias_offset, panels;
  decltype(Kernels::gemm) gemm;
};

void input_range(const InputProduct& a, int64_t begin, int64_t end) {
  Gemm g = a.g;
  g.c += a.c_offset;
  if (g.e.bias) g.e.bias += a.bias_offset;
  a.gemm(g, begin, end, 0, a.panels);
}

// The loop over time.
struct LoopArgs {
  Layer layer;
  const float* gates;                // [directions][rows of X][gates * hidden]
  const float* r[kMostDirections][2];  // packed; GRU: two pieces where the state is reset first
  const float *bias, *peepholes;     // as given
  const float *h0, *c0;
  const int32_t* lens;
  float *y, *y_h, *y_c;
  float *h, *c, *product, *z, *reset;  // [directions][batch][..]
  int64_t batch_chunks;
  bool reversed;                     // the first direction
  Cell cell;                         // clip, input_forget
  GateFn functions[kMostDirections][3];
  decltype(Kernels::gemm) gemm;
  decltype(Kernels::lstm_cell) first, last;  // first: GRU's gates where the state is reset first
};

// Rows [b0, b1) of a product of the state with panels of n columns, from column `at` on.
void state_product(const LoopArgs& a, const float* state, const float* packed, float* to, int64_t n, int64_t b0, int64_t b1) {
  const Layer& l = a.layer;
  Gemm g{};
  g.a = state;
  g.lda = g.k = l.hidden;
  g.b = packed;
  g.c = to;
  g.ldc = l.gates * l.hidden;
  g.m = l.batch;
  g.n = n;
  a.gemm(g, b0, b1, 0, panels_of(n));
}

// One direction of rows [b0, b1) of the batch.
void run_rows(const LoopArgs& a, int64_t d, int64_t b0, int64_t b1) {
  const Layer& l = a.layer;
  const int64_t n = l.hidden, width = l.gates * n, states = d * l.batch;
  float *h = a.h + states * n, *c = a.c ? a.c + states * n : nullptr, *product = a.product + states * width;
  float *z = a.z ? a.z + states * n : nullptr, *reset = a.reset ? a.reset + states * n : nullptr;
  auto length = [&](int64_t b) { return a.lens ? static_cast<int64_t>(a.lens[b]) : l.time; };
  auto state_at = [&](int64_t b) { return (l.batch_first ? b * l.directions + d : d * l.batch + b) * n; };
  auto y_at = [&](int64_t t, int64_t b) { return a.y + (l.batch_first ? (b * l.time + t) * l.directions + d : (t * l.directions + d) * l.batch + b) * n; };
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  int64_t longest = 0;
  for (int64_t b = b0; b < b1; b++) {
    // The final state of a sequence of no steps is zero, as in onnxruntime; the specification is silent.
    auto start = [&](float* to, const float* given) {
      if (given && length(b) > 0)
        std::memcpy(to + b * n, given + state_at(b), bytes);
      else
        std::memset(to + b * n, 0, bytes);
    };
    start(h, a.h0);
    if (c) start(c, a.c0);
    longest = std::max(longest, length(b));
  }
  Cell cell = a.cell;
  cell.n = n;
  cell.f = a.functions[d][0];
  cell.g = a.functions[d][1];
  cell.out = a.functions[d][2];
  cell.bias = a.bias ? a.bias + d * 2 * width + width + 2 * n : nullptr;
  cell.peepholes = a.peepholes ? a.peepholes + d * 3 * n : nullptr;
  const bool backwards = d == 1 || a.reversed;
  for (int64_t s = 0; s < longest; s++) {
    auto each = [&](decltype(Kernels::lstm_cell) run) {
      for (int64_t b = b0; b < b1; b++) {
        const int64_t steps = length(b);
        if (s >= steps) continue;
        const int64_t t = backwards ? steps - 1 - s : s;
        cell.x = a.gates + ((l.batch_first ? b * l.time + t : t * l.batch + b) + d * l.time * l.batch) * width;
        cell.r = product + b * width;
        cell.h = h + b * n;
        cell.c = c ? c + b * n : nullptr;
        cell.z = z ? z + b * n : nullptr;
        cell.reset = reset ? reset + b * n : nullptr;
        cell.y = a.y ? y_at(t, b) : nullptr;
        run(cell);
      }
    };
    if (a.first) {
      state_product(a, h, a.r[d][0], product, 2 * n, b0, b1);
      each(a.first);
      state_product(a, reset, a.r[d][1], product + 2 * n, n, b0, b1);
    } else {
      state_product(a, h, a.r[d][0], product, width, b0, b1);
    }
    each(a.last);
  }
  for (int64_t b = b0; b < b1; b++) {
    if (a.y)
      for (int64_t t = length(b); t < l.time; t++) std::memset(y_at(t, b), 0, bytes);
    if (a.y_h) std::memcpy(a.y_h + state_at(b), h + b * n, bytes);
    if (a.y_c) std::memcpy(a.y_c + state_at(b), c + b * n, bytes);
  }
}

void loop_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const LoopArgs*>(args);
  const Layer& l = a.layer;
  for (int64_t b = 0; a.lens && b < l.batch; b++)
    if (a.lens[b] < 0 || a.lens[b] > l.time) return rt.fail("sequence_lens[%lld] is %d, but must be in [0, %lld]", static_cast<long long>(b), a.lens[b], static_cast<long long>(l.time));
  auto part = [&](int64_t i) {
    const int64_t d = i / a.batch_chunks, chunk = i % a.batch_chunks;
    run_rows(a, d, l.batch * chunk / a.batch_chunks, l.batch * (chunk + 1) / a.batch_chunks);
  };
  const int64_t chunks = l.directions * a.batch_chunks;
  if (chunks > 1 && a.layer.directions * a.batch_chunks <= rt.threads) return rt.pool->parallel(chunks, part);
  for (int64_t i = 0; i < chunks; i++) part(i);
}

// Rows of the batch are independent of one another, as directions are: each thread takes its own, without waiting.
int64_t batch_chunks(const PlanCtx& p, const Layer& l) {
  const double flops = 2.0 * static_cast<double>(l.time * l.batch * l.directions) * static_cast<double>(l.gates * l.hidden * l.hidden);
  if (p.threads() == 1 || flops < 1.5e6) return 1;
  return std::max<int64_t>(1, std::min(l.batch, p.threads() / l.directions));
}

void plan_recurrent(PlanCtx& p) {
  const Layer l = layer_of(p);
  const bool lstm = l.gates == 4, gru = l.gates == 3, linear = gru && p.op.attrs.get("linear_before_reset", 0) != 0;
  const int64_t rows = l.gates * l.hidden, steps = l.time * l.batch;
  const auto functions = gate_functions(p.op.attrs, lstm ? "Sigmoid,Tanh,Tanh" : gru ? "Sigmoid,Tanh" : "Tanh", l.directions);
  if (l.batch * l.hidden == 0) return;
  const size_t gates = p.scratch(static_cast<size_t>(std::max<int64_t>(1, l.directions * steps * rows)) * sizeof(float));
  size_t bias = 0;
  if (p.has(3)) {
    bias = p.scratch(static_cast<size_t>(l.directions * rows) * sizeof(float));
    auto* b = p.emit<BiasArgs>(bias_step);
    b->directions = l.directions;
    b->rows = rows;
    b->added = linear ? 2 * l.hidden : rows;
    p.bind_in(b->from, 3);
    p.bind_scratch(b->to, bias);
  }
  const auto& k = kernels();
  Packed r[kMostDirections][2];
  for (int64_t d = 0; d < l.directions; d++) {
    const Packed w = pack(p, 1, d * rows, rows);
    const int64_t whole = gru && !linear ? 2 * l.hidden : rows;
    r[d][0] = pack(p, 2, d * rows, whole);
    if (whole < rows) r[d][1] = pack(p, 2, d * rows + whole, rows - whole);
    // About 20 multiplications and additions a nanosecond.
    auto* a = emit_ranges<InputProduct>(p, input_range, steps, 0.05 * static_cast<double>(steps * rows) * static_cast<double>(l.inputs));
    a->c_offset = d * steps * rows;
    a->bias_offset = d * rows;
    a->panels = panels_of(rows);
    a->gemm = k.gemm;
    a->g.lda = a->g.k = l.inputs;
    a->g.ldc = a->g.n = rows;
    a->g.m = steps;
    p.bind_in(a->g.a, 0);
    w.bind(p, a->g.b);
    p.bind_scratch(a->g.c, gates);
    if (p.has(3)) p.bind_scratch(a->g.e.bias, bias);
  }
  const int64_t cells = l.directions * l.batch;
  auto state = [&](int64_t width) { return p.scratch(static_cast<size_t>(cells * width) * sizeof(float)); };
  const size_t h = state(l.hidden), product = state(rows), c = lstm ? state(l.hidden) : 0, z = gru ? state(l.hidden) : 0, reset = gru ? state(l.hidden) : 0;
  auto* a = p.emit<LoopArgs>(loop_step);
  a->layer = l;
  a->batch_chunks = batch_chunks(p, l);
  a->reversed = direction_of(p.op.attrs) == Direction::reverse;
  a->cell.clip = static_cast<float>(p.op.attrs.getf("clip", INFINITY));
  a->cell.input_forget = p.op.attrs.get("input_forget", 0) != 0;
  for (size_t i = 0; i < functions.size(); i++) a->functions[i / 3][i % 3] = functions[i];
  a->gemm = k.gemm;
  a->first = gru && !linear ? k.gru_gates : nullptr;
  a->last = lstm ? k.lstm_cell : !gru ? k.rnn_cell : linear ? k.gru_linear_cell : k.gru_cell;
  p.bind_scratch(a->gates, gates);
  for (int64_t d = 0; d < l.directions; d++) {
    r[d][0].bind(p, a->r[d][0]);
    if (a->first) r[d][1].bind(p, a->r[d][1]);
  }
  if (p.has(3) && linear) p.bind_in(a->bias, 3);
  if (p.has(4)) p.bind_in(a->lens, 4);
  if (p.has(5)) p.bind_in(a->h0, 5);
  if (p.has(6)) p.bind_in(a->c0, 6);
  if (p.has(7)) p.bind_in(a->peepholes, 7);
  if (p.has_out(0)) p.bind_out(a->y, 0);
  if (p.has_out(1)) p.bind_out(a->y_h, 1);
  if (p.has_out(2)) p.bind_out(a->y_c, 2);
  p.bind_scratch(a->h, h);
  p.bind_scratch(a->product, product);
  if (lstm) p.bind_scratch(a->c, c);
  if (gru) {
    p.bind_scratch(a->z, z);
    p.bind_scratch(a->reset, reset);
  }
}

const OpDef kTable[] = {
    {"RNN", infer_recurrent, plan_recurrent, nullptr},
    {"GRU", infer_recurrent, plan_recurrent, nullptr},
    {"LSTM", infer_recurrent, plan_recurrent, nullptr},
};

}  // namespace

OpFamily recurrent_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
