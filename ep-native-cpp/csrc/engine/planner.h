// Planning a segment: shapes, contents of small integer tensors, storage, steps, and the arena.
#pragma once
#include <set>

#include "engine/program.h"

namespace sx {

constexpr int64_t kSmall = 1024;  // elements of a tensor whose contents a plan may depend on

// Bytes that the process can still get.
extern int64_t (*free_memory)();

struct CutHere {};  // the segment ends before the current op

// Memory that one or several values of a plan lie in.
struct Storage {
  enum Kind { arena, constant, input, output } kind = arena;
  size_t bytes = 0;
  int first = 0, last = 0;
  uint32_t index = 0;           // of an input or output
  const void* data = nullptr;   // of a constant
  size_t offset = 0;            // in the arena
  std::vector<ValueId> values;  // that live in it
};

class Planner {
 public:
  Planner(Program& program, int begin, const std::vector<View>& in)
      : g_(program), d_(program.d_), plan_(std::make_shared<Plan>()), live_(program.live_at(begin)), in_(in) {
    plan_->begin = begin;
    plan_->in = live_;
    plan_->subnormals_as_zero = subnormals_ == Subnormals::zero;
  }

  std::shared_ptr<Plan> build();

  // What the contexts of operators look up (contexts.cc).
  Program& g_;
  const Description& d_;
  std::shared_ptr<Plan> plan_;
  std::vector<ValueId> live_;
  const std::vector<View>& in_;
  const Subnormals subnormals_ = static_cast<Subnormals>(d_.option("subnormals", 0));
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

  int live_index(ValueId v) const;  // -1: it does not flow in
  const Shape& shape(ValueId v) const;

  // The bytes of a value known while planning, or null.
  const void* contents(ValueId v);

  // As contents(), for an op that cannot be planned without: asks for values on the way to be made known, or cuts.
  const void* require(ValueId v);

  // Whether v follows from small live-in values alone; adds those to `roots`.
  bool foldable(ValueId v, std::set<ValueId>& roots);
  std::unordered_map<ValueId, int> producer_;
  bool folding_ = false;

  // OpError if an output's bytes cannot be counted, or are far more than the op reads and more than is free.
  void check_size(const Op& op, const Shape& made, size_t item) const;

  // The shapes of an op's inputs as far as they are known, and what to throw where it cannot be planned.
  std::vector<Shape> input_shapes(int op) const;
  NodeFailure failure(int op, const std::string& what) const;

  // The data of a constant, by an aligned copy if need be.
  const void* aligned(ValueId v);
  std::unordered_map<ValueId, std::shared_ptr<Buffer>> aligned_;

  // The storage of a value, made if it has none yet; and the last op that reads one.
  int storage(ValueId v);
  int last_use(const Storage& s) const;

 private:
  void reset();
  void one(int i, const Op& op);
  // Small values whose inputs are all known are computed now: shapes downstream may come from them.
  bool fold(const Op& op);
  void fold_shape(const Op& op);
  void finish();
  void give_outputs();
  void place_arena();
  void check_room() const;
  void bind_pointers();
};

}  // namespace sx
