// What an operator is to the engine: a shape function and a plan function.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/pool.h"
#include "engine/types.h"

namespace sx {

using ValueId = int32_t;
constexpr ValueId kAbsent = -1;

// Attributes of one node as the Python side wrote them.
struct Attributes {
  std::map<std::string, int64_t> ints;
  std::map<std::string, double> floats;
  std::map<std::string, std::string> strings;
  std::map<std::string, std::vector<int64_t>> int_lists;
  std::map<std::string, std::vector<double>> float_lists;
  std::map<std::string, std::vector<std::string>> string_lists;

  int64_t get(const std::string& name, int64_t otherwise) const {
    auto it = ints.find(name);
    return it == ints.end() ? otherwise : it->second;
  }
  double getf(const std::string& name, double otherwise) const {
    auto it = floats.find(name);
    return it == floats.end() ? otherwise : it->second;
  }
  std::string gets(const std::string& name, const std::string& otherwise) const {
    auto it = strings.find(name);
    return it == strings.end() ? otherwise : it->second;
  }
  std::vector<int64_t> list(const std::string& name) const {
    auto it = int_lists.find(name);
    return it == int_lists.end() ? std::vector<int64_t>() : it->second;
  }
  // Numbers of either kind of list.
  std::vector<double> numbers(const std::string& name) const {
    auto floating = float_lists.find(name);
    if (floating != float_lists.end()) return floating->second;
    const auto whole = list(name);
    return std::vector<double>(whole.begin(), whole.end());
  }
  bool has(const std::string& name) const {
    return ints.count(name) || floats.count(name) || strings.count(name) || int_lists.count(name) || float_lists.count(name) || string_lists.count(name);
  }
};

class Program;

// One operation of a program: the operator, and indices of its input and output values.
struct Op {
  const struct OpDef* def = nullptr;
  std::string name;                // of the node, for messages and profiles
  std::vector<ValueId> in, out;    // kAbsent where an optional one is absent
  Attributes attrs;
  std::vector<std::shared_ptr<Program>> bodies;  // of If, Loop, Scan
  mutable std::shared_ptr<const void> prepared;  // what the operator made of its attributes, once, while planning
};

// A value: an input, a constant, or the output of an op.
struct Value {
  std::string name;
  DType dtype = DType::f32;
  Layout layout = Layout::plain;
  bool constant = false;
  Shape shape;               // of a constant
  const void* data = nullptr;  // of a constant; owned by the Python side for the program's life; may be unaligned
  // Where set, `data` is null and the bytes are made when they are needed: valid while what is returned lives.
  std::function<std::shared_ptr<const void>(const void** data)> read;
  bool mapped = false;         // the data is a mapped file: pages that were read can be given back
  std::string identity;      // of a constant: equal strings mean equal bytes, across sessions; "" if unknown
};

// Thrown while planning ahead of the first run (Program::warm) where the contents of an input matter.
struct NeedData {};

// What a shape function sees: shapes and types of the inputs, and contents of small integer inputs.
class InferCtx {
 public:
  const Op& op;
  InferCtx(const Op& o) : op(o) {}
  virtual ~InferCtx() = default;

  bool has(size_t i) const { return i < op.in.size() && op.in[i] != kAbsent; }
  virtual const Shape& shape(size_t i) const = 0;
  virtual DType dtype(size_t i) const = 0;
  // Contents of input i as int64 (any integer or bool tensor of at most 1024 elements). Where they are not known while
  // planning it throws, and the planner makes them known or ends the segment here.
  virtual std::vector<int64_t> ints(size_t i) = 0;
  // Contents of input i as double (any small tensor).
  virtual std::vector<double> numbers(size_t i) = 0;
  virtual void output(size_t i, const Shape& shape) = 0;
};

// What can stop a run: bytes outside, one of which is set, and a question that is asked now and then, of the thread that runs.
struct Cancel {
  std::vector<const volatile unsigned char*> flags;
  bool (*interrupted)() = nullptr;
  bool wanted() const {
    for (auto* f : flags)
      if (*f) return true;
    if (!interrupted || ++calls_ % 16) return false;  // the clock costs as much as a small step
    const auto now = std::chrono::steady_clock::now();
    if (now < ask_at_) return false;
    ask_at_ = now + kInterval;
    return interrupted();
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{50};
  mutable unsigned calls_ = 0;
  mutable std::chrono::steady_clock::time_point ask_at_ = std::chrono::steady_clock::now() + kInterval;
};
struct Cancelled {};

// Run-time surroundings of a step. A kernel that meets data it cannot take (an index out of range) calls fail() with a
// message and returns; the run then ends with an error that names the node.
struct Runtime {
  Pool* pool = nullptr;
  int threads = 1;
  const Cancel* cancel = nullptr;
  char error[200] = {};
  void fail(const char* format, ...) __attribute__((format(printf, 2, 3)));
};

using StepFn = void (*)(const void* args, Runtime& rt);

// Aligned memory: packed weights, arenas, tables.
struct Buffer {
  void* data = nullptr;
  size_t bytes = 0;
  bool has_unseen = false;  // it is made of weights of which some are too small to be seen
  explicit Buffer(size_t n);
  Buffer(size_t n, std::shared_ptr<class Region> region);  // out of a larger piece
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 private:
  std::shared_ptr<Region> region_;
};
// A buffer for what lives as long as a program does, such as packed weights: those of one plan lie together.
std::shared_ptr<Buffer> lasting_buffer(size_t bytes);
// The buffer, with a copy of these bytes in it. `data` may be null where there are none, which memcpy does not take.
std::shared_ptr<Buffer> copy_into(std::shared_ptr<Buffer> buffer, const void* data, size_t bytes);
// A buffer with a copy of the elements.
template <typename T>
std::shared_ptr<Buffer> buffer_of(const std::vector<T>& v) {
  const size_t bytes = v.size() * sizeof(T);
  return copy_into(std::make_shared<Buffer>(bytes), v.data(), bytes);
}

// What a plan function sees: everything static about the op at the shapes at hand. It allocates an argument block per
// step, fills in numbers, and binds its pointer fields to values, scratch or packed weights; pointers are filled in when
// an instance of the plan is made, so argument blocks hold no pointers of their own choosing.
class PlanCtx {
 public:
  const Op& op;
  PlanCtx(const Op& o) : op(o) {}
  virtual ~PlanCtx() = default;

