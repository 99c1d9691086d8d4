// Direct convolution over blocked planes.
#include "kernels/conv/tile.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

int64_t conv_tile() { return kTileChannels; }
int64_t conv_tile_pixels() { return kTilePixels; }

template <int NB>
static void one_tile(const ConvRows& c, int64_t t, const char* next, const char* end) {
  const float* w = c.w + t * c.tile_floats;
  const float* bias = c.tail.bias + t * kTileChannels;
  float* y = c.y + t * kTileBlocks * c.y_plane;
  const float* residual = c.tail.residual ? c.tail.residual + t * kTileBlocks * c.y_plane : nullptr;
  // Nearly equal tiles: a last one of a single pixel would cost as much as three.
  const int64_t tiles = (c.cols + kTilePixels - 1) / kTilePixels;
  for (int64_t r = 0; r < c.rows; r++) {
    for (int64_t i = 0, col = 0; i < tiles; i++) {
      const int64_t pixels = (c.cols - col + (tiles - i) - 1) / (tiles - i), at = r * c.y_row + col * 16;
      Tiles<kTilePixels, NB>::run(static_cast<int>(pixels), c, r * c.row + col * c.pixel, w, bias, residual ? residual + at : nullptr, y + at, next,
                                  next < end ? 256 : 0);
      col += pixels;
    }
  }
}

void conv_rows(const ConvRows& c, int64_t t0, int64_t t1) {
  for (int64_t t = t0; t < t1; t++) {
    const bool last = t + 1 == t1;
    const char* ahead = last ? c.next : reinterpret_cast<const char*>(c.w + (t + 1) * c.tile_floats);
    // Without anything to fetch the cursor stands still on this tile's own weights.
    const char* next = ahead ? ahead : reinterpret_cast<const char*>(c.w + t * c.tile_floats);
    const char* end = ahead ? next + c.tile_floats * sizeof(float) : next;
    if (kTileBlocks == 2 && (t + 1) * kTileBlocks > c.blocks)
      one_tile<1>(c, t, next, end);
    else
      one_tile<kTileBlocks>(c, t, next, end);
  }
}

}  // namespace SX_ISA
}  // namespace sx
