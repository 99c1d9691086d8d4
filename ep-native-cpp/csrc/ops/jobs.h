// Work cut into jobs, done by threads that each have a slot of working memory.
#pragma once
#include <atomic>

#include "engine/op.h"

namespace sx {

// Calls f(job, slot) for every job; no two calls run at once with the same slot, slots are below rt.threads. Like the
// pool's chunks, jobs are taken from both ends.
template <typename F>
void run_jobs(Runtime& rt, int64_t jobs, bool parallel, F&& f) {
  if (!parallel || rt.threads == 1 || jobs <= 1) {
    for (int64_t j = 0; j < jobs; j++) f(j, int64_t{0});
    return;
  }
  std::atomic<int64_t> claimed{0}, front{0}, back{jobs - 1};
  rt.pool->parallel(rt.threads, [&](int64_t slot) {
    const bool from_end = 2 * slot >= rt.threads;
    while (claimed.fetch_add(1, std::memory_order_relaxed) < jobs)
      f(from_end ? back.fetch_sub(1, std::memory_order_relaxed) : front.fetch_add(1, std::memory_order_relaxed), slot);
  });
}

}  // namespace sx
