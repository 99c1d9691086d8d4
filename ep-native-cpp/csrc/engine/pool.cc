#include "engine/pool.h"

#include "engine/float_mode.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sx {

namespace {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

// The ticket packs (generation << 32 | chunks claimed from the end << 16 | chunks claimed from the front). A thread claims
// a chunk by compare-and-swap, so a claim for an old generation cannot succeed; a job's fields are written before its
// ticket is published and may be read by anyone who holds a claim of that generation.
struct Pool::Impl {
  const int threads;
  const int spin_us;
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<int64_t> done{0};
  void (*body)(void*, int64_t) = nullptr;
  void* arg = nullptr;
  unsigned mode = 0;  // of the caller's arithmetic
  std::atomic<bool> busy{false};
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<int> parked{0};
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::thread> workers;

  Impl(int n, int spin) : threads(n < 1 ? 1 : n), spin_us(spin) {
    try {
      for (int i = 1; i < threads; i++) workers.emplace_back([this, i] { work(i % 2 == 1); });
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are, the caller at least, do all chunks.
    }
  }

  ~Impl() {
    stop.store(true);
    {
      std::lock_guard<std::mutex> lock(mutex);
      wake.notify_all();
    }
    for (auto& w : workers) w.join();
  }

  static constexpr uint64_t kEnd = 0xffff, kClosed = 0xffffffffu;
  static constexpr int64_t kMostChunks = 0xfffe;

  // Claims and does chunks of the job of `generation` until none is left. The caller and every second worker go up from
  // the first chunk, the others down from the last: a thread then meets the data that it made itself a step before.
  void drain(uint32_t generation, bool from_end) {
    uint64_t t = ticket.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(t >> 32) == generation) {
      const int64_t front = static_cast<int64_t>(t & kEnd), back = static_cast<int64_t>(t >> 16 & kEnd), all = chunks_of.load(std::memory_order_relaxed);
      if (front + back >= all) return;
      if (ticket.compare_exchange_weak(t, t + (from_end ? kEnd + 1 : 1), std::memory_order_acq_rel, std::memory_order_acquire)) {
        if (float_mode() != mode) set_float_mode(mode);
        body(arg, from_end ? all - 1 - back : front);
        done.fetch_add(1, std::memory_order_release);
        t = ticket.load(std::memory_order_acquire);
      }
    }
  }
  std::atomic<int64_t> chunks_of{0};

  void work(bool from_end) {
    uint32_t seen = static_cast<uint32_t>(ticket.load(std::memory_order_acquire) >> 32);
    for (;;) {
      auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(spin_us);
      uint32_t now = seen;
      for (int i = 0;; i++) {
        now = static_cast<uint32_t>(ticket.load(std::memory_order_acquire) >> 32);
        if (now != seen || stop.load(std::memory_order_relaxed)) break;
        relax();
        if ((i & 63) == 63 && std::chrono::steady_clock::now() > until) {
          std::unique_lock<std::mutex> lock(mutex);
          parked.fetch_add(1, std::memory_order_seq_cst);
          wake.wait(lock, [&] { return stop.load() || static_cast<uint32_t>(ticket.load(std::memory_order_seq_cst) >> 32) != seen; });
          parked.fetch_sub(1, std::memory_order_seq_cst);
          now = static_cast<uint32_t>(ticket.load(std::memory_order_acquire) >> 32);
          break;
        }
      }
      if (stop.load(std::memory_order_relaxed)) return;
      seen = now;
      drain(seen, from_end);
    }
  }

  void parallel(int64_t n, void (*f)(void*, int64_t), void* a) {
    if (n > kMostChunks) return parallel_runs(n, f, a);
    bool expected = false;
    if (threads == 1 || n <= 1 || !busy.compare_exchange_strong(expected, true, std::memory_order_acquire)) {
      for (int64_t i = 0; i < n; i++) f(a, i);
      return;
    }
    const uint32_t generation = static_cast<uint32_t>(ticket.load(std::memory_order_relaxed) >> 32) + 1;
    body = f;
    arg = a;
    mode = float_mode();
    chunks_of.store(n, std::memory_order_relaxed);
    done.store(0, std::memory_order_relaxed);
    ticket.store(static_cast<uint64_t>(generation) << 32, std::memory_order_seq_cst);
    if (parked.load(std::memory_order_seq_cst) > 0) {
      std::lock_guard<std::mutex> lock(mutex);
      wake.notify_all();
    }
    drain(generation, false);
    while (done.load(std::memory_order_acquire) < n) relax();
    ticket.store((static_cast<uint64_t>(generation) << 32) | kClosed, std::memory_order_release);
    busy.store(false, std::memory_order_release);
  }

  // More chunks than a ticket counts, in runs.
  void parallel_runs(int64_t n, void (*f)(void*, int64_t), void* a) {
    auto run = [=](int64_t i) {
      for (int64_t chunk = n * i / kMostChunks, end = n * (i + 1) / kMostChunks; chunk < end; chunk++) f(a, chunk);
    };
    parallel(kMostChunks, [](void* self, int64_t i) { (*static_cast<decltype(run)*>(self))(i); }, &run);
  }
};

Pool::Pool(int threads, int spin_us) : impl_(new Impl(threads, spin_us)) {}
Pool::~Pool() { delete impl_; }
int Pool::threads() const { return impl_->threads; }
void Pool::parallel(int64_t chunks, void (*body)(void*, int64_t), void* arg) { impl_->parallel(chunks, body, arg); }

namespace {
std::mutex g_pools_mutex;
std::map<std::pair<int, int>, Pool*>* g_pools = new std::map<std::pair<int, int>, Pool*>();
pid_t g_pid = getpid();
}  // namespace

Pool& shared_pool(int threads, int spin_us) {
  std::lock_guard<std::mutex> lock(g_pools_mutex);
  if (g_pid != getpid()) {
    // The workers of these pools live in the parent process: forget the pools, without joining.
    g_pools = new std::map<std::pair<int, int>, Pool*>();
    g_pid = getpid();
  }
  Pool*& pool = (*g_pools)[{threads, spin_us}];
  if (!pool) pool = new Pool(threads, spin_us);
  return *pool;
}

}  // namespace sx
