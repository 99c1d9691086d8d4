// DFT and STFT, computed in double.
#include <algorithm>

#include "ops/axes.h"
#include "ops/fourier.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

// A set of signals to transform: signal (o, i) has `length` points from element o * outer_step + i * inner_step on,
// `step` elements apart, with `parts` numbers each; so the output, with `bins`.
struct SignalArgs {
  const char* in;
  const char* window;  // may be null
  char* out;
  double* scratch;
  Fourier f;
  int64_t outer, inner, length, parts, bins, out_parts;
  int64_t in_outer, in_inner, in_step, out_outer, out_inner, out_step;
  int64_t chunks;
  int32_t inverse, from_half;  // from_half: the bins of a real signal, to be completed by their conjugates
};

// Reads a signal into pairs; beyond its length zeros.
template <typename T>
void read_signal(const SignalArgs& a, const T* in, double* to) {
  auto* window = reinterpret_cast<const T*>(a.window);
  const int64_t n = a.f.n, given = std::min(a.length, a.from_half ? n / 2 + 1 : n);
  // An inverse transform is the conjugate of the transform of the conjugate, over n.
  const double sign = a.inverse ? -1 : 1;
  for (int64_t k = 0; k < given; k++) {
    const double w = window ? static_cast<double>(static_cast<Wide<T>>(window[k])) : 1;
    to[2 * k] = w * static_cast<double>(static_cast<Wide<T>>(in[k * a.in_step]));
    to[2 * k + 1] = a.parts == 2 ? sign * w * static_cast<double>(static_cast<Wide<T>>(in[k * a.in_step + 1])) : 0;
  }
  for (int64_t k = given; k < n; k++) to[2 * k] = to[2 * k + 1] = 0;
  if (!a.from_half) return;
  to[1] = 0;
  if (n % 2 == 0) to[n + 1] = 0;
  for (int64_t k = n / 2 + 1; k < n; k++) {
    to[2 * k] = to[2 * (n - k)];
    to[2 * k + 1] = -to[2 * (n - k) + 1];
  }
}

template <typename T>
void write_signal(const SignalArgs& a, const double* from, T* out) {
  using W = Wide<T>;
  const double scale = a.inverse ? 1.0 / static_cast<double>(a.f.n) : 1, sign = a.inverse ? -scale : scale;
  for (int64_t k = 0; k < a.bins; k++) {
    out[k * a.out_step] = static_cast<T>(static_cast<W>(scale * from[2 * k]));
    if (a.out_parts == 2) out[k * a.out_step + 1] = static_cast<T>(static_cast<W>(sign * from[2 * k + 1]));
  }
}

template <typename T>
void signal_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const SignalArgs*>(args);
  const int64_t signals = a.outer * a.inner;
  auto part = [&](int64_t chunk) {
    double* room = a.scratch + chunk * a.f.room();
    for (int64_t s = signals * chunk / a.chunks; s < signals * (chunk + 1) / a.chunks; s++) {
      const int64_t o = s / a.inner, i = s % a.inner;
      read_signal(a, reinterpret_cast<const T*>(a.in) + o * a.in_outer + i * a.in_inner, room);
      write_signal(a, transform(a.f, room), reinterpret_cast<T*>(a.out) + o * a.out_outer + i * a.out_inner);
    }
  };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

SignalArgs* emit_signals(PlanCtx& p, int64_t n, int64_t signals) {
  const Fourier f = fourier_of(n);
  // About 3 ns per point and pass.
  const int64_t chunks = p.threads() == 1 || signals * f.fft.n < 4096 ? 1 : std::min<int64_t>(signals, 4 * p.threads());
  const size_t scratch = p.scratch(static_cast<size_t>(chunks * f.room()) * sizeof(double));
  auto* a = p.emit<SignalArgs>(with_real(p.dtype(0), [](auto t) -> StepFn { return signal_step<decltype(t)>; }));
  a->f = f;
  a->chunks = chunks;
  bind_fourier(p, &a->f);
  p.bind_scratch(a->scratch, scratch);
  p.bind_in(a->in, 0);
  p.bind_out(a->out, 0);
  return a;
}

// DFT: the axis and the length of the transform.
struct DftShape {
  int axis;
  int64_t length, bins, parts;
};

