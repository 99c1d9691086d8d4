// A thread pool by chunk claiming: the caller can do every chunk itself and waits only for chunks that were started.
#pragma once
#include <cstdint>
#include <type_traits>

namespace sx {

class Pool {
 public:
  // A pool of `threads` threads, the caller included. `spin_us`: how long an idle worker spins before it parks.
  Pool(int threads, int spin_us);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const;

  // Calls body(arg, chunk) for every chunk in [0, chunks), on this thread and the workers. Returns when all are done.
  // Bodies must not throw. Only one parallel() runs at a time; a second caller does its chunks alone.
  void parallel(int64_t chunks, void (*body)(void* arg, int64_t chunk), void* arg);

  template <typename F>
  void parallel(int64_t chunks, F&& f) {
    using Body = typename std::remove_reference<F>::type;
    parallel(chunks, [](void* arg, int64_t chunk) { (*static_cast<Body*>(arg))(chunk); }, const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  struct Impl;
  Impl* impl_;
};

constexpr int kSpinMicroseconds = 50;

// The process-wide pool of that many threads that spin so long (remade in a forked child).
Pool& shared_pool(int threads, int spin_us);

}  // namespace sx
