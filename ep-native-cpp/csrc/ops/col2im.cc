// Col2Im: columns added up at their places in an image.
#include <algorithm>

#include "ops/axes.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

struct Axis {
  int64_t image, block, stride, dilation, begin, count;
};

template <typename Context>
std::vector<Axis> axes_of(Context& c) {
  const auto image = c.ints(1), block = c.ints(2);
  const size_t rank = image.size();
  auto values = [&](const char* name, size_t n, int64_t otherwise) {
    auto list = c.op.attrs.list(name);
    if (list.empty()) list.assign(n, otherwise);
    if (list.size() != n) throw OpError(std::string(name) + " has " + std::to_string(list.size()) + " values for " + std::to_string(rank) + " axes");
    return list;
  };
  const auto strides = values("strides", rank, 1), dilations = values("dilations", rank, 1), pads = values("pads", 2 * rank, 0);
  if (rank == 0 || block.size() != rank) throw OpError("image_shape and block_shape must have one value for each spatial axis");
  std::vector<Axis> axes;
  for (size_t i = 0; i < rank; i++) {
    if (block[i] < 1 || strides[i] < 1 || dilations[i] < 1 || image[i] < 0) throw OpError("block_shape, strides and dilations must be positive");
    if (std::max({pads[i], pads[i + rank], block[i], image[i]}) > kMost || std::min(pads[i], pads[i + rank]) < -kMost) throw OpError("sizes and pads go up to " + std::to_string(kMost) + " elements");
    const int64_t extent = times(block[i] - 1, dilations[i]) + 1, room = image[i] + pads[i] + pads[i + rank] - extent;
    axes.push_back({image[i], block[i], strides[i], dilations[i], pads[i], room < 0 ? 0 : room / strides[i] + 1});
  }
  return axes;
}

void infer_col2im(InferCtx& c) {
  const Shape& in = c.shape(0);
  const auto axes = axes_of(c);
  int64_t block = 1, count = 1;
  for (const Axis& a : axes) {
    block = times(block, a.block);
    count = times(count, a.count);
  }
  if (in.rank != 3 || in[1] % block != 0 || in[2] != count)
    throw OpError("Col2Im takes [N, C * " + std::to_string(block) + ", " + std::to_string(count) + "] for this image and block, got " + in.str());
  Shape out;
  out.push(in[0]);
  out.push(in[1] / block);
  for (const Axis& a : axes) out.push(a.image);
  c.output(0, out);
}

struct FoldArgs {
  const char* in;
  char* out;
  int64_t images, pixels;
  int32_t rank;
  Axis axes[kMaxRank];
};

// The windows [first, last) of an axis whose tap at `offset` lies in the image.
void range_of(const Axis& a, int64_t offset, int64_t* first, int64_t* last) {
  *first = offset >= 0 ? 0 : ceil_div(-offset, a.stride);
  *last = a.image - 1 - offset < 0 ? 0 : std::min(a.count, (a.image - 1 - offset) / a.stride + 1);
}

template <typename T>
void fold_step(const void* args, Runtime&) {
  auto& a = *static_cast<const FoldArgs*>(args);
  const T* in = reinterpret_cast<const T*>(a.in);
  T* out = reinterpret_cast<T*>(a.out);
  std::memset(static_cast<void*>(out), 0, static_cast<size_t>(a.images * a.pixels) * sizeof(T));
  int64_t taps = 1, windows = 1;
  for (int k = 0; k < a.rank; k++) {
    taps *= a.axes[k].block;
    windows *= a.axes[k].count;
  }
  const Axis& lane = a.axes[a.rank - 1];
  for (int64_t i = 0; i < a.images; i++, out += a.pixels)
    for (int64_t tap = 0; tap < taps; tap++, in += windows) {
      int64_t offset[kMaxRank], rest = tap;
      for (int k = a.rank - 1; k >= 0; k--) {
        offset[k] = rest % a.axes[k].block * a.axes[k].dilation - a.axes[k].begin;
        rest /= a.axes[k].block;
      }
      int64_t first, last;
      range_of(lane, offset[a.rank - 1], &first, &last);
      for (int64_t row = 0; row < windows / std::max<int64_t>(lane.count, 1); row++) {
        // The place of this row of windows, or none.
        int64_t place = 0, scale = lane.image, left = row;
        bool inside = true;
        for (int k = a.rank - 2; k >= 0; k--) {
          const int64_t at = left % a.axes[k].count * a.axes[k].stride + offset[k];
          left /= a.axes[k].count;
          inside &= at >= 0 && at < a.axes[k].image;
          place += at * scale;
          scale *= a.axes[k].image;
        }
        if (!inside) continue;
        const T* from = in + row * lane.count;
        T* to = out + place + offset[a.rank - 1];
        for (int64_t w = first; w < last; w++) to[w * lane.stride] = static_cast<T>(static_cast<Wide<T>>(to[w * lane.stride]) + static_cast<Wide<T>>(from[w]));
      }
    }
}

void plan_col2im(PlanCtx& p) {
  const Shape& out = p.out_shape(0);
  if (out.size() == 0) return;
  const auto axes = axes_of(p);
  auto* a = p.emit<FoldArgs>(with_type(p.dtype(0), [](auto t) -> StepFn { return fold_step<decltype(t)>; }));
  a->images = out[0] * out[1];
  a->pixels = out.size(2, out.rank);
  a->rank = static_cast<int32_t>(axes.size());
  std::copy(axes.begin(), axes.end(), a->axes);
  p.bind_in(a->in, 0);
  p.bind_out(a->out, 0);
}

const OpDef kTable[] = {{"Col2Im", infer_col2im, plan_col2im, nullptr}};

}  // namespace

OpFamily fold_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
