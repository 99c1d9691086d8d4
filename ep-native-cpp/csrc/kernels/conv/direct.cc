// Direct convolution over blocked planes.
#include "kernels/conv/tile.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

int64_t conv_tile() { return kTileChannels; }
int64_t conv_tile_pixels() { return kTilePixels; }

constexpr int64_t kPanelFloats = 24 * 1024;  // of weights that a pass over the pixels keeps in L2

template <int NV, int MR>
static void one_tile(const ConvRows& whole, int64_t t, bool long_sum, const char* next, const char* end) {
  const float* w = whole.w + t * whole.tile_floats;
  const float* bias = whole.tail.bias + t * kTileChannels;
  float* y = whole.y + t * kTileBlocks * whole.y_plane;
  const float* residual = whole.tail.residual ? whole.tail.residual + t * kTileBlocks * whole.y_plane : nullptr;
  // Nearly equal tiles: a last one of a single pixel would cost as much as three.
  const int64_t tiles = (whole.cols + MR - 1) / MR;
  const int64_t step = fetch_step(whole.rows * tiles);
  ConvRows c = whole;
  int64_t done = 0;
  do {  // once where there is nothing to sum, as of no input channels: the bias goes through the tail
    // A long sum is done in passes over the pixels, a stretch of weights at a time.
    int64_t floats = 0;
    for (c.n_runs = 0; done + c.n_runs < whole.n_runs; c.n_runs++) {
      const ConvRun& run = whole.runs[done + c.n_runs];
      const int64_t more = run.len * c.kh * c.kw * kTileChannels + run.skip;
      if (c.n_runs && floats + more > kPanelFloats && long_sum) break;
      floats += more;
    }
    c.runs = whole.runs + done;
    const Part part{done == 0, done + c.n_runs == whole.n_runs};
    for (int64_t r = 0; r < c.rows; r++) {
      for (int64_t i = 0, col = 0; i < tiles; i++) {
        const int64_t pixels = (c.cols - col + (tiles - i) - 1) / (tiles - i), at = r * c.y_row + col * 16;
        next = Tiles<MR, NV>::run(static_cast<int>(pixels), c, r * c.row + col * c.pixel, w, bias, residual ? residual + at : nullptr, y + at, next,
                                           next < end ? step : 0, part);
        col += pixels;
      }
    }
    w += floats;
    done += c.n_runs;
  } while (done < whole.n_runs);
}

void conv_rows(const ConvRows& c, int64_t t0, int64_t t1) {
  int64_t steps = 0;
  for (int64_t r = 0; r < c.n_runs; r++) steps += c.runs[r].len;
  // A residual that the result replaces would be lost to the first pass.
  const bool long_sum = steps * c.kh * c.kw * kTileChannels > 2 * kPanelFloats && c.tail.residual != c.y;
  for (int64_t t = t0; t < t1; t++) {
    const bool last = t + 1 == t1;
    const char* ahead = last ? c.next : reinterpret_cast<const char*>(c.w + (t + 1) * c.tile_floats);
    // Without anything to fetch the cursor stands still on this tile's own weights.
    const char* next = ahead ? ahead : reinterpret_cast<const char*>(c.w + t * c.tile_floats);
    const char* end = ahead ? next + c.tile_floats * sizeof(float) : next;
    if (c.channels - t * kTileChannels <= kHalfVectors * W)
      one_tile<kHalfVectors, kHalfPixels>(c, t, long_sum, next, end);
    else
      one_tile<kTileVectors, kTilePixels>(c, t, long_sum, next, end);
  }
}

template <int NV, int MR>
static void all_points(const ConvRows& c, int64_t points, int64_t x_step, int64_t y_step) {
  alignas(64) static const float zeros[kTileChannels] = {};
  const int64_t tiles = (c.cols + MR - 1) / MR, step = fetch_step(tiles);
  for (int64_t p = 0; p < points; p++) {
    const float* w = c.w + p * c.tile_floats;
    const char* next = reinterpret_cast<const char*>(w + c.tile_floats);
    for (int64_t i = 0, col = 0; i < tiles; i++) {
      const int64_t pixels = (c.cols - col + (tiles - i) - 1) / (tiles - i);
      next = Tiles<MR, NV>::run(static_cast<int>(pixels), c, p * x_step + col * 16, w, zeros, nullptr, c.y + p * y_step + col * 16, next, step, Part{true, true});
      col += pixels;
    }
  }
}

void conv_points(const ConvRows& c, int64_t points, int64_t x_step, int64_t y_step) {
  if (c.channels <= kHalfVectors * W)
    all_points<kHalfVectors, kHalfPixels>(c, points, x_step, y_step);
  else
    all_points<kTileVectors, kTilePixels>(c, points, x_step, y_step);
}

}  // namespace SX_ISA
}  // namespace sx
