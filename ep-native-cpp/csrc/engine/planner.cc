#include "engine/planner.h"

#include <algorithm>
#include <new>

#include "engine/reading.h"

namespace sx {

std::shared_ptr<Plan> Planner::build() {
  for (int tries = 0; tries < 64; tries++) {
    reset();
    const size_t wanted = by_value_.size();
    int i = plan_->begin;
    try {
      for (; i < static_cast<int>(d_.ops.size()); i++) {
        const Op& op = d_.ops[i];
        if (op.def->dynamic) break;
        one(i, op);
      }
    } catch (CutHere&) {
    } catch (const NodeFailure&) {
      throw;
    } catch (const OpError& e) {
      throw failure(i, e.what());
    } catch (const std::length_error& e) {
      throw failure(i, e.what());
    } catch (const std::out_of_range&) {
      throw failure(i, "an input or an attribute has too few values");
    } catch (const std::bad_alloc&) {
      throw failure(i, "out of memory: no room for what is made of its constants");
    }
    if (by_value_.size() != wanted) continue;
    plan_->end = i;
    if (i == plan_->begin && i < static_cast<int>(d_.ops.size()) && !d_.ops[i].def->dynamic)
      throw failure(i, "its shape depends on a value that is not known before the run");
    finish();
    return plan_;
  }
  throw OpError("the shapes of this program cannot be planned");
}

std::vector<Shape> Planner::input_shapes(int op) const {
  std::vector<Shape> shapes;
  for (ValueId v : d_.ops[op].in) {
    const auto known = v == kAbsent ? shapes_.end() : shapes_.find(v);
    shapes.push_back(v != kAbsent && d_.values[v].constant ? d_.values[v].shape : known != shapes_.end() ? known->second : absent_shape());
  }
  return shapes;
}

NodeFailure Planner::failure(int op, const std::string& what) const { return {d_.ops[op], what, input_shapes(op)}; }

int Planner::live_index(ValueId v) const {
  auto it = std::find(live_.begin(), live_.end(), v);
  return it == live_.end() ? -1 : static_cast<int>(it - live_.begin());
}

const Shape& Planner::shape(ValueId v) const {
  if (d_.values[v].constant) return d_.values[v].shape;
  auto it = shapes_.find(v);
  if (it == shapes_.end()) throw OpError("the shape of '" + d_.values[v].name + "' is not known");
  return it->second;
}

const void* Planner::contents(ValueId v) {
  if (d_.values[v].constant) return aligned(v);
  auto it = known_.find(v);
  if (it != known_.end()) return it->second->data;
  if (by_value_.count(v)) {
    const void* data = in_[live_index(v)].data;
    if (!data) throw NeedData{};
    return data;
  }
  return nullptr;
}

const void* Planner::require(ValueId v) {
  if (const void* p = contents(v)) return p;
  std::set<ValueId> roots;
  if (!foldable(v, roots)) throw CutHere{};
  by_value_.insert(roots.begin(), roots.end());
  throw CutHere{};
}

bool Planner::foldable(ValueId v, std::set<ValueId>& roots) {
  if (d_.values[v].constant || known_.count(v) || by_value_.count(v)) return true;
  const int index = live_index(v);
  if (index >= 0) {
    if (in_[index].shape.size() > kSmall) return false;
    roots.insert(v);
    return true;
  }
  auto it = producer_.find(v);
  if (it == producer_.end()) return false;
  const Op& op = d_.ops[it->second];
  for (ValueId u : op.in)
    if (u != kAbsent && (shape(u).size() > kSmall || !foldable(u, roots))) return false;
  return true;
}

const void* Planner::aligned(ValueId v) {
  const Value& value = d_.values[v];
  if (is_aligned(value)) return value.data;
  auto& copy = aligned_[v];
  if (!copy) {
    const void* from = value.data;
    copy = stored(value.identity, "aligned", [&] {
      const std::shared_ptr<const void> keep = value.read ? value.read(&from) : nullptr;
      return copy_into(lasting_buffer(bytes_of(value)), from, bytes_of(value));
    });
    forget(value);
  }
  plan_->packed.push_back(copy);
  return copy->data;
}

int Planner::storage(ValueId v) {
  auto it = storage_of_.find(v);
  if (it != storage_of_.end()) return it->second;
  Storage s;
  const Value& value = d_.values[v];
  s.values.push_back(v);
  if (value.constant) {
    s.kind = Storage::constant;
    s.data = aligned(v);
  } else if (known_.count(v)) {
    s.kind = Storage::constant;
    s.data = known_[v]->data;
    plan_->packed.push_back(known_[v]);
  } else if (live_index(v) >= 0) {
    s.kind = Storage::input;
    s.index = static_cast<uint32_t>(live_index(v));
  } else {
    s.bytes = static_cast<size_t>(storage_size(shape(v), value.layout)) * item_size(value.dtype);
    s.first = now_;
  }
  storages_.push_back(std::move(s));
  return storage_of_[v] = static_cast<int>(storages_.size()) - 1;
}

int Planner::last_use(const Storage& s) const {
  int last = s.first;
  for (ValueId v : s.values) last = std::max(last, g_.last_use_[v]);
  return last;
}

void Planner::reset() {
  shapes_.clear();
  known_.clear();
  storage_of_.clear();
  storages_.clear();
  storage_relocs_.clear();
  next_relocs_.clear();
  packed_at_.clear();
  producer_.clear();
  kept_.insert(kept_.end(), plan_->packed.begin(), plan_->packed.end());
  plan_->steps.clear();
  plan_->blocks.clear();
  plan_->packed.clear();
  for (size_t i = 0; i < live_.size(); i++) shapes_[live_[i]] = in_[i].shape;
}

bool Planner::fold(const Op& op) {
  if (folding_) return false;
  const bool from_shape = std::strcmp(op.def->name, "Shape") == 0 || std::strcmp(op.def->name, "Size") == 0;
  for (ValueId v : op.out)
    if (v != kAbsent && (shape(v).size() > kSmall || d_.values[v].layout != Layout::plain)) return false;
  if (!from_shape)
    for (ValueId v : op.in)
      if (v != kAbsent && (shape(v).size() > kSmall || !contents(v))) return false;
  if (from_shape) {
    fold_shape(op);
    return true;
  }
  // Plan the op alone, with its inputs as constants, and run it.
  Description d;
  d.threads = 1;
  Op copy = op;
  copy.in.clear();
  copy.out.clear();
  for (ValueId v : op.in) {
    if (v == kAbsent) {
      copy.in.push_back(kAbsent);
      continue;
    }
    Value value = d_.values[v];
    value.constant = true;
    value.shape = shape(v);
    value.data = contents(v);
    value.read = nullptr;
    value.identity.clear();
    copy.in.push_back(static_cast<ValueId>(d.values.size()));
    d.values.push_back(value);
  }
  std::vector<std::shared_ptr<Buffer>> made;
  std::vector<void*> pointers;
  for (ValueId v : op.out) {
    if (v == kAbsent) {
      copy.out.push_back(kAbsent);
      continue;
    }
    copy.out.push_back(static_cast<ValueId>(d.values.size()));
    d.outputs.push_back(copy.out.back());
    d.values.push_back(d_.values[v]);
    made.push_back(std::make_shared<Buffer>(static_cast<size_t>(shape(v).size()) * item_size(d_.values[v].dtype)));
    pointers.push_back(made.back()->data);
  }
  d.ops.push_back(copy);
  Program program(std::move(d));
  static const std::vector<View> none;
  program.live_[0] = {};
  Planner planner(program, 0, none);
  planner.folding_ = true;
  auto plan = planner.build();
  static Pool pool(1, 0);
  program.execute(*plan, nullptr, pointers.data(), pool, nullptr, nullptr);
  size_t k = 0;
  for (ValueId v : op.out)
    if (v != kAbsent) known_[v] = made[k++];
  return true;
}

void Planner::fold_shape(const Op& op) {
  const Shape& s = shape(op.in[0]);
  auto buffer = std::make_shared<Buffer>(sizeof(int64_t) * kMaxRank);
  int64_t* p = static_cast<int64_t*>(buffer->data);
  if (op.def->name[1] == 'i') {
    p[0] = s.size();
  } else {
    int64_t start = op.attrs.get("start", 0), stop = op.attrs.get("end", s.rank);
    start = std::min<int64_t>(std::max<int64_t>(start < 0 ? start + s.rank : start, 0), s.rank);
    stop = std::min<int64_t>(std::max<int64_t>(stop < 0 ? stop + s.rank : stop, 0), s.rank);
    for (int64_t k = start; k < stop; k++) p[k - start] = s[static_cast<int>(k)];
  }
  known_[op.out[0]] = buffer;
}

std::shared_ptr<Plan> make_plan(Program& program, int begin, const std::vector<View>& in) {
  RegionScope scope;
  return Planner(program, begin, in).build();
}

}  // namespace sx
