#include "engine/arenas.h"

#include <algorithm>

#include "engine/program.h"

namespace sx {

Arenas::~Arenas() { delete spare_.load(); }

void Arenas::drop(std::unique_ptr<Buffer> arena) { bytes_ -= arena->bytes; }

Buffer* Arenas::take(size_t bytes) {
  std::unique_ptr<Buffer> spare(spare_.exchange(nullptr, std::memory_order_acquire));
  if (spare && spare->bytes >= bytes) return spare.release();
  std::lock_guard<std::mutex> lock(mutex_);
  if (spare) free_.push_back(std::move(spare));
  auto better = [bytes](const std::unique_ptr<Buffer>& a, const std::unique_ptr<Buffer>& b) {
    const bool fits_a = a->bytes >= bytes, fits_b = b->bytes >= bytes;
    return fits_a != fits_b ? fits_a : fits_a ? a->bytes < b->bytes : a->bytes > b->bytes;
  };
  auto best = std::min_element(free_.begin(), free_.end(), better);
  if (best != free_.end()) {
    std::unique_ptr<Buffer> arena = std::move(*best);
    free_.erase(best);
    if (arena->bytes >= bytes) return arena.release();
    drop(std::move(arena));
  }
  auto made = returned_buffer(bytes);
  bytes_ += made->bytes;
  return made.release();
}

void Arenas::give(Buffer* arena) {
  if (arena->bytes > limit_.load(std::memory_order_relaxed)) return drop(std::unique_ptr<Buffer>(arena));
  Buffer* none = nullptr;
  if (spare_.compare_exchange_strong(none, arena, std::memory_order_release)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  free_.emplace_back(arena);
}

void Arenas::limit(size_t bytes) {
  limit_ = bytes;
  if (Buffer* arena = spare_.exchange(nullptr, std::memory_order_acquire)) give(arena);
  std::lock_guard<std::mutex> lock(mutex_);
  auto kept = std::partition(free_.begin(), free_.end(), [bytes](const std::unique_ptr<Buffer>& a) { return a->bytes <= bytes; });
  for (auto it = kept; it != free_.end(); ++it) drop(std::move(*it));
  free_.erase(kept, free_.end());
}

void Arenas::trim() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (Buffer* arena = spare_.exchange(nullptr, std::memory_order_acquire)) drop(std::unique_ptr<Buffer>(arena));
  for (auto& arena : free_) drop(std::move(arena));
  free_.clear();
}

}  // namespace sx
