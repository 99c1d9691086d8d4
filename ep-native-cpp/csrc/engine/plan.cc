#include <algorithm>
#include <chrono>
#include <new>

#include "engine/float_mode.h"
#include "engine/program.h"

namespace sx {

Plan::~Plan() { delete spare_.load(); }

void Plan::trim() {
  std::lock_guard<std::mutex> lock(mutex_);
  free_.clear();
  delete spare_.exchange(nullptr, std::memory_order_acquire);
}

Instance* Plan::copy() {
  if (Instance* i = spare_.exchange(nullptr, std::memory_order_acquire)) return i;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!free_.empty()) {
    Instance* i = free_.back().release();
    free_.pop_back();
    return i;
  }
  auto made = std::make_unique<Instance>();
  made->blocks = std::make_unique<Buffer>(blocks.size());
  std::copy(blocks.begin(), blocks.end(), static_cast<char*>(made->blocks->data));
  return made.release();
}

Instance* Plan::acquire(Arenas& arenas) {
  if (arena_bytes == 0) return copy();
  Buffer* arena = arenas.take(arena_bytes);
  Instance* i;
  try {
    i = copy();
  } catch (...) {
    arenas.give(arena);
    throw;
  }
  i->arena = arena;
  if (i->base != arena->data) {
    char* args = static_cast<char*>(i->blocks->data);
    for (auto& r : arena_relocs) {
      char* p = static_cast<char*>(arena->data) + r.second;
      std::memcpy(args + r.first, &p, sizeof p);
    }
    i->base = arena->data;
  }
  return i;
}

void Plan::release(Instance* i, Arenas& arenas) {
  if (i->arena) arenas.give(i->arena);
  i->arena = nullptr;
  Instance* none = nullptr;
  if (spare_.compare_exchange_strong(none, i, std::memory_order_release)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  free_.emplace_back(i);
}

int64_t now_ns() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void Plan::tell_shapes(const Description& d, Times& times) const {
  size_t at = 0;
  for (int i = begin; i < end; i++)
    for (ValueId v : d.ops[i].out) {
      if (v == kAbsent) continue;
      Shape& s = times.shapes[v];
      s.rank = static_cast<int>(made[at++]);
      for (int k = 0; k < s.rank; k++) s.d[k] = made[at++];
    }
}

void Plan::run(const void* const* inputs, void* const* outputs, Arenas& arenas, Pool& pool, const Description& d, Times* times, const Cancel* cancel) {
  Instance* instance;
  try {
    instance = acquire(arenas);
  } catch (const std::bad_alloc&) {
    throw StepFailure{heaviest, "out of memory: the values between nodes need " + gibibytes(arena_bytes) + " at once; what this node gives is the largest of them"};
  }
  char* args = static_cast<char*>(instance->blocks->data);
  for (const Reloc& r : in_relocs) std::memcpy(args + r.offset, &inputs[r.index], sizeof(void*));
  for (const Reloc& r : out_relocs) std::memcpy(args + r.offset, &outputs[r.index], sizeof(void*));
  if (times) tell_shapes(d, *times);
  const SubnormalsAsZero scope(subnormals_as_zero);
  Runtime rt;
  rt.pool = &pool;
  rt.threads = pool.threads();
  rt.cancel = cancel;
  const Step* failed = nullptr;
  bool cancelled = false;
  if (!times && !cancel) {
    for (const Step& s : steps) {
      s.fn(args + s.offset, rt);
      if (__builtin_expect(rt.error[0] != 0, 0)) {
        failed = &s;
        break;
      }
    }
  } else {
    for (const Step& s : steps) {
      if (cancel && cancel->wanted()) {
        cancelled = true;
        break;
      }
      const int64_t t = times ? now_ns() : 0;
      s.fn(args + s.offset, rt);
      if (times) times->steps.push_back({s.op, t, now_ns()});
      if (rt.error[0]) {
        failed = &s;
        break;
      }
    }
  }
  release(instance, arenas);
  if (failed) throw StepFailure{failed->op, rt.error};
  if (cancelled) throw Cancelled{};
}

}  // namespace sx