  bool has(size_t i) const { return i < op.in.size() && op.in[i] != kAbsent; }
  bool has_out(size_t i) const { return i < op.out.size() && op.out[i] != kAbsent; }
  virtual const Shape& shape(size_t i) const = 0;
  virtual const Shape& out_shape(size_t i) const = 0;
  virtual DType dtype(size_t i) const = 0;
  virtual DType out_dtype(size_t i) const = 0;
  virtual Layout layout(size_t i) const = 0;
  virtual Layout out_layout(size_t i) const = 0;
  virtual bool is_const(size_t i) const = 0;
  virtual const void* const_data(size_t i) const = 0;  // only for constants
  virtual std::vector<int64_t> ints(size_t i) = 0;      // as InferCtx
  virtual std::vector<double> numbers(size_t i) = 0;
  virtual int threads() const = 0;
  // An option of the provider: "winograd", "strassen", "bf16", "plan_cache", "spin", "subnormals".
  virtual int64_t option(const char* name, int64_t otherwise) const = 0;

  // The output is the input's storage under another shape (both plain, or same layout). No step is needed then.
  virtual void view(size_t out, size_t in) = 0;
  // The output may be written over input i's storage if that input dies here. True if it will be.
  virtual bool reuse(size_t out, size_t in) = 0;
  // Whether two inputs lie in one storage, as a tensor and its reshaped form do. An op that reads input b after writing
  // over input a must not reuse a then.
  virtual bool same_storage(size_t a, size_t b) = 0;

  // An argument block of type T (trivially copyable), zeroed, and a step that runs it.
  template <typename T>
  T* emit(StepFn fn) {
    static_assert(std::is_trivially_copyable<T>::value, "argument blocks are copied as bytes");
    return static_cast<T*>(emit_bytes(fn, sizeof(T), alignof(T)));
  }
  // Bind pointer fields of the last emitted block.
  template <typename P>
  void bind_in(P*& field, size_t i) { bind_bytes(&field, Kind::input, i); }
  template <typename P>
  void bind_out(P*& field, size_t i) { bind_bytes(&field, Kind::output, i); }
  template <typename P>
  void bind_scratch(P*& field, size_t scratch) { bind_bytes(&field, Kind::scratch, scratch); }
  template <typename P>
  void bind_packed(P*& field, const std::shared_ptr<Buffer>& buffer) { bind_buffer(&field, buffer); }
  // Bytes of working memory alive during this op's steps; returns its handle for bind_scratch.
  virtual size_t scratch(size_t bytes) = 0;
  // The packed form of constant input i: made once per (constant, key) and shared between plans and sessions. `make` gets
  // the constant's data, aligned.
  virtual std::shared_ptr<Buffer> pack(size_t i, const std::string& key, const std::function<std::shared_ptr<Buffer>(const void* data)>& make) = 0;
  // Where the next op's weights will lie, for prefetching; patched after planning, null if there are none.
  template <typename P>
  void bind_next_weights(P*& field) { bind_bytes(&field, Kind::next_weights, 0); }

 protected:
  enum class Kind { input, output, scratch, next_weights };
  virtual void* emit_bytes(StepFn fn, size_t bytes, size_t align) = 0;
  virtual void bind_bytes(void* field, Kind kind, size_t index) = 0;
  virtual void bind_buffer(void* field, const std::shared_ptr<Buffer>& buffer) = 0;
};

// A tensor made while running, by an operator whose output shape depends on data.
struct Made {
  Shape shape;
  DType dtype;
  std::shared_ptr<Buffer> data;
};
struct Seen {
  Shape shape;
  DType dtype;
  const void* data;  // null for an absent input
};

// An operator. `infer` and `plan`, or `dynamic` for one whose output shapes depend on data (NonZero, NonMaxSuppression):
// it then runs between two segments of the program and returns its outputs.
struct OpDef {
  const char* name;
  void (*infer)(InferCtx&);
  void (*plan)(PlanCtx&);
  std::vector<Made> (*dynamic)(const Op&, const std::vector<Seen>&, Runtime&);
};

// All operators (ops/table.cc lists the families).
const OpDef* find_op(const std::string& name);
std::vector<std::string> all_ops();

}  // namespace sx
