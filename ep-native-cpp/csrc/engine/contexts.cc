// What an operator's shape and plan functions see of a planner.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/planner.h"
#include "engine/reading.h"

namespace sx {
namespace {

class Infer : public InferCtx {
 public:
  Infer(Planner& p, const Op& op) : InferCtx(op), p_(p) {}
  const Shape& shape(size_t i) const override { return p_.shape(at(i)); }
  DType dtype(size_t i) const override { return p_.d_.values[at(i)].dtype; }
  std::vector<int64_t> ints(size_t i) override { return read_ints(p_.require(at(i)), dtype(i), checked(i)); }
  std::vector<double> numbers(size_t i) override { return read_numbers(p_.require(at(i)), dtype(i), checked(i)); }
  void output(size_t i, const Shape& shape) override {
    if (i >= op.out.size() || op.out[i] == kAbsent) return;
    p_.check_size(op, shape, item_size(p_.d_.values[op.out[i]].dtype));
    p_.shapes_[op.out[i]] = shape;
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
  int64_t option(const char* name, int64_t otherwise) const override { return p_.d_.option(name, otherwise); }

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
    auto packed = stored(value.identity, key, [&] {
      const Reading reading(value);
      auto made = make(reading.data);
      made->has_unseen = value.dtype == DType::f32 && has_unseen(static_cast<const float*>(reading.data), value.shape.size());
      return made;
    });
    if (packed->has_unseen && p_.subnormals_ == Subnormals::automatic) p_.plan_->subnormals_as_zero = true;
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

}  // namespace

int64_t (*free_memory)() = [] { return INT64_MAX; };

void Planner::check_size(const Op& op, const Shape& made, size_t item) const {
  constexpr int64_t kAlways = int64_t{1} << 28, kFarMore = 16;
  int64_t bytes = static_cast<int64_t>(item);
  bool is_empty = false;
  for (int k = 0; k < made.rank; k++) {
    if (made[k] < 0) throw OpError("an output of shape " + made.str() + " has a negative dimension");
    if (made[k] == 0) {
      is_empty = true;
    } else if (__builtin_mul_overflow(bytes, made[k], &bytes) || bytes > kMost) {
      throw OpError("an output of shape " + made.str() + " has more elements than memory can hold");
    }
  }
  if (is_empty || bytes <= kAlways) return;
  int64_t read = 0;
  for (ValueId v : op.in)
    if (v != kAbsent) read += shape(v).size() * static_cast<int64_t>(item_size(d_.values[v].dtype));
  if (bytes / kFarMore <= read) return;
  const int64_t free = free_memory();
  if (bytes <= free) return;
  char text[80];
  std::snprintf(text, sizeof text, " needs %.1f GiB of memory, and %.1f GiB are free", std::ldexp(bytes, -30), std::ldexp(free, -30));
  throw OpError("an output of shape " + made.str() + text);
}

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

}  // namespace sx
