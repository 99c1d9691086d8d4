// One step of RNN, GRU and LSTM: the gates' activations and the new state, in one pass over a row.
#include "kernels/rows/activation.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

// The less frequent functions in one place, out of the loops.
__attribute__((noinline)) vf gate_other(const GateFn& f, vf x) {
  switch (f.kind) {
    case Gate::relu: return vmax_keep(x, vf{});
    case Gate::affine: return x * f.alpha + f.beta;
    case Gate::leaky_relu: return select(x < 0.0f, x * f.alpha, x);
    case Gate::thresholded_relu: return keep_if(x >= f.alpha, x);
    case Gate::scaled_tanh: return f.alpha * vtanh(x * f.beta);
    case Gate::hard_sigmoid: return vclip(x * f.alpha + f.beta, 0.0f, 1.0f);
    case Gate::elu: return select(x < 0.0f, f.alpha * vexpm1_negative(x), x);
    case Gate::softsign: return x / (1.0f + vabs(x));
    case Gate::softplus: return vsoftplus(x);
    default: return x;
  }
}

inline vf gate(const GateFn& f, vf x) {
  if (f.kind == Gate::sigmoid) return vsigmoid(x);
  if (f.kind == Gate::tanh) return vtanh(x);
  return gate_other(f, x);
}

// The functions and the clipping of a cell as it is described, and as it is by default.
struct Any {
  const Cell& cell;
  vf clip(vf x) const { return vclip(x, -cell.clip, cell.clip); }
  vf f(vf x) const { return gate(cell.f, clip(x)); }
  vf g(vf x) const { return gate(cell.g, clip(x)); }
  vf out(vf x) const { return gate(cell.out, x); }
};
struct Usual {
  static vf f(vf x) { return vsigmoid(x); }
  static vf g(vf x) { return vtanh(x); }
};

bool is_usual(const Cell& c) { return c.f.kind == Gate::sigmoid && c.g.kind == Gate::tanh && c.out.kind == Gate::tanh && c.clip == kInf; }

// body(i, load, store) for every vector of n numbers; load and store do the last, partial one's lanes only.
template <typename F>
inline __attribute__((always_inline)) void each(int64_t n, F&& body) {
  int64_t i = 0;
  for (; i + W <= n; i += W) body(i, [](const float* p) { return load(p); }, [](float* p, vf v) { store(p, v); });
  if (const int part = static_cast<int>(n - i)) body(i, [part](const float* p) { return load_part(p, part); }, [part](float* p, vf v) { store_part(p, v, part); });
}

template <typename Put>
inline void put_state(const Cell& c, int64_t i, vf h, Put put) {
  put(c.h + i, h);
  if (c.y) put(c.y + i, h);
}

template <typename Functions>
void lstm(const Cell& c, const Functions& fn) {
  const int64_t n = c.n;
  each(n, [&](int64_t i, auto get, auto put) {
    const vf old = get(c.c + i);
    vf in = get(c.x + i) + get(c.r + i), forget = get(c.x + 2 * n + i) + get(c.r + 2 * n + i), out = get(c.x + n + i) + get(c.r + n + i);
    if (c.peepholes) {
      in += get(c.peepholes + i) * old;
      forget += get(c.peepholes + 2 * n + i) * old;
    }
    in = fn.f(in);
    forget = c.input_forget ? 1.0f - in : fn.f(forget);
    const vf now = forget * old + in * fn.g(get(c.x + 3 * n + i) + get(c.r + 3 * n + i));
    if (c.peepholes) out += get(c.peepholes + n + i) * now;
    put(c.c + i, now);
    put_state(c, i, fn.f(out) * fn.out(now), put);
  });
}

constexpr int64_t kRun = 128;  // units at a time where gates wait in the first-level cache

// to = f(x + r) of some units of a gate: of one function at a time the constants stay in registers.
template <typename F>
inline void one_gate(const Cell& c, int64_t first, int64_t count, float* to, F&& f) {
  const float *x = c.x + first, *r = c.r + first;
  each(count, [&](int64_t i, auto get, auto put) { put(to + i, f(get(x + i) + get(r + i))); });
}

void usual_lstm(const Cell& c) {
  alignas(64) float gates[4][kRun];
  for (int64_t first = 0; first < c.n; first += kRun) {
    const int64_t count = c.n - first < kRun ? c.n - first : kRun;
    for (int gate = 0; gate < 3; gate++) one_gate(c, gate * c.n + first, count, gates[gate], [](vf x) { return vsigmoid(x); });
    one_gate(c, 3 * c.n + first, count, gates[3], [](vf x) { return vtanh(x); });
    float* cell = c.c + first;
    each(count, [&](int64_t i, auto get, auto put) {
      const vf now = get(gates[2] + i) * get(cell + i) + get(gates[0] + i) * get(gates[3] + i);
      put(cell + i, now);
      put_state(c, first + i, get(gates[1] + i) * vtanh(now), put);
    });
  }
}

template <typename Functions>
void gru_last(const Cell& c, const Functions& fn) {
  const float *x = c.x + 2 * c.n, *r = c.r + 2 * c.n;
  each(c.n, [&](int64_t i, auto get, auto put) {
    const vf h = get(c.h + i), fresh = fn.g(get(x + i) + get(r + i));
    put_state(c, i, (h - fresh) * get(c.z + i) + fresh, put);
  });
}

template <typename Functions>
void gru_first(const Cell& c, const Functions& fn) {
  const int64_t n = c.n;
  each(n, [&](int64_t i, auto get, auto put) {
    put(c.z + i, fn.f(get(c.x + i) + get(c.r + i)));
    put(c.reset + i, fn.f(get(c.x + n + i) + get(c.r + n + i)) * get(c.h + i));
  });
}

template <typename Functions>
void gru_linear(const Cell& c, const Functions& fn) {
  const int64_t n = c.n;
  alignas(64) float gates[2][kRun];
  for (int64_t first = 0; first < n; first += kRun) {
    const int64_t count = n - first < kRun ? n - first : kRun;
    for (int gate = 0; gate < 2; gate++) one_gate(c, gate * n + first, count, gates[gate], [&](vf x) { return fn.f(x); });
    const float *x = c.x + 2 * n + first, *r = c.r + 2 * n + first, *bias = c.bias ? c.bias + first : nullptr;
    each(count, [&](int64_t i, auto get, auto put) {
      const vf h = get(c.h + first + i);
      vf state = get(r + i);
      if (bias) state += get(bias + i);
      const vf fresh = fn.g(get(x + i) + get(gates[1] + i) * state);
      put_state(c, first + i, (h - fresh) * get(gates[0] + i) + fresh, put);
    });
  }
}

}  // namespace

void rnn_cell(const Cell& c) {
  each(c.n, [&](int64_t i, auto get, auto put) { put_state(c, i, Any{c}.f(get(c.x + i) + get(c.r + i)), put); });
}

void lstm_cell(const Cell& c) {
  if (is_usual(c) && !c.peepholes && !c.input_forget)
    usual_lstm(c);
  else
    lstm(c, Any{c});
}

void gru_gates(const Cell& c) { is_usual(c) ? gru_first(c, Usual{}) : gru_first(c, Any{c}); }
void gru_cell(const Cell& c) { is_usual(c) ? gru_last(c, Usual{}) : gru_last(c, Any{c}); }
void gru_linear_cell(const Cell& c) { is_usual(c) ? gru_linear(c, Usual{}) : gru_linear(c, Any{c}); }

}  // namespace SX_ISA
}  // namespace sx
