#include "ops/blocked.h"

#include <iterator>

#include "kernels/isa.h"
#include "ops/jobs.h"
#include "ops/table.h"

namespace sx {
namespace {

struct ConvertArgs {
  BlockCopy c;
  int64_t batch, x_batch, y_batch, blocks;
  void (*convert)(const BlockCopy&, int64_t, int64_t);
  bool parallel;
};

void convert_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const ConvertArgs*>(args);
  run_jobs(rt, a.batch * a.blocks, a.parallel, [&a](int64_t job, int64_t) {
    BlockCopy c = a.c;
    c.x += job / a.blocks * a.x_batch;
    c.y += job / a.blocks * a.y_batch;
    a.convert(c, job % a.blocks, job % a.blocks + 1);
  });
}

void convert(PlanCtx& p, const Shape& s, const Place& from, const Place& to, bool blocking) {
  auto* a = p.emit<ConvertArgs>(convert_step);
  const int64_t pixels = s.size(2, s.rank), plain = s[1] * pixels, blocked = blocks_of(s[1]) * kBlock * pixels;
  *a = {};
  a->c.channels = s[1];
  a->c.pixels = pixels;
  a->batch = s[0];
  a->blocks = blocks_of(s[1]);
  a->x_batch = blocking ? plain : blocked;
  a->y_batch = blocking ? blocked : plain;
  a->convert = blocking ? kernels().to_blocked : kernels().from_blocked;
  a->parallel = worth_parallel(s[0] * blocked * 8);
  from.bind(p, a->c.x);
  to.bind(p, a->c.y);
}

size_t blocked_scratch(PlanCtx& p, const Shape& s) { return p.scratch(static_cast<size_t>(storage_size(s, Layout::blocked)) * sizeof(float)); }

void infer_same(InferCtx& c) { c.output(0, c.shape(0)); }

// Between layouts, by those of the input and the output.
void plan_convert(PlanCtx& p) {
  const Shape& s = p.shape(0);
  const bool from = p.layout(0) == Layout::blocked, to = p.out_layout(0) == Layout::blocked;
  if (s.size() == 0) return;
  if (from == to || same_bytes(s))
    p.view(0, 0);
  else
    convert(p, s, {Place::input, 0}, {Place::output, 0}, to);
}

const OpDef kTable[] = {{"ConvertLayout", infer_same, plan_convert, nullptr}};

}  // namespace

Place blocked(PlanCtx& p, const Tensor& t) {
  if (t.layout == Layout::blocked || same_bytes(t.shape)) return t.at;
  const Place to{Place::scratch, blocked_scratch(p, t.shape)};
  convert(p, t.shape, t.at, to, true);
  return to;
}

Place blocked_input(PlanCtx& p, size_t i) { return blocked(p, input_tensor(p, i)); }

Place blocked_output(PlanCtx& p, size_t i) {
  const Shape& s = p.out_shape(i);
  if (p.out_layout(i) == Layout::blocked || same_bytes(s)) return {Place::output, i};
  return {Place::scratch, blocked_scratch(p, s)};
}

void finish_output(PlanCtx& p, size_t i, const Place& from) {
  if (from.kind == Place::scratch) convert(p, p.out_shape(i), from, {Place::output, i}, false);
}

OpFamily layout_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
