// If, Loop and Scan over programs of their bodies.
//
// Inputs: the node's own, then what each body captures; attribute `own_inputs` says how many are the node's, `captures`
// how many each body has. A body's program takes the body's inputs, then its captures.
#include <algorithm>
#include <climits>

#include "engine/planner.h"
#include "ops/axes.h"
#include "ops/table.h"

namespace sx {
namespace {

// A tensor that lives outside or in a buffer.
struct Held {
  View view;
  DType dtype = DType::f32;
  std::shared_ptr<Buffer> buffer;
};

Held hold(const Seen& s) { return {{s.data, s.shape}, s.dtype, nullptr}; }
Held hold(const Made& m) { return {{m.data->data, m.shape}, m.dtype, m.data}; }

size_t bytes_of(const Shape& s, DType t) { return static_cast<size_t>(s.size()) * item_size(t); }

Made make(const Shape& shape, DType t) { return {shape, t, std::make_shared<Buffer>(bytes_of(shape, t))}; }

Made give(const Held& h) {
  if (h.buffer) return {h.view.shape, h.dtype, h.buffer};
  Made m = make(h.view.shape, h.dtype);
  copy_into(m.data, h.view.data, bytes_of(m.shape, m.dtype));
  return m;
}

bool truth(const Shape& shape, const void* data) {
  if (shape.size() != 1) throw OpError("its condition must have one element, it has shape " + shape.str());
  return *static_cast<const bool*>(data);
}

std::vector<View> captured(const Op& op, const std::vector<Seen>& in, size_t body) {
  const auto counts = op.attrs.list("captures");
  size_t at = static_cast<size_t>(op.attrs.get("own_inputs", 0));
  for (size_t i = 0; i < body; i++) at += static_cast<size_t>(counts[i]);
  std::vector<View> views;
  for (int64_t i = 0; i < counts[body]; i++, at++) views.push_back({in[at].data, in[at].shape});
  return views;
}

std::vector<Made> run_if(const Op& op, const std::vector<Seen>& in, Runtime& rt) {
  const size_t branch = truth(in.at(0).shape, in[0].data) ? 0 : 1;
  return op.bodies.at(branch)->run(captured(op, in, branch).data(), rt.cancel);
}

// The slices of all iterations along a new axis; without iterations an empty tensor of the declared type.
Made stack(const Op& op, size_t which, const std::vector<Made>& slices, int64_t axis, bool reversed) {
  Shape one;
  DType dtype = static_cast<DType>(op.attrs.get("dtype_" + std::to_string(which), 0));
  if (slices.empty()) {
    for (int64_t d : op.attrs.list("dims_" + std::to_string(which))) one.push(d);
  } else {
    one = slices[0].shape;
    dtype = slices[0].dtype;
    for (const Made& m : slices)
      if (m.shape != one) throw OpError("its iterations give scan outputs of different shapes: " + one.str() + " and " + m.shape.str());
  }
  const int at = normal_axis(axis, one.rank + 1);
  Shape all;
  for (int i = 0; i < at; i++) all.push(one[i]);
  all.push(static_cast<int64_t>(slices.size()));
  for (int i = at; i < one.rank; i++) all.push(one[i]);
  Made m = make(all, dtype);
  const size_t outer = static_cast<size_t>(one.size(0, at)), run = static_cast<size_t>(one.size(at, one.rank)) * item_size(dtype), n = slices.size();
  for (size_t k = 0; k < n; k++)
    for (size_t o = 0; o < outer; o++)
      std::memcpy(static_cast<char*>(m.data->data) + (o * n + (reversed ? n - 1 - k : k)) * run, static_cast<const char*>(slices[k].data->data) + o * run, run);
  return m;
}

// Iterations of a Loop's or Scan's body: the states they hand on, and the slices they give.
struct Iterations {
  std::vector<Held> states;
  std::vector<std::vector<Made>> slices;

  // Takes the results of an iteration from number `first` on.
  void take(const std::vector<Made>& results, size_t first) {
    for (size_t i = 0; i < states.size(); i++) states[i] = hold(results.at(first + i));
    for (size_t k = 0; k < slices.size(); k++) {
      slices[k].push_back(results.at(first + states.size() + k));
      bytes_ += slices[k].back().data->bytes;
    }
    if (bytes_ > checked_ + kAlways) check_room();
  }

 private:
  static constexpr size_t kAlways = size_t{1} << 28;
  size_t bytes_ = 0, checked_ = 0;  // of slices, and when free memory was last looked at

