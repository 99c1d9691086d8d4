// MaxPool, AveragePool and the global pools.
#include <algorithm>
#include <iterator>

#include "kernels/isa.h"
#include "ops/blocked.h"
#include "ops/conv_shape.h"
#include "ops/jobs.h"
#include "ops/table.h"

namespace sx {
namespace {

void infer_pool(InferCtx& c) { c.output(0, shape_out(windows_of(c.op.attrs, c.shape(0), nullptr, true), c.shape(0)[1])); }

struct PoolArgs {
  Pool2d p;
  int64_t planes, rows, chunks;
  decltype(Kernels::pool_rows) run;
  bool parallel;
};

void pool_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const PoolArgs*>(args);
  run_jobs(rt, a.planes * a.chunks, a.parallel, [&a](int64_t job, int64_t) {
    Pool2d p = a.p;
    p.x += job / a.chunks * p.height * p.width * 16;
    p.y += job / a.chunks * a.rows * p.out_width * 16;
    const int64_t chunk = job % a.chunks;
    a.run(p, a.rows * chunk / a.chunks, a.rows * (chunk + 1) / a.chunks);
  });
}

// Emits one pool over two axes: planes x [h][w][inner pixels of 16 floats]; inner > 1 is done as an axis of kernel 1.
void plan_pool(PlanCtx& p, PoolKind kind) {
  const Windows w = windows_of(p.op.attrs, p.shape(0), nullptr, true);
  if (p.out_shape(0).size() == 0) return;
  if (w.spatial > 2) throw OpError("pools take one or two spatial axes");
  const Place x = blocked_input(p, 0), out = blocked_output(p, 0);
  auto* a = p.emit<PoolArgs>(pool_step);
  *a = {};
  set_windows(a->p, w);
  a->p.bottom = w.h.in + w.h.end;
  a->p.right = w.w.in + w.w.end;
  a->p.kind = kind;
  a->p.count_padding = p.op.attrs.get("count_include_pad", 0) != 0;
  a->planes = w.n * blocks_of(w.c);
  a->rows = w.h.out;
  a->run = kernels().pool_rows;
  a->parallel = p.threads() > 1 && worth_parallel(a->planes * 64 * (w.pixels_in() + w.pixels_out()));
  a->chunks = 1;
  if (a->parallel && a->planes < 4 * p.threads()) a->chunks = std::min<int64_t>(a->rows, (4 * p.threads() + a->planes - 1) / a->planes);
  x.bind(p, a->p.x);
  out.bind(p, a->p.y);
  finish_output(p, 0, out);
}

void plan_max_pool(PlanCtx& p) { plan_pool(p, PoolKind::max); }
void plan_average_pool(PlanCtx& p) { plan_pool(p, PoolKind::average); }

void infer_global(InferCtx& c) {
  Shape s = c.shape(0);
  if (s.rank < 3) throw OpError("the input must have batch, channels and spatial axes, not shape " + s.str());
  for (int i = 2; i < s.rank; i++) s[i] = 1;
  c.output(0, s);
}

struct GlobalArgs {
  const float* x;
  float* y;
  int64_t planes, pixels, channels;
  void (*run)(const float*, int64_t, float*);
  bool parallel;
};

void global_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const GlobalArgs*>(args);
  run_jobs(rt, a.planes, a.parallel, [&a](int64_t plane, int64_t) {
    float* y = a.y + plane * 16;
    a.run(a.x + plane * a.pixels * 16, a.pixels, y);
    // The mean of nothing is NaN, but lanes beyond the channels are finite.
    const int64_t first = plane % blocks_of(a.channels) * 16;
    if (a.pixels == 0) std::fill(y + std::min<int64_t>(16, a.channels - first), y + 16, 0.0f);
  });
}

void plan_global(PlanCtx& p, void (*run)(const float*, int64_t, float*)) {
  const Shape& s = p.shape(0);
  if (p.out_shape(0).size() == 0) return;
  if (s.size() == 0 && run == kernels().max_plane) throw OpError("no elements to take the maximum of in an input of shape " + s.str());
  const Place x = blocked_input(p, 0), out = blocked_output(p, 0);
  auto* a = p.emit<GlobalArgs>(global_step);
  *a = {};
  a->planes = s[0] * blocks_of(s[1]);
  a->pixels = s.size(2, s.rank);
  a->channels = s[1];
  a->run = run;
  a->parallel = p.threads() > 1 && worth_parallel(a->planes * a->pixels * 64);
  x.bind(p, a->x);
  out.bind(p, a->y);
  finish_output(p, 0, out);
}

void plan_global_average(PlanCtx& p) { plan_global(p, kernels().mean_plane); }
void plan_global_max(PlanCtx& p) { plan_global(p, kernels().max_plane); }

const OpDef kTable[] = {
    {"MaxPool", infer_pool, plan_max_pool, nullptr},
    {"AveragePool", infer_pool, plan_average_pool, nullptr},
    {"GlobalAveragePool", infer_global, plan_global_average, nullptr},
    {"GlobalMaxPool", infer_global, plan_global_max, nullptr},
};

}  // namespace

OpFamily pool_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
