#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>

#include "engine/op.h"
#include "engine/program.h"

namespace sx {

// Room behind every buffer, so that a kernel's prefetch or a fault of one element stays in mapped memory.
constexpr size_t kSlack = 256;
constexpr size_t kHugePage = size_t{2} << 20;

static size_t round_size(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Memory of the system's own, whose pages are made as parts of it are taken: a call for many costs half of a fault each.
// Weights of many megabytes miss the TLB all the time unless they lie in huge pages; but to ask for those before the first
// touch can stall for seconds where memory is fragmented, so `settle` leaves it to the system to gather what has been written.
class Region {
 public:
  explicit Region(size_t n) : size_(round_size(n, n < kHugePage ? 4096 : kHugePage)) {
    const size_t align = n < kHugePage ? 4096 : kHugePage, all = size_ + align;
    void* at = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    const uintptr_t from = reinterpret_cast<uintptr_t>(at), first = round_size(from, align);
    if (first > from) munmap(at, first - from);
    if (from + all > first + size_) munmap(reinterpret_cast<void*>(first + size_), from + all - first - size_);
    base_ = reinterpret_cast<char*>(first);
  }
  ~Region() { munmap(base_, size_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  void settle() {
    if (size_ >= kHugePage) madvise(base_, size_, MADV_HUGEPAGE);
  }
  // The next n bytes, or null.
  void* take(size_t n) {
    n = round_size(n + kSlack, kAlign);
    if (used_ + n > size_) return nullptr;
    used_ += n;
    if (used_ > made_) {
      const size_t end = std::min(size_, round_size(used_, kMakeAtOnce));
      madvise(base_ + made_, end - made_, kPopulateWrite);
      made_ = end;
    }
    return base_ + used_ - n;
  }

 private:
  static constexpr size_t kMakeAtOnce = 64 << 10;
  static constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE of Linux 5.14; older kernels refuse it, and pages are made by faults
  size_t size_, used_ = 0, made_ = 0;
  char* base_;
};

Buffer::Buffer(size_t n) : bytes(n) {
  if (n >= kHugePage) {
    region_ = std::make_shared<Region>(n + kSlack);
    data = region_->take(n);
    return;
  }
  data = std::aligned_alloc(kAlign, round_size(n + kSlack, kAlign));
  if (!data) throw std::bad_alloc();
}
Buffer::Buffer(size_t n, std::shared_ptr<Region> region) : data(region->take(n)), bytes(n), region_(std::move(region)) {}
Buffer::~Buffer() {
  if (!region_) std::free(data);
}

std::shared_ptr<Buffer> copy_into(std::shared_ptr<Buffer> buffer, const void* data, size_t bytes) {
  if (bytes) std::memcpy(buffer->data, data, bytes);
  return buffer;
}

std::unique_ptr<Buffer> returned_buffer(size_t bytes) {
  constexpr size_t kLeast = size_t{128} << 10;
  return bytes < kLeast ? std::make_unique<Buffer>(bytes) : std::make_unique<Buffer>(bytes, std::make_shared<Region>(bytes + kSlack));
}

static thread_local RegionScope* current_scope = nullptr;

RegionScope::RegionScope() : outer_(current_scope) { current_scope = this; }
RegionScope::~RegionScope() {
  for (auto& region : regions_) region->settle();
  current_scope = outer_;
}

std::shared_ptr<Buffer> RegionScope::take(size_t bytes) {
  constexpr size_t kFirst = size_t{1} << 20, kNext = size_t{16} << 20;
  if (bytes > kNext / 2) {
    regions_.insert(regions_.begin(), std::make_shared<Region>(bytes + kSlack));
    return std::make_shared<Buffer>(bytes, regions_.front());
  }
  if (open_) {
    auto made = std::make_shared<Buffer>(bytes, regions_.back());
    if (made->data) return made;
  }
  regions_.push_back(std::make_shared<Region>(!open_ && bytes + kSlack <= kFirst ? kFirst : kNext));
  open_ = true;
  return std::make_shared<Buffer>(bytes, regions_.back());
}

std::shared_ptr<Buffer> RegionScope::lend(size_t bytes) {
  const bool free = passing_.use_count() == 1;
  if (free && passing_->bytes >= bytes) return passing_;
  if (free) passing_.reset();  // before there is a larger one
  return passing_ = returned_buffer(bytes);
}

std::shared_ptr<Buffer> passing_buffer(size_t bytes) { return current_scope ? current_scope->lend(bytes) : returned_buffer(bytes); }

std::shared_ptr<Buffer> lasting_buffer(size_t bytes) {
  return current_scope && bytes >= 4096 ? current_scope->take(bytes) : std::make_shared<Buffer>(bytes);
}

void Runtime::fail(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(error, sizeof error, format, args);
  va_end(args);
}

std::shared_ptr<Buffer> stored(const std::string& identity, const std::string& key, const std::function<std::shared_ptr<Buffer>()>& make) {
  static std::mutex mutex;
  static auto* store = new std::map<std::string, std::weak_ptr<Buffer>>();
  if (identity.empty()) return make();
  const std::string full = identity + "|" + key;
  std::lock_guard<std::mutex> lock(mutex);
  auto& slot = (*store)[full];
  if (auto found = slot.lock()) return found;
  auto made = make();
  slot = made;
  static size_t room = 256;  // entries before those that nobody uses any more are looked for
  if (store->size() > room) {
    for (auto it = store->begin(); it != store->end();) it = it->second.expired() ? store->erase(it) : std::next(it);
    room = 256 + 2 * store->size();
  }
  return made;
}

}  // namespace sx
