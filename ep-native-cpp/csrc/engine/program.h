// A program: the flat op list of a subgraph, and the plans made of it for the shapes it met.
#pragma once
#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/arenas.h"
#include "engine/op.h"

namespace sx {

// What the engine is told: values, ops in topological order, and which values come in and go out.
struct Description {
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<ValueId> inputs, outputs;
  std::map<std::string, int64_t> options;
  int64_t option(const char* name, int64_t otherwise) const {
    auto it = options.find(name);
    return it == options.end() ? otherwise : it->second;
  }
  int threads = 1;
};

// A tensor outside: borrowed from the caller.
struct View {
  const void* data = nullptr;
  Shape shape;
};

// The option of that name.
enum class Subnormals { automatic, keep, zero };

// A node that failed: its name, what is wrong, and the shapes of its inputs (rank -1 where one is absent). A node of a
// body is named itself, not the If, Loop or Scan around it.
struct NodeFailure : OpError {
  std::string node;
  std::vector<Shape> inputs;
  NodeFailure(const Op& op, const std::string& what, std::vector<Shape> shapes) : OpError(what), node(op.name), inputs(std::move(shapes)) {}
  NodeFailure(const NodeFailure& of, const std::string& what) : OpError(what), node(of.node), inputs(of.inputs) {}
};

// What failed in a run of a plan: see Program::failure.
struct StepFailure {
  int op;
  std::string what;
};

inline Shape absent_shape() {
  Shape s;
  s.rank = -1;
  return s;
}

// "1.5 GiB".
std::string gibibytes(size_t bytes);

struct StepTime {
  int op;
  int64_t start_ns, end_ns;
};

int64_t now_ns();

// What a timed run tells: a record per step, and the shapes that values had.
struct Times {
  std::vector<StepTime> steps;
  std::unordered_map<ValueId, Shape> shapes;
};

struct Step {
  StepFn fn;
  uint32_t offset;  // of its argument block
  int32_t op;
};

// One working copy of a plan: the argument blocks with their pointers filled in, and the arena they point into.
struct Instance {
  std::unique_ptr<Buffer> blocks;
  Buffer* arena = nullptr;     // during a run
  const void* base = nullptr;  // where the arena was that the pointers were filled in for
};

// The ops [begin, end) planned for given shapes of the values that flow in.
class Plan {
 public:
  struct Reloc {
    uint32_t offset, index;
  };

  int begin = 0, end = 0;
  std::vector<ValueId> in, out;  // what flows in and out
  std::vector<Shape> in_shapes, out_shapes;
  std::vector<std::pair<int, std::vector<char>>> in_contents;  // index in `in`, bytes that the plan relies on
  std::vector<Step> steps;
  std::vector<char> blocks;                                // argument blocks, pointers to constants filled in
  std::vector<std::pair<uint32_t, size_t>> arena_relocs;  // block offset, arena offset
  std::vector<Reloc> in_relocs, out_relocs;
  std::vector<std::shared_ptr<Buffer>> packed;
  std::vector<int64_t> made;  // rank and dimensions of each output of each op
  size_t arena_bytes = 0;
  bool subnormals_as_zero = false;
  int heaviest = 0;  // the op that makes the largest of the values in the arena

  // Whether a run takes so little (by its ops and bytes) that giving up the interpreter lock would cost more.
  bool is_short() const { return steps.size() <= 8 && arena_bytes <= 16384; }

  // Run with the given pointers in one of the arenas. `times` may be null. Throws StepFailure and Cancelled.
  void run(const void* const* inputs, void* const* outputs, Arenas& arenas, Pool& pool, const Description& d, Times* times, const Cancel* cancel);
  // The shapes of what its ops make.
  void tell_shapes(const Description& d, Times& times) const;
  // Forget the working copies that no run uses.
  void trim();
  ~Plan();

 private:
  std::atomic<Instance*> spare_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Instance>> free_;
  Instance* acquire(Arenas& arenas);
  Instance* copy();
  void release(Instance* i, Arenas& arenas);
};

class Program {
 public:
  explicit Program(Description d);