  void check_room() {
    checked_ = bytes_;
    const int64_t free = free_memory();
    if (free < 0 || bytes_ > static_cast<size_t>(free))
      throw OpError("the scan outputs of " + std::to_string(slices[0].size()) + " iterations take " + gibibytes(bytes_) + ", as much again is needed to join them, and " +
                    gibibytes(static_cast<size_t>(std::max<int64_t>(free, 0))) + " are free");
  }
};

std::vector<Made> run_loop(const Op& op, const std::vector<Seen>& in, Runtime& rt) {
  Iterations it;
  const size_t own = static_cast<size_t>(op.attrs.get("own_inputs", 0));
  for (size_t i = 2; i < own; i++) it.states.push_back(hold(in[i]));
  it.slices.resize(static_cast<size_t>(op.attrs.get("stacked", 0)));
  int64_t limit = INT64_MAX;
  if (own > 0 && in[0].data) {
    if (in[0].shape.size() != 1) throw OpError("its trip count must have one element, it has shape " + in[0].shape.str());
    limit = *static_cast<const int64_t*>(in[0].data);
  }
  bool go = own < 2 || !in[1].data || truth(in[1].shape, in[1].data);
  const auto captures = captured(op, in, 0);
  Held condition{{&go, Shape()}, DType::boolean, nullptr};
  std::vector<View> views;
  for (int64_t i = 0; i < limit && go; i++) {
    views.assign({View{&i, Shape()}, condition.view});
    for (const Held& s : it.states) views.push_back(s.view);
    views.insert(views.end(), captures.begin(), captures.end());
    const auto results = op.bodies[0]->run(views.data(), rt.cancel);
    it.take(results, 1);
    condition = hold(results[0]);
    go = truth(condition.view.shape, condition.view.data);
  }
  std::vector<Made> out;
  for (const Held& s : it.states) out.push_back(give(s));
  for (size_t k = 0; k < it.slices.size(); k++) out.push_back(stack(op, k, it.slices[k], 0, false));
  return out;
}

// A scan input with the axis that is scanned in front.
Held axis_first(const Seen& x, int64_t axis) {
  const int at = normal_axis(axis, x.shape.rank);
  if (at == 0) return hold(x);
  Shape s;
  s.push(x.shape[at]);
  for (int i = 0; i < x.shape.rank; i++)
    if (i != at) s.push(x.shape[i]);
  Made m = make(s, x.dtype);
  const size_t outer = static_cast<size_t>(x.shape.size(0, at)), n = static_cast<size_t>(x.shape[at]), run = static_cast<size_t>(x.shape.size(at + 1, x.shape.rank)) * item_size(x.dtype);
  for (size_t o = 0; o < outer; o++)
    for (size_t i = 0; i < n; i++) std::memcpy(static_cast<char*>(m.data->data) + (i * outer + o) * run, static_cast<const char*>(x.data) + (o * n + i) * run, run);
  return hold(m);
}

std::vector<Made> run_scan(const Op& op, const std::vector<Seen>& in, Runtime& rt) {
  const size_t own = static_cast<size_t>(op.attrs.get("own_inputs", 0)), scans = static_cast<size_t>(op.attrs.get("num_scan_inputs", 0)), stacked = static_cast<size_t>(op.attrs.get("stacked", 0));
  if (scans > own) throw OpError("num_scan_inputs exceeds the number of inputs");
  auto numbers = [&](const char* name, size_t n) {
    auto list = op.attrs.list(name);
    if (list.empty()) list.assign(n, 0);
    if (list.size() != n) throw OpError(std::string(name) + " has " + std::to_string(list.size()) + " values instead of " + std::to_string(n));
    return list;
  };
  const auto in_axes = numbers("scan_input_axes", scans), in_back = numbers("scan_input_directions", scans);
  const auto out_axes = numbers("scan_output_axes", stacked), out_back = numbers("scan_output_directions", stacked);
  Iterations it;
  it.slices.resize(stacked);
  for (size_t i = 0; i < own - scans; i++) it.states.push_back(hold(in[i]));
  std::vector<Held> sequences;
  for (size_t i = 0; i < scans; i++) sequences.push_back(axis_first(in[own - scans + i], in_axes[i]));
  const int64_t steps = sequences.empty() ? 0 : sequences[0].view.shape[0];
  const auto captures = captured(op, in, 0);
  std::vector<View> views;
  for (int64_t t = 0; t < steps; t++) {
    views.clear();
    for (const Held& s : it.states) views.push_back(s.view);
    for (size_t i = 0; i < scans; i++) {
      const Shape& s = sequences[i].view.shape;
      if (s[0] != steps) throw OpError("its scan inputs have different lengths: " + std::to_string(steps) + " and " + std::to_string(s[0]));
      Shape one;
      for (int k = 1; k < s.rank; k++) one.push(s[k]);
      views.push_back({static_cast<const char*>(sequences[i].view.data) + static_cast<size_t>(in_back[i] ? steps - 1 - t : t) * bytes_of(one, sequences[i].dtype), one});
    }
    views.insert(views.end(), captures.begin(), captures.end());
    it.take(op.bodies[0]->run(views.data(), rt.cancel), 0);
  }
  std::vector<Made> out;
  for (const Held& s : it.states) out.push_back(give(s));
  for (size_t k = 0; k < stacked; k++) out.push_back(stack(op, k, it.slices[k], out_axes[k], out_back[k] != 0));
  return out;
}

const OpDef kTable[] = {
    {"If", nullptr, nullptr, run_if},
    {"Loop", nullptr, nullptr, run_loop},
    {"Scan", nullptr, nullptr, run_scan},
};

}  // namespace

OpFamily control_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
