// The working memory of a program's plans.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/op.h"

namespace sx {

// Arenas that plans take for the time of a run: as many as runs were under way at once, whatever the number of plans.
class Arenas {
 public:
  ~Arenas();
  // One of at least `bytes`, the smallest there is. Where all are too small, the largest of them gives way to it. Throws std::bad_alloc.
  Buffer* take(size_t bytes);
  void give(Buffer* arena);
  // Keep none that are larger: `bytes` is the most that a plan asks for.
  void limit(size_t bytes);
  // Give back those that no run uses.
  void trim();
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Buffer*> spare_{nullptr};
  std::atomic<size_t> limit_{SIZE_MAX}, bytes_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> free_;
  void drop(std::unique_ptr<Buffer> arena);
};

}  // namespace sx
