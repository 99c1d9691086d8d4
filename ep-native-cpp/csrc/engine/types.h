// Element types, shapes and small fixed-capacity containers of the engine.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace sx {

enum class DType : uint8_t { f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean, count };

constexpr size_t kItemSize[] = {4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8, 1};
inline size_t item_size(DType t) { return kItemSize[static_cast<int>(t)]; }

// How a rank-4 (or rank-3) tensor [N, C, H, W] lies in memory. Blocked: [N][ceil(C/16)][H][W][16]; lanes beyond C hold
// finite values that nobody reads as data.
enum class Layout : uint8_t { plain, blocked };
constexpr int kBlock = 16;

constexpr int kMaxRank = 8;
// What to say of a tensor that has more.
inline std::string too_many_dimensions() {
  return "a tensor of more than " + std::to_string(kMaxRank) + " dimensions, the most that the engine takes; the provider cpu takes more";
}
constexpr size_t kAlign = 64;

struct Shape {
  int rank = 0;
  int64_t d[kMaxRank] = {};

  int64_t operator[](int i) const { return d[i]; }
  int64_t& operator[](int i) { return d[i]; }
  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= d[i];
    return n;
  }
  // Product of dimensions [from, to).
  int64_t size(int from, int to) const {
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= d[i];
    return n;
  }
  bool operator==(const Shape& o) const {
    return rank == o.rank && std::memcmp(d, o.d, sizeof(int64_t) * rank) == 0;
  }
  bool operator!=(const Shape& o) const { return !(*this == o); }
  void push(int64_t n) {
    if (rank == kMaxRank) throw std::length_error(too_many_dimensions());
    d[rank++] = n;
  }
  std::string str() const {
    std::string s = "[";
    for (int i = 0; i < rank; i++) s += (i ? ", " : "") + std::to_string(d[i]);
    return s + "]";
  }
};

inline int64_t round_up(int64_t n, int64_t m) { return (n + m - 1) / m * m; }

// Elements that storage of a tensor holds in its layout.
inline int64_t storage_size(const Shape& s, Layout layout) {
  if (layout == Layout::plain) return s.size();
  return s[0] * round_up(s[1], kBlock) * s.size(2, s.rank);
}

// An operator that a model's values or shapes do not fit. The message is shown with the node's name.
struct OpError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// More elements or bytes than a process can address; sums of such numbers do not overflow.
constexpr int64_t kMost = int64_t{1} << 47;

// A dimension that grows by a factor from a model or from data.
inline int64_t times(int64_t dim, int64_t factor) {
  int64_t product;
  if (__builtin_mul_overflow(dim, factor, &product)) throw OpError(std::to_string(dim) + " times " + std::to_string(factor) + " elements are more than memory can hold");
  return product;
}

}  // namespace sx
