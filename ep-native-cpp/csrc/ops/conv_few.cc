// Convolution of blocked planes to a plain tensor of few channels, as at the end of nets that make pictures or masks.
#include <algorithm>

#include "kernels/isa.h"
#include "ops/conv.h"
#include "ops/jobs.h"

namespace sx {
namespace {

constexpr int64_t kFew = 4;

struct FewArgs {
  FewChannels f;
  int64_t images, image, chunks, rows;
  decltype(Kernels::few_rows) run;
  bool parallel;
};

void few_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const FewArgs*>(args);
  run_jobs(rt, a.images * a.chunks, a.parallel, [&a](int64_t job, int64_t) {
    const int64_t chunk = job % a.chunks, n = job / a.chunks;
    FewChannels f = a.f;
    f.x += n * a.image;
    f.y += n * f.filters * f.out_plane;
    a.run(f, a.rows * chunk / a.chunks, a.rows * (chunk + 1) / a.chunks);
  });
}

// [filters][channels][taps] to [filters][blocks][taps][16].
void pack(const float* w, float* out, const ConvProblem& c) {
  const int64_t blocks = blocks_of(c.w.c), taps = c.taps();
  std::fill_n(out, c.oc * blocks * taps * kBlock, 0.0f);
  for (int64_t o = 0; o < c.oc; o++)
    for (int64_t i = 0; i < c.w.c; i++)
      for (int64_t t = 0; t < taps; t++) out[((o * blocks + i / kBlock) * taps + t) * kBlock + i % kBlock] = w[o * c.weights_out() + i * c.weights_in() + t];
}

}  // namespace

bool plan_few(PlanCtx& p, const ConvProblem& c) {
  if (p.out_layout(0) != Layout::plain || c.oc > kFew || c.w.c % kBlock || c.group > 1 || c.w.spatial > 2) return false;
  if (!p.is_const(kW) || c.parts > 1 || c.shuffle > 1 || p.has(kPreScale) || p.has(kResidual)) return false;
  const int64_t taps = c.taps(), filter = blocks_of(c.w.c) * taps * kBlock;
  const auto weights = p.pack(kW, c.turned ? "few:turned" : "few", [&](const void* data) {
    auto buffer = lasting_buffer(static_cast<size_t>(c.oc * filter) * sizeof(float));
    pack(static_cast<const float*>(data), static_cast<float*>(buffer->data), c);
    return buffer;
  });
  const Packed bias = padded_vector(p, kB, c.oc, kFew);
  const Place x = blocked_input(p, kX);
  auto* a = p.emit<FewArgs>(few_step);
  *a = {};
  set_windows(a->f, c.w);
  a->f.channels = c.w.c;
  a->f.filters = c.oc;
  a->f.plane = c.w.pixels_in() * kBlock;
  a->f.filter = filter;
  a->f.out_plane = c.w.pixels_out();
  a->f.tail = conv_tail(p.op.attrs);
  a->images = c.w.n;
  a->image = blocks_of(c.w.c) * a->f.plane;
  a->rows = c.w.h.out;
  a->run = kernels().few_rows;
  a->parallel = p.threads() > 1 && worth_parallel(0, c.flops());
  a->chunks = a->parallel ? std::min<int64_t>(a->rows, 8 * p.threads()) : 1;
  x.bind(p, a->f.x);
  p.bind_packed(a->f.w, weights);
  bias.bind(p, a->f.tail.bias);
  p.bind_out(a->f.y, 0);
  return true;
}

}  // namespace sx
