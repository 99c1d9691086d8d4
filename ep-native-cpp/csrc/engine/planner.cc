// Planning a segment: shapes, contents of small integer tensors, storage, steps, and the arena.
#include <sys/mman.h>

#include <algorithm>
#include <climits>
#include <set>

#include "engine/program.h"

namespace sx {

namespace {

constexpr int64_t kSmall = 1024;

// Whether a constant's bytes can be used where they lie.
bool is_aligned(const Value& v) { return v.data && reinterpret_cast<uintptr_t>(v.data) % item_size(v.dtype) == 0; }

size_t bytes_of(const Value& v) { return static_cast<size_t>(v.shape.size()) * item_size(v.dtype); }

// Give the pages back that a mapped constant's bytes fill.
void forget(const Value& v) {
  if (!v.mapped) return;
  constexpr uintptr_t page = 4096;
  const uintptr_t from = (reinterpret_cast<uintptr_t>(v.data) + page - 1) / page * page, to = (reinterpret_cast<uintptr_t>(v.data) + bytes_of(v)) / page * page;
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

// A constant's bytes for a while, aligned.
class Reading {
 public:
  explicit Reading(const Value& v) : data(v.data) {
    if (v.read) {
      keep_ = v.read(&data);
    } else if (!is_aligned(v)) {
      data = (copy_ = copy_of(v.data, bytes_of(v), returned_buffer(bytes_of(v))))->data;
      forget(v);
    }
  }
  const void* data;

  static std::shared_ptr<Buffer> copy_of(const void* data, size_t bytes, std::shared_ptr<Buffer> buffer) {
    std::memcpy(buffer->data, data, bytes);
    return buffer;
  }

 private:
  std::shared_ptr<const void> keep_;
  std::shared_ptr<Buffer> copy_;
};

struct CutHere {};  // the segment ends before the current op

std::vector<int64_t> read_ints(const void* p, DType t, int64_t n) {
  std::vector<int64_t> out(n);
  for (int64_t i = 0; i < n; i++) switch (t) {
      case DType::i64: out[i] = static_cast<const int64_t*>(p)[i]; break;
      case DType::i32: out[i] = static_cast<const int32_t*>(p)[i]; break;
      case DType::i16: out[i] = static_cast<const int16_t*>(p)[i]; break;
      case DType::i8: out[i] = static_cast<const int8_t*>(p)[i]; break;
      case DType::u64: out[i] = static_cast<int64_t>(static_cast<const uint64_t*>(p)[i]); break;
      case DType::u32: out[i] = static_cast<const uint32_t*>(p)[i]; break;
      case DType::u16: out[i] = static_cast<const uint16_t*>(p)[i]; break;
      case DType::u8:
      case DType::boolean: out[i] = static_cast<const uint8_t*>(p)[i]; break;
      default: throw OpError("an integer tensor was expected");
    }
  return out;
}

std::vector<double> read_numbers(const void* p, DType t, int64_t n) {
  std::vector<double> out(n);
  if (t == DType::f32) {
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<const float*>(p)[i];
  } else if (t == DType::f64) {
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<const double*>(p)[i];
  } else if (t == DType::bf16) {
    for (int64_t i = 0; i < n; i++) {
      uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(p)[i]) << 16;
      float f;
      std::memcpy(&f, &bits, 4);
      out[i] = f;
    }
  } else if (t == DType::f16) {
    for (int64_t i = 0; i < n; i++) {
      const uint16_t h = static_cast<const uint16_t*>(p)[i];
      const int exponent = (h >> 10) & 31, mantissa = h & 1023;
      double v = exponent == 0 ? mantissa * 0x1p-24 : exponent == 31 ? (mantissa ? __builtin_nan("") : __builtin_inf()) : (1024 + mantissa) * __builtin_ldexp(1.0, exponent - 25);
      out[i] = h >> 15 ? -v : v;
    }
  } else {
    auto ints = read_ints(p, t, n);
    std::copy(ints.begin(), ints.end(), out.begin());
  }
  return out;
}

struct Storage {
  enum Kind { arena, constant, input, output } kind = arena;
  size_t bytes = 0;
  int first = 0, last = 0;
  uint32_t index = 0;           // of an input or output
  const void* data = nullptr;   // of a constant
  size_t offset = 0;            // in the arena
  std::vector<ValueId> values;  // that live in it
};

}  // namespace

class Planner {
 public:
  Planner(Program& program, int begin, const std::vector<View>& in)
      : g_(program), d_(program.d_), plan_(std::make_shared<Plan>()), live_(program.live_at(begin)), in_(in) {
    plan_->begin = begin;
    plan_->in = live_;
  }