  const Description& description() const { return d_; }

  // The plan of the whole program for these inputs, or null if it takes several segments.
  std::shared_ptr<Plan> whole(const View* inputs);
  // The plan used last, if it fits; without waiting for anybody.
  std::shared_ptr<Plan> latest(const View* inputs) const;
  bool is_segmented() const { return segmented_.load(std::memory_order_relaxed); }

  // Plan the first segment for inputs of these shapes, without data. Does nothing where planning needs the data.
  void warm(const View* inputs);

  // Run, as a whole if possible; the outputs are made here.
  std::vector<Made> run(const View* inputs, const Cancel* cancel);

  // Run by segments; the outputs are made here.
  std::vector<Made> run_segments(const View* inputs, Times* times, const Cancel* cancel);

  Pool& pool() {
    constexpr int64_t kMostSpin = 1000000;
    return shared_pool(d_.threads, static_cast<int>(std::clamp<int64_t>(d_.option("spin", kSpinMicroseconds), 0, kMostSpin)));
  }
  struct Memory {
    size_t arenas = 0, plans = 0;
    std::unordered_map<const Buffer*, size_t> packed;
  };
  // Run a plan, whose failures are then NodeFailures.
  void execute(Plan& plan, const void* const* inputs, void* const* outputs, Pool& pool, Times* times, const Cancel* cancel);
  // What to throw when an op of a plan failed.
  NodeFailure failure(const Plan& plan, const StepFailure& failed) const;
  // The same where there is no memory for output j of a plan.
  NodeFailure no_room(const Plan& plan, size_t j) const;
  std::shared_ptr<Buffer> output_buffer(const Plan& plan, size_t j) const;

  // Adds what this program and its bodies hold.
  void count(Memory& m);
  // Forget all plans but the latest, and the arenas of runs that are over.
  void trim();

 private:
  friend class Planner;
  struct Entry {
    std::shared_ptr<Plan> plan;
    uint64_t used;
  };
  Description d_;
  std::vector<int> last_use_;                       // per value: the last op that reads it; INT_MAX for an output
  std::unordered_map<int, std::vector<ValueId>> live_;  // per start of a segment
  std::unordered_map<int, std::vector<Entry>> cache_;
  Arenas arenas_;
  std::atomic<bool> segmented_{false};
  std::shared_ptr<Plan> latest_;
  std::mutex mutex_;
  uint64_t tick_ = 0;

  const std::vector<ValueId>& live_at(int op);
  std::shared_ptr<Plan> plan_for(int begin, const std::vector<View>& in);
  static bool matches(const Plan& p, const View* in);
  void limit_arenas();
};

// A buffer that goes back to the system when it goes: malloc keeps what it once had for as long as the process lives.
std::unique_ptr<Buffer> returned_buffer(size_t bytes);

// A buffer to be used for a while. Within a RegionScope one is lent again and again: pages that are made already cost nothing.
std::shared_ptr<Buffer> passing_buffer(size_t bytes);

// While one exists, lasting buffers made by this thread lie together in pieces of memory that go when the last of them does.
class RegionScope {
 public:
  RegionScope();
  ~RegionScope();
  RegionScope(const RegionScope&) = delete;
  RegionScope& operator=(const RegionScope&) = delete;
  std::shared_ptr<Buffer> take(size_t bytes);
  std::shared_ptr<Buffer> lend(size_t bytes);

 private:
  std::vector<std::shared_ptr<Region>> regions_;  // the last one is taken from, if any is open
  bool open_ = false;
  std::shared_ptr<Buffer> passing_;
  RegionScope* outer_;
};

// The process-wide store of packed weights: equal (identity, key) share one buffer while anybody uses it.
std::shared_ptr<Buffer> stored(const std::string& identity, const std::string& key, const std::function<std::shared_ptr<Buffer>()>& make);

}  // namespace sx