template <typename Context>
DftShape dft_shape(Context& c) {
  const Shape& in = c.shape(0);
  if (in.rank < 2 || in[in.rank - 1] < 1 || in[in.rank - 1] > 2) throw OpError("DFT takes [..., 1] or [..., 2], got shape " + in.str());
  const int64_t axis = c.has(2) ? scalar(c, 2, "axis") : -2;
  if (!((axis >= -in.rank && axis <= -2) || (axis >= 0 && axis <= in.rank - 2))) throw OpError("axis " + std::to_string(axis) + " of DFT is outside the signal axes of " + in.str());
  const bool inverse = c.op.attrs.get("inverse", 0) != 0, onesided = c.op.attrs.get("onesided", 0) != 0;
  DftShape s;
  s.axis = normal_axis(axis, in.rank);
  s.length = c.has(1) ? scalar(c, 1, "dft_length") : inverse && onesided ? 2 * (in[s.axis] - 1) : in[s.axis];
  if (s.length < 1) throw OpError("DFT of length " + std::to_string(s.length) + ": dft_length must be at least 1");
  if (onesided && !inverse && in[in.rank - 1] == 2) throw OpError("DFT of a complex input has no one-sided result: set onesided to 0");
  s.bins = onesided && !inverse ? s.length / 2 + 1 : s.length;
  s.parts = onesided && inverse ? 1 : 2;
  return s;
}

void infer_dft(InferCtx& c) {
  const DftShape s = dft_shape(c);
  Shape out = c.shape(0);
  out[s.axis] = s.bins;
  out[out.rank - 1] = s.parts;
  c.output(0, out);
}

void plan_dft(PlanCtx& p) {
  const Shape &in = p.shape(0), &out = p.out_shape(0);
  if (out.size() == 0) return;
  const DftShape s = dft_shape(p);
  const int64_t outer = in.size(0, s.axis), inner = in.size(s.axis + 1, in.rank - 1);
  auto* a = emit_signals(p, s.length, outer * inner);
  a->outer = outer;
  a->inner = inner;
  a->length = in[s.axis];
  a->parts = in[in.rank - 1];
  a->bins = s.bins;
  a->out_parts = s.parts;
  a->in_inner = a->parts;
  a->in_step = inner * a->parts;
  a->in_outer = in[s.axis] * a->in_step;
  a->out_inner = s.parts;
  a->out_step = inner * s.parts;
  a->out_outer = s.bins * a->out_step;
  a->inverse = p.op.attrs.get("inverse", 0) != 0;
  a->from_half = s.parts == 1;
}

// STFT: transforms of frames of the signal [N, L, 1 or 2], `frame_step` apart.
struct Frames {
  int64_t step, length, count, bins;
};

template <typename Context>
Frames frames_of(Context& c) {
  const Shape& in = c.shape(0);
  if (in.rank != 3 || in[2] < 1 || in[2] > 2) throw OpError("STFT takes a signal [N, L, 1] or [N, L, 2], got shape " + in.str());
  Frames f;
  f.step = scalar(c, 1, "frame_step");
  f.length = c.has(3) ? scalar(c, 3, "frame_length") : c.has(2) ? c.shape(2).size() : in[1];
  if (f.step < 1 || f.length < 1 || f.length > in[1] || (c.has(2) && (c.shape(2).rank != 1 || c.shape(2)[0] != f.length)))
    throw OpError("STFT cannot take frames of " + std::to_string(f.length) + " every " + std::to_string(f.step) + " from the signal " + in.str());
  const bool onesided = c.op.attrs.get("onesided", 1) != 0;
  if (onesided && in[2] == 2) throw OpError("STFT of a complex signal has no one-sided result: set onesided to 0");
  f.count = (in[1] - f.length) / f.step + 1;
  f.bins = onesided ? f.length / 2 + 1 : f.length;
  return f;
}

void infer_stft(InferCtx& c) {
  const Frames f = frames_of(c);
  Shape out;
  out.push(c.shape(0)[0]);
  out.push(f.count);
  out.push(f.bins);
  out.push(2);
  c.output(0, out);
}

void plan_stft(PlanCtx& p) {
  const Shape& in = p.shape(0);
  if (p.out_shape(0).size() == 0) return;
  const Frames f = frames_of(p);
  auto* a = emit_signals(p, f.length, in[0] * f.count);
  a->outer = in[0];
  a->inner = f.count;
  a->length = f.length;
  a->parts = in[2];
  a->bins = f.bins;
  a->out_parts = 2;
  a->in_step = in[2];
  a->in_inner = f.step * in[2];
  a->in_outer = in[1] * in[2];
  a->out_step = 2;
  a->out_inner = 2 * f.bins;
  a->out_outer = f.count * a->out_inner;
  if (p.has(2)) p.bind_in(a->window, 2);
}

const OpDef kTable[] = {
    {"DFT", infer_dft, plan_dft, nullptr},
    {"STFT", infer_stft, plan_stft, nullptr},
};

}  // namespace

OpFamily spectral_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
