// Products with weights of 2, 4 or 8 bits that are read as they are stored.
#include "kernels/rows/lanes.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {
namespace {

constexpr int kVectors = kNBitsGroup / W;  // of one group

typedef uint8_t bytes __attribute__((vector_size(SX_WIDTH)));

template <int BITS>
constexpr int kFields = 32 / BITS;

// Field j of a word as a float: times 2^(BITS j) where it stays in its place, which spares a shift. The last one cannot,
// as it would reach the sign.
template <int BITS, bool SHIFTED>
inline vf field(vi word, int j) {
  constexpr int mask = (1 << BITS) - 1;
  if (SHIFTED || j == kFields<BITS> - 1) return to_float((word >> (BITS * j)) & mask);
  return to_float(word & (mask << (BITS * j)));
}

inline vf zeros_at(const NBits& b, int64_t at) {
  if (b.zero_floats) return load(b.zero_floats + at);
  if (!b.zero_bytes) return splat(static_cast<float>(1 << (b.bits - 1)));
  bytes z;
  __builtin_memcpy(&z, b.zero_bytes + at, W);
  return to_float(__builtin_convertvector(z, vi));
}

// GROUPS neighbouring groups of a row's product.
template <int BITS, int GROUPS>
inline void row_groups(const NBitsRow& r, int64_t group) {
  const NBits& b = r.b;
  constexpr int fields = kFields<BITS>, vectors = GROUPS * kVectors, parts = vectors <= 4 ? 2 : 1;
  const int64_t words = b.block / fields, stride = b.blocks * words * kNBitsGroup, line = b.blocks * kNBitsGroup;
  const uint32_t* w = b.words + group * stride;
  const float* a = r.a;
  vf total[vectors];
  for (int v = 0; v < vectors; v++) total[v] = vf{};
  for (int64_t block = 0; block < b.blocks; block++) {
    vf acc[parts][vectors];
    for (int p = 0; p < parts; p++)
      for (int v = 0; v < vectors; v++) acc[p][v] = vf{};
    for (int64_t i = 0; i < words; i++) {
      vi word[vectors];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; v++) word[v] = load(reinterpret_cast<const int32_t*>(w) + (v / kVectors) * stride + (v % kVectors) * W);
#pragma GCC unroll 16
      for (int j = 0; j < fields; j++) {
        const vf x = splat(a[j]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) acc[j % parts][v] += x * field<BITS, false>(word[v], j);
      }
      w += kNBitsGroup;
      a += fields;
    }
    const vf sum = splat(r.sums[block]);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
      const int64_t at = (group + v / kVectors) * line + block * kNBitsGroup + (v % kVectors) * W;
      vf dot = acc[0][v];
      for (int p = 1; p < parts; p++) dot += acc[p][v];
      total[v] += (dot - zeros_at(b, at) * sum) * load(b.scales + at);
    }
  }
  for (int v = 0; v < vectors; v++) {
    const int64_t col = group * kNBitsGroup + v * W, left = b.n - col;
    if (left <= 0) break;
    const int part = left < W ? static_cast<int>(left) : W;
    if (r.bias) total[v] += load_part(r.bias + col, part);
    store_part(r.c + col, total[v], part);
  }
}

template <int BITS>
void row(const NBitsRow& r, int64_t begin, int64_t end) {
  constexpr int together = W >= 8 ? 2 : 1;
  int64_t g = begin;
  for (; g + together <= end; g += together) row_groups<BITS, together>(r, g);
  for (; g < end; g++) row_groups<BITS, 1>(r, g);
}

template <int BITS>
void prepare(const NBits& b, const float* a, float* scaled, float* sums) {
  constexpr int fields = kFields<BITS>;
  for (int64_t block = 0; block < b.blocks; block++, a += b.block, scaled += b.block) {
    const int64_t left = b.k - block * b.block, n = left < b.block ? left : b.block;
    sums[block] = row_sum(a, n, vf{}, [](vf x) { return x; });
    for (int64_t i = 0; i < b.block; i++) {
      const int j = static_cast<int>(i % fields);
      // 1 / 2^(BITS j), exactly.
      const float factor = j == fields - 1 ? 1.0f : 1.0f / static_cast<float>(1u << (BITS * j));
      scaled[i] = i < n ? a[i] * factor : 0.0f;
    }
  }
}

template <int BITS>
void widen(const NBits& b, int64_t k0, int64_t k1, int64_t first, int64_t count, int64_t width, float* out) {
  constexpr int fields = kFields<BITS>;
  const int64_t words = b.blocks * b.block / fields;
  // Panels are of whole vectors, and so are groups.
  for (int64_t col = 0; col < (count + width - 1) / width * width; col += W) {
    float* to = out + col / width * width * (k1 - k0) + col % width - k0 * width;
    const int64_t group = (first + col) / kNBitsGroup, lane = (first + col) % kNBitsGroup;
    if (first + col >= b.n) {
      for (int64_t i = k0; i < k1; i++) store(to + i * width, vf{});
      continue;
    }
    const int32_t* w = reinterpret_cast<const int32_t*>(b.words) + group * words * kNBitsGroup + lane;
    const int64_t line = group * b.blocks * kNBitsGroup + lane;
    for (int64_t block = k0 / b.block; block * b.block < k1; block++) {
      const vf scale = load(b.scales + line + block * kNBitsGroup), zero = zeros_at(b, line + block * kNBitsGroup);
      const int64_t end = (block + 1) * b.block < k1 ? (block + 1) * b.block : k1;
      for (int64_t i = block * b.block; i < end; i += fields) {
        const vi word = load(w + i / fields * kNBitsGroup);
        const int n = end - i < fields ? static_cast<int>(end - i) : fields;
        if (n == fields) {
#pragma GCC unroll 16
          for (int j = 0; j < fields; j++) store(to + (i + j) * width, (field<BITS, true>(word, j) - zero) * scale);
        } else {
          for (int j = 0; j < n; j++) store(to + (i + j) * width, (field<BITS, true>(word, j) - zero) * scale);
        }
      }
    }
  }
}

}  // namespace

void nbits_row_prepare(const NBits& b, const float* a, float* scaled, float* sums) {
  b.bits == 2 ? prepare<2>(b, a, scaled, sums) : b.bits == 4 ? prepare<4>(b, a, scaled, sums) : prepare<8>(b, a, scaled, sums);
}

void nbits_row(const NBitsRow& r, int64_t begin, int64_t end) { r.b.bits == 2 ? row<2>(r, begin, end) : r.b.bits == 4 ? row<4>(r, begin, end) : row<8>(r, begin, end); }

void nbits_widen(const NBits& b, int64_t k0, int64_t k1, int64_t first, int64_t count, int64_t width, float* out) {
  const auto run = b.bits == 2 ? widen<2> : b.bits == 4 ? widen<4> : widen<8>;
  run(b, k0, k1, first, count, width, out);
}

}  // namespace SX_ISA
}  // namespace sx
