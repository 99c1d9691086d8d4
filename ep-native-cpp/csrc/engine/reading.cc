#include "engine/reading.h"

#include <sys/mman.h>

#include <algorithm>

#include "engine/program.h"

namespace sx {

bool is_aligned(const Value& v) { return v.data && reinterpret_cast<uintptr_t>(v.data) % item_size(v.dtype) == 0; }

size_t bytes_of(const Value& v) { return static_cast<size_t>(v.shape.size()) * item_size(v.dtype); }

void forget(const Value& v) {
  if (!v.mapped) return;
  constexpr uintptr_t page = 4096;
  const uintptr_t from = (reinterpret_cast<uintptr_t>(v.data) + page - 1) / page * page, to = (reinterpret_cast<uintptr_t>(v.data) + bytes_of(v)) / page * page;
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

Reading::Reading(const Value& v) : data(v.data) {
  if (v.read) {
    keep_ = v.read(&data);
  } else if (!is_aligned(v)) {
    data = (copy_ = copy_into(passing_buffer(bytes_of(v)), v.data, bytes_of(v)))->data;
    forget(v);
  }
}

bool has_unseen(const float* data, int64_t n) {
  constexpr int32_t kNormal = 1 << 23, kSeen = (127 - 60) << 23;
  int32_t largest = 0, found = 0;
  for (int64_t i = 0; i < n; i++) {
    int32_t bits;
    std::memcpy(&bits, data + i, sizeof bits);
    const int32_t magnitude = bits & INT32_MAX;
    largest = std::max(largest, magnitude);
    found |= static_cast<int32_t>(magnitude > 0) & static_cast<int32_t>(magnitude < kNormal);
  }
  return found && largest >= kSeen;
}

std::vector<int64_t> read_ints(const void* p, DType t, int64_t n) {
  std::vector<int64_t> out(n);
  for (int64_t i = 0; i < n; i++) switch (t) {
      case DType::i64: out[i] = static_cast<const int64_t*>(p)[i]; break;
      case DType::i32: out[i] = static_cast<const int32_t*>(p)[i]; break;
      case DType::i16: out[i] = static_cast<const int16_t*>(p)[i]; break;
      case DType::i8: out[i] = static_cast<const int8_t*>(p)[i]; break;
      case DType::u64: out[i] = static_cast<int64_t>(static_cast<const uint64_t*>(p)[i]); break;
      case DType::u32: out[i] = static_cast<const uint32_t*>(p)[i]; break;
      case DType::u16: out[i] = static_cast<const uint16_t*>(p)[i]; break;
      case DType::u8:
      case DType::boolean: out[i] = static_cast<const uint8_t*>(p)[i]; break;
      default: throw OpError("an integer tensor was expected");
    }
  return out;
}

std::vector<double> read_numbers(const void* p, DType t, int64_t n) {
  std::vector<double> out(n);
  if (t == DType::f32) {
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<const float*>(p)[i];
  } else if (t == DType::f64) {
    for (int64_t i = 0; i < n; i++) out[i] = static_cast<const double*>(p)[i];
  } else if (t == DType::bf16) {
    for (int64_t i = 0; i < n; i++) {
      uint32_t bits = static_cast<uint32_t>(static_cast<const uint16_t*>(p)[i]) << 16;
      float f;
      std::memcpy(&f, &bits, 4);
      out[i] = f;
    }
  } else if (t == DType::f16) {
    for (int64_t i = 0; i < n; i++) {
      const uint16_t h = static_cast<const uint16_t*>(p)[i];
      const int exponent = (h >> 10) & 31, mantissa = h & 1023;
      double v = exponent == 0 ? mantissa * 0x1p-24 : exponent == 31 ? (mantissa ? __builtin_nan("") : __builtin_inf()) : (1024 + mantissa) * __builtin_ldexp(1.0, exponent - 25);
      out[i] = h >> 15 ? -v : v;
    }
  } else {
    auto ints = read_ints(p, t, n);
    std::copy(ints.begin(), ints.end(), out.begin());
  }
  return out;
}

}  // namespace sx
