// Convolution to few channels: vectors run along the input channels, and a sum over their lanes gives one output.
//
// Tiles of outputs as of a depthwise convolution, but for several filters at once, so that a load of the input serves all.
#include "kernels/conv/tail.h"
#include "kernels/conv/window.h"
#include "kernels/table.h"

namespace sx {
namespace SX_ISA {

// Outputs of a tile of that many filters: its sums, the filters' taps and an input fit the registers.
static constexpr int tile_outputs(int filters) {
#if SX_WIDTH == 16
  return filters == 1 ? 14 : filters == 2 ? 10 : filters == 3 ? 8 : 6;
#elif SX_WIDTH == 8
  return filters == 1 ? 8 : filters == 2 ? 5 : filters == 3 ? 3 : 2;
#else
  return filters == 1 ? 8 : filters == 2 ? 4 : filters == 3 ? 2 : 1;
#endif
}

// Taps [rows][cols] of a window, from the input `x` and weights `w` of the first on.
struct Window {
  const float *x, *w;
  int64_t rows, cols;
};

// P neighbouring outputs of F filters, to y.
template <int P, int F>
static __attribute__((noinline)) void outputs(const FewChannels& f, const Window& at, float* y) {
  const int64_t pixel = f.stride_w * 16, step = f.dilation_w * 16, line = f.dilation_h * f.width * 16, filter = f.filter;
  vf acc[F][P];
#pragma GCC unroll 4
  for (int i = 0; i < F; i++)
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) acc[i][p] = vf{};
#pragma GCC unroll 1
  for (int64_t c = 0; c < f.channels; c += W) {
    const float *plane = at.x + c / 16 * f.plane + c % 16, *taps = at.w + c / 16 * f.kh * f.kw * 16 + c % 16;
#pragma GCC unroll 1
    for (int64_t a = 0; a < at.rows; a++) {
      const float *x = plane + a * line, *w = taps + a * f.kw * 16;
#pragma GCC unroll 1
      for (int64_t b = 0; b < at.cols; b++, x += step, w += 16) {
        vf tap[F];
#pragma GCC unroll 4
        for (int i = 0; i < F; i++) tap[i] = load(w + i * filter);
#pragma GCC unroll 16
        for (int p = 0; p < P; p++) {
          const vf in = load(x + p * pixel);
#pragma GCC unroll 4
          for (int i = 0; i < F; i++) acc[i][p] += tap[i] * in;
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < F; i++) {
    float sums[16] = {};
#pragma GCC unroll 16
    for (int p = 0; p < P; p++) sums[p] = hsum(acc[i][p]) + f.tail.bias[i];
    finish_floats(f.tail, sums, nullptr, sums, 16);
    std::memcpy(y + i * f.out_plane, sums, P * sizeof(float));
  }
}

template <int P, int F>
struct FewTiles {
  static void run(int pixels, const FewChannels& f, const Window& at, float* y) {
    if (pixels == P)
      outputs<P, F>(f, at, y);
    else
      FewTiles<P - 1, F>::run(pixels, f, at, y);
  }
};
template <int F>
struct FewTiles<0, F> {
  static void run(int, const FewChannels&, const Window&, float*) {}
};

template <int F>
static void one_row(const FewChannels& f, int64_t r) {
  const int64_t top = r * f.stride_h - f.pad_top;
  const Taps rows = taps_inside(top, f.kh, f.dilation_h, f.height);
  const Taps inner = outputs_inside(f.out_width, f.stride_w, f.pad_left, (f.kw - 1) * f.dilation_w, f.width);
  const float *line = f.x + (top + rows.from * f.dilation_h) * f.width * 16, *w = f.w + rows.from * f.kw * 16;
  float* y = f.y + r * f.out_width;
  constexpr int64_t most = tile_outputs(F);
  for (int64_t c = 0; c < f.out_width;) {
    const int64_t left = c * f.stride_w - f.pad_left;
    const Taps cols = taps_inside(left, f.kw, f.dilation_w, f.width);
    const Window at{line + (left + cols.from * f.dilation_w) * 16, w + cols.from * 16, rows.to - rows.from, cols.to - cols.from};
    int64_t pixels = 1;
    if (c >= inner.from && c < inner.to) {
      const int64_t tiles = (inner.to - c + most - 1) / most;
      pixels = (inner.to - c + tiles - 1) / tiles;
    }
    FewTiles<tile_outputs(F), F>::run(static_cast<int>(pixels), f, at, y + c);
    c += pixels;
  }
}

void few_rows(const FewChannels& f, int64_t r0, int64_t r1) {
  for (int64_t r = r0; r < r1; r++) {
    if (f.filters == 1)
      one_row<1>(f, r);
    else if (f.filters == 2)
      one_row<2>(f, r);
    else if (f.filters == 3)
      one_row<3>(f, r);
    else
      one_row<4>(f, r);
  }
}

}  // namespace SX_ISA
}  // namespace sx
