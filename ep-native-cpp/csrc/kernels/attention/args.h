// Argument structs of the attention family.
#pragma once
#include <cstdint>

namespace sx {

// softmax(scale Q K^T + mask) V for one (batch, query head). Pointers are already at that head; rows are `*_s` floats apart.
struct AttentionHead {
  const float* q;
  const float* k;
  const float* v;
  float* o;
  int64_t q_s, k_s, v_s, o_s;
  int64_t s, t, d, dv;         // query rows, keys, head sizes
  const float* mask;           // additive [s, t] by strides, or null
  const uint8_t* keep;         // boolean mask by the same strides, or null
  int64_t mask_s, mask_t;      // strides in elements; 0 broadcasts
  int64_t mask_cols;           // keys the mask speaks of; those beyond are masked out
  int64_t causal;              // -1: off; else query row i sees keys 0 .. i + causal
  float scale, softcap;
  float* packed;               // scratch: K in panels [ceil(t / panel)][d][panel], then V in panels [dv / panel][t][panel]
  float* scores;               // scratch: rows of round_up(t, panel)
};

// Rotary embedding of rows of one head: x[0:r/2], x[r/2:r] rotated by the angles of `cos` and `sin` (r/2 floats a row).
struct Rotary {
  const float* x;
  const float* cos;
  const float* sin;
  const int64_t* position;  // [b, s], or null: cos and sin are [b, s, r / 2]
  float* y;
  int64_t b, s, h, d, r;
  int64_t x_b, x_s, x_h, y_b, y_s, y_h;
  int64_t max_position;
  int32_t interleaved;
};

}  // namespace sx