  std::shared_ptr<Plan> build() {
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
      } catch (OpError& e) {
        throw OpError(d_.ops[i].name + "\n" + e.what());
      }
      if (by_value_.size() != wanted) continue;
      plan_->end = i;
      if (i == plan_->begin && i < static_cast<int>(d_.ops.size()) && !d_.ops[i].def->dynamic)
        throw OpError(d_.ops[i].name + "\nits shape depends on a value that is not known before the run");
      finish();
      return plan_;
    }
    throw OpError("the shapes of this program cannot be planned");
  }

  // Lookup for the contexts below.
  Program& g_;
  const Description& d_;
  std::shared_ptr<Plan> plan_;
  std::vector<ValueId> live_;
  const std::vector<View>& in_;
  std::set<ValueId> by_value_;
  std::unordered_map<ValueId, Shape> shapes_;
  std::unordered_map<ValueId, std::shared_ptr<Buffer>> known_;
  std::unordered_map<ValueId, int> storage_of_;
  std::vector<Storage> storages_;
  std::vector<std::pair<uint32_t, int>> storage_relocs_;  // block offset, storage
  std::vector<std::pair<uint32_t, int>> next_relocs_;     // block offset, step
  std::vector<std::pair<int, const void*>> packed_at_;    // step, packed weights it reads
  std::vector<std::shared_ptr<Buffer>> kept_;             // what earlier tries packed
  int now_ = 0;

  int live_index(ValueId v) const {
    auto it = std::find(live_.begin(), live_.end(), v);
    return it == live_.end() ? -1 : static_cast<int>(it - live_.begin());
  }

  const Shape& shape(ValueId v) const {
    if (d_.values[v].constant) return d_.values[v].shape;
    auto it = shapes_.find(v);
    if (it == shapes_.end()) throw OpError("the shape of '" + d_.values[v].name + "' is not known");
    return it->second;
  }

  // The bytes of a value known while planning, or null.
  const void* contents(ValueId v) {
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

  // As contents(), for an op that cannot be planned without: asks for values on the way to be made known, or cuts.
  const void* require(ValueId v) {
    if (const void* p = contents(v)) return p;
    std::set<ValueId> roots;
    if (!foldable(v, roots)) throw CutHere{};
    by_value_.insert(roots.begin(), roots.end());
    throw CutHere{};
  }

  // Whether v follows from small live-in values alone; adds those to `roots`.
  bool foldable(ValueId v, std::set<ValueId>& roots) {
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
  std::unordered_map<ValueId, int> producer_;
  bool folding_ = false;

  // The data of a constant, by an aligned copy if need be.
  const void* aligned(ValueId v) {
    const Value& value = d_.values[v];
    if (is_aligned(value)) return value.data;
    auto& copy = aligned_[v];
    if (!copy) {
      const void* from = value.data;
      copy = stored(value.identity, "aligned", [&] {
        const std::shared_ptr<const void> keep = value.read ? value.read(&from) : nullptr;
        return Reading::copy_of(from, bytes_of(value), lasting_buffer(bytes_of(value)));
      });
      forget(value);
    }
    plan_->packed.push_back(copy);
    return copy->data;
  }
  std::unordered_map<ValueId, std::shared_ptr<Buffer>> aligned_;

  int storage(ValueId v) {
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

  int last_use(const Storage& s) const {
    int last = s.first;
    for (ValueId v : s.values) last = std::max(last, g_.last_use_[v]);
    return last;
  }

 private:
  void reset() {
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

  void one(int i, const Op& op);
  bool fold(const Op& op);
  void finish();
};

namespace {

class Infer : public InferCtx {
 public:
  Infer(Planner& p, const Op& op) : InferCtx(op), p_(p) {}
  const Shape& shape(size_t i) const override { return p_.shape(at(i)); }
  DType dtype(size_t i) const override { return p_.d_.values[at(i)].dtype; }
  std::vector<int64_t> ints(size_t i) override { return read_ints(p_.require(at(i)), dtype(i), checked(i)); }
  std::vector<double> numbers(size_t i) override { return read_numbers(p_.require(at(i)), dtype(i), checked(i)); }
  void output(size_t i, const Shape& shape) override {
    if (i < op.out.size() && op.out[i] != kAbsent) p_.shapes_[op.out[i]] = shape;
  }

 private:
  ValueId at(size_t i) const {
    if (!has(i)) throw OpError("input " + std::to_string(i) + " is missing");
    return op.in[i];
  }
  int64_t checked(size_t i) const {
    const int64_t n = shape(i).size();
    if (n > kSmall) throw OpError("input " + std::to_string(i) + " has " + std::to_string(n) + " elements; shapes and axes have at most 1024");
    return n;
  }
  Planner& p_;
};

class Emit : public PlanCtx {
 public:
  Emit(Planner& p, const Op& op, int index) : PlanCtx(op), p_(p), index_(index) {}
  const Shape& shape(size_t i) const override { return p_.shape(at(i)); }
  const Shape& out_shape(size_t i) const override { return p_.shape(op.out.at(i)); }
  DType dtype(size_t i) const override { return p_.d_.values[at(i)].dtype; }
  DType out_dtype(size_t i) const override { return p_.d_.values[op.out.at(i)].dtype; }
  Layout layout(size_t i) const override { return p_.d_.values[at(i)].layout; }
  Layout out_layout(size_t i) const override { return p_.d_.values[op.out.at(i)].layout; }
  bool is_const(size_t i) const override { return has(i) && p_.d_.values[op.in[i]].constant; }
  const void* const_data(size_t i) const override {
    if (!is_const(i)) throw OpError("input " + std::to_string(i) + " must be a constant");
    return p_.aligned(op.in[i]);
  }
  std::vector<int64_t> ints(size_t i) override { return read_ints(p_.require(at(i)), dtype(i), shape(i).size()); }
  std::vector<double> numbers(size_t i) override { return read_numbers(p_.require(at(i)), dtype(i), shape(i).size()); }
  int threads() const override { return p_.d_.threads; }
  int64_t option(const char* name, int64_t otherwise) const override {
    auto it = p_.d_.options.find(name);
    return it == p_.d_.options.end() ? otherwise : it->second;
  }

  void view(size_t out, size_t in) override {
    const int s = p_.storage(at(in));
    p_.storage_of_[op.out.at(out)] = s;
    p_.storages_[s].values.push_back(op.out[out]);
  }

  bool reuse(size_t out, size_t in) override {
    const ValueId o = op.out.at(out);
    const int s = p_.storage(at(in));
    Storage& storage = p_.storages_[s];
    const Value& value = p_.d_.values[o];
    const size_t bytes = static_cast<size_t>(storage_size(p_.shape(o), value.layout)) * item_size(value.dtype);
    if (storage.kind != Storage::arena || p_.last_use(storage) > index_ || storage.bytes < bytes || p_.storage_of_.count(o)) return false;
    p_.storage_of_[o] = s;
    storage.values.push_back(o);
    return true;
  }

  bool same_storage(size_t a, size_t b) override { return has(a) && has(b) && p_.storage(op.in[a]) == p_.storage(op.in[b]); }

  size_t scratch(size_t bytes) override {
    Storage s;
    s.bytes = bytes;
    s.first = s.last = index_;
    p_.storages_.push_back(std::move(s));
    return p_.storages_.size() - 1;
  }

  std::shared_ptr<Buffer> pack(size_t i, const std::string& key, const std::function<std::shared_ptr<Buffer>(const void*)>& make) override {
    const Value& value = p_.d_.values[at(i)];
    if (!value.constant) throw OpError("input " + std::to_string(i) + " must be a constant");
    auto packed = stored(value.identity, key, [&] { return make(Reading(value).data); });
    forget(value);
    return packed;
  }

 protected:
  void* emit_bytes(StepFn fn, size_t bytes, size_t align) override {
    auto& blocks = p_.plan_->blocks;
    if (blocks.capacity() < blocks.size() + bytes + 64) {
      // Pointers into the block in hand stay good: the caller fills one block before it asks for the next.
      blocks.reserve(std::max(2 * blocks.capacity(), blocks.size() + bytes + 4096));
    }
    block_ = static_cast<size_t>(round_up(static_cast<int64_t>(blocks.size()), static_cast<int64_t>(std::max(align, size_t(16)))));
    blocks.resize(block_ + bytes);
    p_.plan_->steps.push_back({fn, static_cast<uint32_t>(block_), index_});
    return blocks.data() + block_;
  }
  uint32_t offset(void* field) const { return static_cast<uint32_t>(static_cast<char*>(field) - p_.plan_->blocks.data()); }
  void bind_bytes(void* field, Kind kind, size_t index) override {
    const uint32_t at_offset = offset(field);
    if (kind == Kind::next_weights) {
      p_.next_relocs_.push_back({at_offset, static_cast<int>(p_.plan_->steps.size()) - 1});
    } else if (kind == Kind::scratch) {
      p_.storage_relocs_.push_back({at_offset, static_cast<int>(index)});
    } else {
      const ValueId v = kind == Kind::input ? at(index) : op.out.at(index);
      p_.storage_relocs_.push_back({at_offset, p_.storage(v)});
    }
  }
  void bind_buffer(void* field, const std::shared_ptr<Buffer>& buffer) override {
    std::memcpy(field, &buffer->data, sizeof(void*));
    p_.plan_->packed.push_back(buffer);
    p_.packed_at_.push_back({static_cast<int>(p_.plan_->steps.size()) - 1, buffer->data});
  }

 private:
  ValueId at(size_t i) const {
    if (!has(i)) throw OpError("input " + std::to_string(i) + " is missing");
    return op.in[i];
  }
  Planner& p_;
  int32_t index_;
  size_t block_ = 0;
};

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

void Planner::one(int i, const Op& op) {
  now_ = i;
  Infer infer(*this, op);
  op.def->infer(infer);
  for (ValueId v : op.out)
    if (v != kAbsent) producer_[v] = i;
  if (fold(op)) return;
  Emit emit(*this, op, i);
  op.def->plan(emit);
}

// Small values whose inputs are all known are computed now: shapes downstream may come from them.
bool Planner::fold(const Op& op) {
  if (folding_) return false;
  const bool from_shape = std::strcmp(op.def->name, "Shape") == 0 || std::strcmp(op.def->name, "Size") == 0;
  for (ValueId v : op.out)
    if (v != kAbsent && (shape(v).size() > kSmall || d_.values[v].layout != Layout::plain)) return false;
  if (!from_shape)
    for (ValueId v : op.in)
      if (v != kAbsent && (shape(v).size() > kSmall || !contents(v))) return false;
  if (from_shape) {
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
  static Pool pool(1);
  plan->run(nullptr, pointers.data(), pool, program.description(), nullptr, nullptr);
  size_t k = 0;
  for (ValueId v : op.out)
    if (v != kAbsent) known_[v] = made[k++];
  return true;
}

void Planner::finish() {
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
  // The arena: largest first, each into the tightest gap among buffers that live at the same time.
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
  p.arena_bytes = total;
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
  for (const View& v : in_) p.in_shapes.push_back(v.shape);
  for (ValueId v : by_value_) {
    const int i = live_index(v);
    const char* bytes = static_cast<const char*>(in_[i].data);
    p.in_contents.push_back({i, std::vector<char>(bytes, bytes + in_[i].shape.size() * item_size(d_.values[v].dtype))});
  }
}

std::shared_ptr<Plan> make_plan(Program& program, int begin, const std::vector<View>& in) {
  RegionScope scope;
  return Planner(program, begin, in).build();
}

}  // namespace sx
