// Copies that make room for a convolution's border, and between plain and blocked layout.
#include "kernels/conv/tail.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

typedef float v4 __attribute__((vector_size(16), may_alias, aligned(4)));
typedef int32_t v4i __attribute__((vector_size(16)));

static inline void zeros(float* p, int64_t n) { __builtin_memset(p, 0, static_cast<size_t>(n) * sizeof(float)); }

// A row of n floats, 16 lanes to a pixel.
static void copy_row(const StagePlane& s, const float* x, float* out, int64_t n) {
  if (!s.scale) {
    __builtin_memcpy(out, x, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  vf scale[kLanes16], shift[kLanes16];
#pragma GCC unroll 4
  for (int v = 0; v < kLanes16; v++) {
    scale[v] = load(s.scale + v * W);
    shift[v] = s.shift ? load(s.shift + v * W) : vf{};
  }
  if (s.act == Act::relu) {
    for (int64_t i = 0; i < n; i += 16)
#pragma GCC unroll 4
      for (int v = 0; v < kLanes16; v++) store(out + i + v * W, vmax_keep(load(x + i + v * W) * scale[v] + shift[v], vf{}));
    return;
  }
  for (int64_t i = 0; i < n; i += 16)
#pragma GCC unroll 4
    for (int v = 0; v < kLanes16; v++) store(out + i + v * W, load(x + i + v * W) * scale[v] + shift[v]);
  activate_floats(s.act, out, n, 0, 0);
}

void stage_plane(const StagePlane& s) {
  if (s.step_w > 1) {
    float* to = s.out;
    for (int64_t r = 0; r < s.rows; r++)
      for (int64_t c = 0; c < s.width; c += s.step_w, to += 16) copy_row(s, s.x + ((s.r0 + r * s.step_h) * s.width + c) * 16, to, 16);
    return;
  }
  const int64_t pitch = (s.left + s.width + s.right) * s.unit;
  const int64_t skip = s.left < 0 ? -s.left : 0, left = s.left > 0 ? s.left : 0, right = s.right > 0 ? s.right : 0;
  const int64_t width = s.width - skip + (s.right < 0 ? s.right : 0);
  float* out = s.out;
  for (int64_t i = 0; i < s.rows; i++, out += pitch) {
    const int64_t r = s.r0 + i * s.step_h;
    if (!s.x || r < 0 || r >= s.height || width <= 0) {
      zeros(out, pitch);
      continue;
    }
    zeros(out, left * s.unit);
    copy_row(s, s.x + (r * s.width + skip) * s.unit, out + left * s.unit, width * s.unit);
    zeros(out + (left + width) * s.unit, right * s.unit);
  }
}


// A segment of kw floats for every output of a row: `wide` floats are copied where they lie inside, and what is too much is
// overwritten by the segment that follows, or falls behind the last.
static inline void patch_segment(const StagePatches& s, const float* x, float* out, int64_t wide, bool blank) {
  const int64_t first = (s.pad_left + s.stride_w - 1) / s.stride_w, room = s.width - wide + s.pad_left;
  int64_t last = room < 0 ? 0 : room / s.stride_w + 1;
  if (last > s.cols) last = s.cols;
  for (int64_t c = 0; c < s.cols; c++) {
    const int64_t left = c * s.stride_w - s.pad_left;
    if (!blank && c >= first && c < last) {
      for (; c < last; c++) {
        const float* from = x + c * s.stride_w - s.pad_left;
        *reinterpret_cast<v4*>(out + c * s.pitch) = *reinterpret_cast<const v4*>(from);
        if (wide > 4) *reinterpret_cast<v4*>(out + c * s.pitch + 4) = *reinterpret_cast<const v4*>(from + 4);
      }
      c--;
      continue;
    }
    for (int64_t k = 0; k < s.kw; k++) out[c * s.pitch + k] = !blank && left + k >= 0 && left + k < s.width ? x[left + k] : 0;
  }
}

void stage_patches(const StagePatches& s) {
  const int64_t wide = s.kw > 4 ? 8 : 4;
  for (int64_t r = 0; r < s.rows; r++) {
    const int64_t top = (s.r0 + r) * s.stride_h - s.pad_top;
    float* out = s.out + r * s.cols * s.pitch;
    for (int64_t i = 0; i < s.channels; i++)
      for (int64_t h = 0; h < s.kh; h++, out += s.kw) {
        const int64_t row = top + h * s.dilation_h;
        const bool blank = row < 0 || row >= s.height;
        patch_segment(s, blank ? s.x : s.x + (i * s.height + row) * s.width, out, wide, blank);
      }
  }
}

static inline void transpose4(v4& a, v4& b, v4& c, v4& d) {
  const v4 ab = __builtin_shuffle(a, b, v4i{0, 4, 1, 5}), AB = __builtin_shuffle(a, b, v4i{2, 6, 3, 7});
  const v4 cd = __builtin_shuffle(c, d, v4i{0, 4, 1, 5}), CD = __builtin_shuffle(c, d, v4i{2, 6, 3, 7});
  a = __builtin_shuffle(ab, cd, v4i{0, 1, 4, 5});
  b = __builtin_shuffle(ab, cd, v4i{2, 3, 6, 7});
  c = __builtin_shuffle(AB, CD, v4i{0, 1, 4, 5});
  d = __builtin_shuffle(AB, CD, v4i{2, 3, 6, 7});
}

void to_blocked(const BlockCopy& c, int64_t b0, int64_t b1) {
  for (int64_t b = b0; b < b1; b++) {
    const int64_t lanes = c.channels - b * 16 < 16 ? c.channels - b * 16 : 16;
    const float* x = c.x + b * 16 * c.pixels;
    float* y = c.y + b * 16 * c.pixels;
    int64_t i = 0;
    for (; i + 4 <= c.pixels; i += 4)
#pragma GCC unroll 4
      for (int64_t l = 0; l < 16; l += 4) {
        v4 r[4];
        for (int64_t k = 0; k < 4; k++) r[k] = l + k < lanes ? *reinterpret_cast<const v4*>(x + (l + k) * c.pixels + i) : v4{};
        transpose4(r[0], r[1], r[2], r[3]);
#pragma GCC unroll 4
        for (int64_t k = 0; k < 4; k++) *reinterpret_cast<v4*>(y + (i + k) * 16 + l) = r[k];
      }
    for (; i < c.pixels; i++)
      for (int64_t l = 0; l < 16; l++) y[i * 16 + l] = l < lanes ? x[l * c.pixels + i] : 0;
  }
}

void from_blocked(const BlockCopy& c, int64_t b0, int64_t b1) {
  for (int64_t b = b0; b < b1; b++) {
    const int64_t lanes = c.channels - b * 16 < 16 ? c.channels - b * 16 : 16;
    const float* x = c.x + b * 16 * c.pixels;
    float* y = c.y + b * 16 * c.pixels;
    int64_t i = 0;
    for (; i + 4 <= c.pixels; i += 4)
#pragma GCC unroll 4
      for (int64_t l = 0; l < 16; l += 4) {
        v4 r[4];
#pragma GCC unroll 4
        for (int64_t k = 0; k < 4; k++) r[k] = *reinterpret_cast<const v4*>(x + (i + k) * 16 + l);
        transpose4(r[0], r[1], r[2], r[3]);
        for (int64_t k = 0; k < 4 && l + k < lanes; k++) *reinterpret_cast<v4*>(y + (l + k) * c.pixels + i) = r[k];
      }
    for (; i < c.pixels; i++)
      for (int64_t l = 0; l < lanes; l++) y[l * c.pixels + i] = x[i * 16 + l];
  }
}

}  // namespace SX_ISA
}  // namespace sx
