// Argument structs of the nbits family: products with weights of 2, 4 or 8 bits, quantized in blocks along K.
#pragma once
#include <cstdint>

namespace sx {

constexpr int64_t kNBitsGroup = 16;  // columns that lie together

// Weights [groups][K / (32 / bits)][16] words, of which field j holds the number of the word's j-th k; their scales and
// zero points [groups][blocks][16], a zero point being a byte, a float, or (both null) 2^(bits - 1).
struct NBits {
  const uint32_t* words;
  const float* scales;
  const uint8_t* zero_bytes;
  const float* zero_floats;
  int64_t n, k, blocks, block;  // block: k's that share a scale; K is padded to blocks * block
  int32_t bits;
};

// c[n] = a B + bias of one row: `a` as nbits_row_prepare left it.
struct NBitsRow {
  NBits b;
  const float *a, *sums;
  const float* bias;  // or null
  float* c;
};

}  // namespace sx
