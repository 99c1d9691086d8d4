#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>

#include "engine/op.h"
#include "engine/program.h"

namespace sx {

// Room behind every buffer, so that a kernel's prefetch or a fault of one element stays in mapped memory.
constexpr size_t kSlack = 256;

Buffer::Buffer(size_t n) : bytes(n) {
  data = std::aligned_alloc(4096 < n ? 4096 : kAlign, static_cast<size_t>(round_up(static_cast<int64_t>(n + kSlack), 4096 < n ? 4096 : kAlign)));
  if (!data) throw std::bad_alloc();
}
Buffer::~Buffer() { std::free(data); }

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
  return made;
}

}  // namespace sx
