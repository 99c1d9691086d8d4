// Argument structs of the conv family. "Blocked" is [N][ceil(C/16)][H][W][16]; a plane is one channel block's [H][W][16].
#pragma once
#include <cstdint>

#include "kernels/gemm/args.h"

namespace sx {

// Consecutive floats at a pixel that a convolution sums over: channels of one block (or taps of a row, of a plain input).
struct ConvRun {
  const float* x;
  int64_t len;
  int64_t skip = 0;  // floats of weights to pass over first; with kernels of one tap only
};

// What becomes of a sum: act(sum + bias + residual) * scale + shift; with residual_after the residual comes last.
struct ConvTail {
  const float* bias;      // [output channels rounded up to 16]
  const float* residual;  // laid out as the output, or null
  Act act;
  float alpha, beta;
  int32_t residual_after;
  int32_t affine;  // whether scale and shift matter
  float scale, shift;
};

// Outputs [rows, cols] of some output tiles (of conv_tile() channels each), all of which sum over the same runs.
struct ConvRows {
  const ConvRun* runs;     // and one more, which is only fetched into cache
  int64_t n_runs;
  const float* w;          // packed [tile][run][kh][kw][len][tile channels], from the first tile on
  int64_t tile_floats;     // of w
  int64_t kh, kw, step_h, step_w;  // taps, and floats from tap to tap
  int64_t pixel, row;      // floats between the inputs of neighbouring outputs, and of neighbouring output rows
  int64_t rows, cols;
  float* y;                // the first row of the first tile's first plane
  int64_t y_row, y_plane;  // floats
  int64_t channels;        // output channels that there are from y on
  ConvTail tail;           // bias and residual of the first tile
  const char* next;        // weights to fetch into L2 after the last tile's, or null
};

// Rows r0, r0 + step_h, ... (`rows` of them) of a plane into a wider, zero-bordered buffer: out[rows][left + width + right][unit];
// or, with step_w above 1, the pixels 0, step_w, ... of those rows: out[rows][ceil(width / step_w)][unit].
struct StagePlane {
  const float* x;        // plane of height x width x unit floats, or null for zeros
  int64_t height, width, unit;
  int64_t r0, rows, step_h, step_w;  // r0 may be negative, rows may run past the height: zeros
  int64_t left, right;   // pixels of zeros; negative: pixels of the source left out
  const float* scale;    // [unit] each, or null: out = act(x * scale + shift)
  const float* shift;
  Act act;
  float* out;
};

// Every output's inputs gathered from plain planes: out[rows][cols][pitch], of which channels x kh x kw floats are used (kw
// at most 8); pitch has room for a last segment of 4 floats, or of 8 where kw is above 4.
struct StagePatches {
  const float* x;  // [channels][height][width]
  int64_t channels, height, width;
  int64_t kh, kw, stride_h, stride_w, dilation_h, pad_top, pad_left;
  int64_t r0, rows, cols, pitch;
  float* out;
};

// One plane of a depthwise convolution: rows [r0, r1) of the output.
struct Depthwise {
  const float* x;
  const float* w;  // [kh][kw][16]
  float* y;
  int64_t height, width, out_width;
  int64_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  ConvTail tail;  // bias and residual of this plane
};

// A convolution of an image of whole blocked planes to at most four plain planes: rows [r0, r1) of these.
struct FewChannels {
  const float* x;
  const float* w;  // [filters][blocks][kh][kw][16]
  float* y;
  int64_t height, width, out_width;
  int64_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int64_t channels, filters;         // of the input; of the output
  int64_t plane, filter, out_plane;  // floats
  ConvTail tail;                     // bias [filters]; no residual
};

// One plane of a transposed convolution's output from the products of its taps, which lie `tap` floats apart.
struct Transposed {
  const float* products;
  float* y;
  int64_t tap;
  int64_t height, width, out_width;  // of the input; of the output
  int64_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  ConvTail tail;  // bias of this plane; no residual
};

enum class PoolKind : int32_t { max, average };

// One plane of a pool: rows [r0, r1) of the output.
struct Pool2d {
  const float* x;
  float* y;
  int64_t height, width, out_width;
  int64_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  int64_t bottom, right;  // padded extents for averages that count padding: height + pad_bottom, width + pad_right
  PoolKind kind;
  int32_t count_padding;
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + shift over the channels of each pixel of an image.
struct NormPixels {
  const float* x;
  float* y;
  const float *scale, *shift;  // [channels rounded up to 16]
  int64_t channels, plane;     // floats per plane
  float epsilon;
};

// Plain [C][pixels] to and from blocked planes.
struct BlockCopy {
  const float* x;
  float* y;
  int64_t channels, pixels;
};

// Minimal filtering F(m, taps) along the height and the width: a tile of mh x mw outputs from (mh + kh - 1) x (mw + kw - 1)
// inputs, which are as many points. An axis with one tap has m = 1.
struct WinogradForm {
  int32_t mh, kh, mw, kw;
};

// The forms that there are. Three taps make two or four outputs, five taps two.
constexpr WinogradForm kWinogradForms[] = {{4, 3, 4, 3}, {2, 3, 2, 3}, {2, 5, 2, 5}, {1, 1, 4, 3}, {1, 1, 2, 3}, {1, 1, 2, 5}, {4, 3, 1, 1}, {2, 3, 1, 1}, {2, 5, 1, 1}};

// Tiles of a form, of one plane: tile rows [row, row + rows) and columns [col, col + cols). Point p of tile t (counted from the
// first on) has its 16 channels at points + p * step + 16 t.
struct WinogradTiles {
  const float* x;  // input transform: the plane
  float* y;        // output transform: the plane
  float* points;
  int64_t step;
  int64_t row, rows, col, cols;
  int64_t height, width;  // of the plane
  int64_t line, pixel;    // floats from row to row and from pixel to pixel: a dilated convolution sees every d-th
  int64_t pad_top, pad_left;
  WinogradForm form;
  ConvTail tail;  // bias and residual of the plane
};

// y = act(x op b), over `n` floats of one or more planes; b by kind.
enum class MapOp : int32_t { none, add, sub, rsub, mul, div, rdiv, max, min, affine };
enum class MapOperand : int32_t { none, same, lanes, scalar, pixel };
struct PlaneMap {
  const float* x;
  float* y;
  const float* b;  // same: [n]; lanes: [16]; scalar: [1]; pixel: lane 0 of each pixel of [n]
  const float* c;  // affine: x * b + c, lanes
  int64_t n;
  MapOp op;
  MapOperand operand;
  Act act;
  float alpha, beta;
};

}  // namespace sx
