// Depthwise convolution on blocked planes.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/conv.h"
#include "ops/jobs.h"

namespace sx {
namespace {

struct DepthwiseArgs {
  Depthwise d;
  int64_t images, blocks, chunks, rows;
  decltype(Kernels::depthwise_rows) run;
  bool parallel;
};

void depthwise_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const DepthwiseArgs*>(args);
  run_jobs(rt, a.images * a.blocks * a.chunks, a.parallel, [&a](int64_t job, int64_t) {
    const int64_t chunk = job % a.chunks, plane = job / a.chunks, block = plane % a.blocks;
    Depthwise d = a.d;
    d.x += plane * d.height * d.width * 16;
    d.w += block * d.kh * d.kw * 16;
    const int64_t out = plane * a.rows * d.out_width * 16;
    d.y += out;
    d.tail.bias += block * 16;
    if (d.tail.residual) d.tail.residual += out;
    a.run(d, a.rows * chunk / a.chunks, a.rows * (chunk + 1) / a.chunks);
  });
}

// [C][taps] to [blocks][taps][16].
void pack(const float* w, float* out, int64_t channels, int64_t taps) {
  for (int64_t c = 0; c < blocks_of(channels) * kBlock; c++)
    for (int64_t t = 0; t < taps; t++) out[(c / kBlock * taps + t) * kBlock + c % kBlock] = c < channels ? w[c * taps + t] : 0;
}

struct PackArgs {
  const float* w;
  float* out;
  int64_t channels, taps;
};
void pack_step(const void* args, Runtime&) {
  auto& a = *static_cast<const PackArgs*>(args);
  pack(a.w, a.out, a.channels, a.taps);
}

}  // namespace

bool plan_depthwise(PlanCtx& p, const ConvProblem& c, const ConvEnd& end) {
  if (!c.depthwise() || c.w.spatial > 2 || c.parts > 1 || c.shuffle > 1 || p.has(kPreScale)) return false;
  const int64_t blocks = blocks_of(c.oc), taps = c.taps();
  Packed weights;
  const size_t bytes = static_cast<size_t>(blocks * kBlock * taps) * sizeof(float);
  if (p.is_const(kW)) {
    weights.buffer = p.pack(kW, "depthwise", [&](const void* data) {
      auto buffer = lasting_buffer(bytes);
      pack(static_cast<const float*>(data), static_cast<float*>(buffer->data), c.oc, taps);
      return buffer;
    });
  } else {
    weights.scratch = p.scratch(bytes);
    auto* a = p.emit<PackArgs>(pack_step);
    a->channels = c.oc;
    a->taps = taps;
    p.bind_in(a->w, kW);
    p.bind_scratch(a->out, weights.scratch);
  }
  const Packed bias = padded_vector(p, kB, c.oc, blocks * kBlock);
  const Place x = blocked_input(p, kX);
  auto* a = p.emit<DepthwiseArgs>(depthwise_step);
  *a = {};
  set_windows(a->d, c.w);
  a->d.tail = end.tail;
  a->images = c.w.n;
  a->blocks = blocks;
  a->rows = c.w.h.out;
  a->run = kernels().depthwise_rows;
  a->parallel = p.threads() > 1 && worth_parallel(c.w.n * blocks * 64 * (c.w.pixels_in() + c.w.pixels_out()), c.flops());
  a->chunks = 1;
  if (a->parallel && c.w.n * blocks < 4 * p.threads()) a->chunks = std::min<int64_t>(a->rows, (4 * p.threads() + c.w.n * blocks - 1) / (c.w.n * blocks));
  x.bind(p, a->d.x);
  weights.bind(p, a->d.w);
  bias.bind(p, a->d.tail.bias);
  end.residual.bind(p, a->d.tail.residual);
  end.out.bind(p, a->d.y);
  return true;
}

}  // namespace sx
