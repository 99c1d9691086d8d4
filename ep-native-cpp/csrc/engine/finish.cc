// The end of planning: outputs, places in the arena, and where pointers go.
#include <algorithm>
#include <climits>

#include "engine/planner.h"

namespace sx {
namespace {

struct CopyArgs {
  const void* from;
  void* to;
  size_t bytes;
};
void copy_step(const void* args, Runtime&) {
  auto* a = static_cast<const CopyArgs*>(args);
  std::memcpy(a->to, a->from, a->bytes);
}

}  // namespace

void Planner::finish() {
  give_outputs();
  place_arena();
  check_room();
  bind_pointers();
  for (const View& v : in_) plan_->in_shapes.push_back(v.shape);
  for (int i = plan_->begin; i < plan_->end; i++)
    for (ValueId v : d_.ops[i].out) {
      if (v == kAbsent) continue;
      const Shape& s = shape(v);
      plan_->made.push_back(s.rank);
      plan_->made.insert(plan_->made.end(), s.d, s.d + s.rank);
    }
  for (ValueId v : by_value_) {
    const int i = live_index(v);
    const char* bytes = static_cast<const char*>(in_[i].data);
    plan_->in_contents.push_back({i, std::vector<char>(bytes, bytes + in_[i].shape.size() * item_size(d_.values[v].dtype))});
  }
}

void Planner::give_outputs() {
  Plan& p = *plan_;
  // What flows out: values made here (or passed through) that later segments or the caller read.
  std::vector<ValueId> out;
  if (p.end == static_cast<int>(d_.ops.size())) {
    out = d_.outputs;
  } else {
    out = g_.live_at(p.end);
  }
  p.out = out;
  for (size_t j = 0; j < out.size(); j++) {
    p.out_shapes.push_back(shape(out[j]));
    Storage& s = storages_[storage(out[j])];
    if (s.kind == Storage::arena) {
      s.kind = Storage::output;
      s.index = static_cast<uint32_t>(j);
      continue;
    }
    // A view of an input, a constant, or a second name of an output: copied at the end.
    const uint32_t at = static_cast<uint32_t>(round_up(static_cast<int64_t>(p.blocks.size()), 16));
    p.blocks.resize(at + sizeof(CopyArgs));
    CopyArgs args{};
    args.bytes = static_cast<size_t>(storage_size(shape(out[j]), d_.values[out[j]].layout)) * item_size(d_.values[out[j]].dtype);
    std::memcpy(p.blocks.data() + at, &args, sizeof args);
    p.steps.push_back({copy_step, at, -1});
    storage_relocs_.push_back({at + static_cast<uint32_t>(offsetof(CopyArgs, from)), storage_of_[out[j]]});
    p.out_relocs.push_back({at + static_cast<uint32_t>(offsetof(CopyArgs, to)), static_cast<uint32_t>(j)});
  }
}

// Largest first, each into the tightest gap among buffers that live at the same time.
void Planner::place_arena() {
  std::vector<int> order;
  for (size_t i = 0; i < storages_.size(); i++)
    if (storages_[i].kind == Storage::arena && storages_[i].bytes > 0) {
      storages_[i].last = std::max(storages_[i].last, std::min(last_use(storages_[i]), INT_MAX - 1));
      order.push_back(static_cast<int>(i));
    }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return storages_[a].bytes > storages_[b].bytes; });
  std::vector<int> placed;  // by offset
  size_t total = 0;
  for (int i : order) {
    Storage& s = storages_[i];
    const size_t bytes = static_cast<size_t>(round_up(static_cast<int64_t>(s.bytes), kAlign));
    size_t cursor = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (int j : placed) {
      const Storage& o = storages_[j];
      if (o.last < s.first || s.last < o.first) continue;
      if (o.offset > cursor && o.offset - cursor >= bytes && o.offset - cursor < best_gap) {
        best = cursor;
        best_gap = o.offset - cursor;
      }
      cursor = std::max(cursor, o.offset + static_cast<size_t>(round_up(static_cast<int64_t>(o.bytes), kAlign)));
    }
    s.offset = best == SIZE_MAX ? cursor : best;
    total = std::max(total, s.offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, [&](int a, int b) { return storages_[a].offset < storages_[b].offset; }), i);
  }
  plan_->arena_bytes = total;
  if (!order.empty()) plan_->heaviest = storages_[order.front()].first;
}

// What a run takes at once must be free, whatever its single values are: a body that appends to what it was given asks for
// a little more each time.
void Planner::check_room() const {
  constexpr size_t kAlways = size_t{1} << 28;
  const Plan& p = *plan_;
  size_t outputs = 0, most = 0;
  int at = p.heaviest;
  for (const Storage& s : storages_) {
    if (s.kind != Storage::output) continue;
    outputs += s.bytes;
    if (s.bytes > most) at = s.first;
    most = std::max(most, s.bytes);
  }
  if (p.arena_bytes + outputs <= kAlways) return;
  const int64_t free = free_memory();
  if (p.arena_bytes + outputs <= static_cast<size_t>(std::max<int64_t>(free, 0))) return;
  throw failure(p.arena_bytes > outputs ? p.heaviest : at, "this node's output is the largest of values that need " + gibibytes(p.arena_bytes + outputs) +
                                                               " of memory at once, and " + gibibytes(static_cast<size_t>(free)) + " are free");
}

void Planner::bind_pointers() {
  Plan& p = *plan_;
  for (auto& r : storage_relocs_) {
    const Storage& s = storages_[r.second];
    switch (s.kind) {
      case Storage::arena: p.arena_relocs.push_back({r.first, s.offset}); break;
      case Storage::input: p.in_relocs.push_back({r.first, s.index}); break;
      case Storage::output: p.out_relocs.push_back({r.first, s.index}); break;
      case Storage::constant: std::memcpy(p.blocks.data() + r.first, &s.data, sizeof(void*)); break;
    }
  }
  for (auto& r : next_relocs_) {
    const void* next = nullptr;
    for (auto& w : packed_at_)
      if (w.first > r.second) {
        next = w.second;
        break;
      }
    std::memcpy(p.blocks.data() + r.first, &next, sizeof next);
  }
}

}  // namespace sx
