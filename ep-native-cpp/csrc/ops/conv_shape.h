// Shapes of convolutions and pools: spatial axes by attributes, up to three of them.
#pragma once
#include "engine/op.h"

namespace sx {

// One spatial axis.
struct Axis {
  int64_t in = 1, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0, out = 1;
  int64_t reach() const { return (kernel - 1) * dilation; }
  // Where the input of an output's tap lies; in the padding where it is not `inside`.
  int64_t at(int64_t output, int64_t tap) const { return output * stride - begin + tap * dilation; }
  bool inside(int64_t output, int64_t tap) const { return at(output, tap) >= 0 && at(output, tap) < in; }
  bool padded() const { return begin != 0 || end != 0; }
};

// Batch, channels and the axes depth, height, width; those that a tensor lacks have size 1.
struct Windows {
  int64_t n = 1, c = 1;
  int spatial = 2;
  Axis d, h, w;
  Axis& axis(int i) { return i == spatial - 1 ? w : i == spatial - 2 ? h : d; }
  int64_t pixels_in() const { return d.in * h.in * w.in; }
  int64_t pixels_out() const { return d.out * h.out * w.out; }
};

// OpError if it is none of ONNX's.
void check_auto_pad(const std::string& mode);

// OpError if the attribute kernel_shape is given and is not the size of the kernel that an input gives.
void check_kernel_shape(const Attributes& attrs, const int64_t* kernel, size_t axes);

// The windows of x under the attributes kernel_shape, strides, dilations, pads, auto_pad and (pools) ceil_mode. `kernel`
// is the kernel's size where an input gives it, else null. Throws OpError for what does not fit.
Windows windows_of(const Attributes& attrs, const Shape& x, const int64_t* kernel, bool pool);

// Height and width as the kernels that walk planes take them.
template <typename Kernel>
void set_windows(Kernel& k, const Windows& w) {
  k.height = w.h.in;
  k.width = w.w.in;
  k.out_width = w.w.out;
  k.kh = w.h.kernel;
  k.kw = w.w.kernel;
  k.stride_h = w.h.stride;
  k.stride_w = w.w.stride;
  k.dilation_h = w.h.dilation;
  k.dilation_w = w.w.dilation;
  k.pad_top = w.h.begin;
  k.pad_left = w.w.begin;
}

// [n, channels, spatial out...].
Shape shape_out(const Windows& w, int64_t channels);

}  // namespace sx
