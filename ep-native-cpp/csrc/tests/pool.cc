// The pool: every chunk is done once, whatever its callers and workers are at. Chunks touch plain memory, so that under
// ThreadSanitizer a hand-over without synchronization is reported as a race.
#include "engine/pool.h"

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

int failures = 0;

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "failed: %s\n", what);
  failures++;
}

bool every_chunk_once(sx::Pool& pool, int64_t chunks) {
  std::vector<int> times(static_cast<size_t>(chunks), 0);
  pool.parallel(chunks, [&](int64_t i) { times[static_cast<size_t>(i)]++; });
  for (int t : times)
    if (t != 1) return false;
  return true;
}

void sizes(int threads) {
  sx::Pool pool(threads, sx::kSpinMicroseconds);
  check(pool.threads() == threads, "a pool has the threads it was asked for");
  for (int64_t chunks : {0, 1, 2, 3, 7, 64, 1000, 0xfffe, 0xffff, 200000}) check(every_chunk_once(pool, chunks), "every chunk is done once");
}

// One job after the other: what a job wrote is seen by the next, and late workers take nothing of an old job.
void sequence(int threads) {
  sx::Pool pool(threads, sx::kSpinMicroseconds);
  std::vector<int64_t> sums(5, 0);
  for (int job = 0; job < 2000; job++) pool.parallel(5, [&](int64_t i) { sums[static_cast<size_t>(i)] += job; });
  for (int64_t s : sums) check(s == 1999000, "a job sees what the one before wrote");
}

void parked_workers(int threads) {
  sx::Pool pool(threads, 0);
  for (int job = 0; job < 50; job++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    check(every_chunk_once(pool, 16), "parked workers wake");
  }
}

void callers_at_once(int threads) {
  sx::Pool pool(threads, sx::kSpinMicroseconds);
  std::vector<int> fine(4, 0);
  std::vector<std::thread> callers;
  for (size_t c = 0; c < fine.size(); c++)
    callers.emplace_back([&, c] {
      for (int job = 0; job < 300; job++) fine[c] += every_chunk_once(pool, 9);
    });
  for (auto& t : callers) t.join();
  for (int f : fine) check(f == 300, "callers at once have their own chunks done");
}

void nested(int threads) {
  sx::Pool pool(threads, sx::kSpinMicroseconds);
  std::vector<int> fine(8, 0);
  pool.parallel(8, [&](int64_t i) { fine[static_cast<size_t>(i)] = every_chunk_once(pool, 5); });
  for (int f : fine) check(f == 1, "a chunk may start a job");
}

void births_and_deaths(int threads) {
  for (int i = 0; i < 100; i++) {
    sx::Pool pool(threads, i % 2 ? 50 : 0);
    if (i % 3) check(every_chunk_once(pool, 4), "a new pool works at once");
  }
}

void shared() {
  std::vector<sx::Pool*> seen(4, nullptr);
  std::vector<std::thread> callers;
  for (size_t c = 0; c < seen.size(); c++) callers.emplace_back([&, c] { seen[c] = &sx::shared_pool(2, 50); });
  for (auto& t : callers) t.join();
  for (auto* p : seen) check(p == seen[0], "there is one pool per number of threads");
  check(&sx::shared_pool(2, 0) != seen[0], "and one per time of spinning");
}

}  // namespace

int main() {
  for (int threads : {1, 2, 4}) {
    sizes(threads);
    sequence(threads);
    parked_workers(threads);
    callers_at_once(threads);
    nested(threads);
    births_and_deaths(threads);
  }
  shared();
  if (!failures) std::puts("the pool is fine");
  return failures != 0;
}
