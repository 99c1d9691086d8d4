#include "ops/copy.h"

#include <algorithm>

#include "kernels/isa.h"

namespace sx {
namespace {

constexpr int64_t kParallelBytes = 256 * 1024;  // per thread; about 10 us of copying

struct CopyArgs {
  CopyNd c;
  int64_t units, chunks;
  decltype(Kernels::copy_nd) copy;
};

void copy_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const CopyArgs*>(args);
  if (a.chunks == 1) return a.copy(a.c, 0, a.units);
  rt.pool->parallel(a.chunks, [&a](int64_t i) { a.copy(a.c, a.units * i / a.chunks, a.units * (i + 1) / a.chunks); });
}

struct BytesArgs {
  const char* in;
  char* out;
  int64_t in_offset, out_offset, bytes, chunks;
};

void bytes_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const BytesArgs*>(args);
  if (a.chunks == 1) {
    std::memcpy(a.out + a.out_offset, a.in + a.in_offset, static_cast<size_t>(a.bytes));
    return;
  }
  rt.pool->parallel(a.chunks, [&a](int64_t i) {
    const int64_t from = a.bytes * i / a.chunks, to = a.bytes * (i + 1) / a.chunks;
    std::memcpy(a.out + a.out_offset + from, a.in + a.in_offset + from, static_cast<size_t>(to - from));
  });
}

struct SmallArgs {
  const float* in;
  float* out;
};

// The transposition of a 4 x 4 matrix of 4-byte elements.
void transpose_4x4_step(const void* args, Runtime&) {
  typedef int32_t v4 __attribute__((vector_size(16), may_alias, aligned(4)));
  auto& a = *static_cast<const SmallArgs*>(args);
  const v4* in = reinterpret_cast<const v4*>(a.in);
  v4* out = reinterpret_cast<v4*>(a.out);
  const v4 low = {0, 4, 1, 5}, high = {2, 6, 3, 7};
  const v4 p = __builtin_shuffle(in[0], in[2], low), q = __builtin_shuffle(in[0], in[2], high);
  const v4 r = __builtin_shuffle(in[1], in[3], low), s = __builtin_shuffle(in[1], in[3], high);
  out[0] = __builtin_shuffle(p, r, low);
  out[1] = __builtin_shuffle(p, r, high);
  out[2] = __builtin_shuffle(q, s, low);
  out[3] = __builtin_shuffle(q, s, high);
}

// Several elements that always move together count as one of up to 8 bytes.
int64_t widen(Strided& s, int64_t item) {
  while (s.rank > 0 && item < 8) {
    const int last = s.rank - 1;
    if (s.in[last] != 1 || s.out[last] != 1 || s.dims[last] % 2 != 0) break;
    bool even = s.in_offset % 2 == 0 && s.out_offset % 2 == 0;
    for (int i = 0; i < last; i++) even &= s.in[i] % 2 == 0 && s.out[i] % 2 == 0;
    if (!even) break;
    s.dims[last] /= 2;
    for (int i = 0; i < last; i++) {
      s.in[i] /= 2;
      s.out[i] /= 2;
    }
    s.in_offset /= 2;
    s.out_offset /= 2;
    item *= 2;
    if (s.dims[last] == 1) s.rank--;
  }
  return item;
}

// Chooses the last two dims and what is done with them. The dims' order is free: it is that of the output by default.
CopyKind arrange(Strided& s) {
  const int last = s.rank - 1;
  if (s.out[last] != 1) return CopyKind::elements;
  if (s.in[last] == 1) return CopyKind::rows;
  if (s.in[last] == 0) return CopyKind::fill;
  for (int k = 0; k < last; k++)
    if (s.in[k] == 1) {
      std::rotate(s.dims + k, s.dims + k + 1, s.dims + last);
      std::rotate(s.in + k, s.in + k + 1, s.in + last);
      std::rotate(s.out + k, s.out + k + 1, s.out + last);
      return CopyKind::transpose;
    }
  return CopyKind::elements;
}

void emit_bytes(PlanCtx& p, size_t out, size_t in, int64_t in_offset, int64_t out_offset, int64_t bytes) {
  auto* a = p.emit<BytesArgs>(bytes_step);
  a->in_offset = in_offset;
  a->out_offset = out_offset;
  a->bytes = bytes;
  a->chunks = chunks_for(p, bytes);
  p.bind_in(a->in, in);
  p.bind_out(a->out, out);
}

}  // namespace

void Strided::merge() {
  int n = 0;
  for (int i = 0; i < rank; i++) {
    if (dims[i] == 1) continue;
    if (n > 0 && in[n - 1] == in[i] * dims[i] && out[n - 1] == out[i] * dims[i]) {
      dims[n - 1] *= dims[i];
    } else {
      dims[n++] = dims[i];
    }
    in[n - 1] = in[i];
    out[n - 1] = out[i];
  }
  rank = n;
}

bool Strided::is_whole(int64_t n) const {
  if (in_offset != 0 || out_offset != 0) return false;
  return rank == 0 ? n == 1 : rank == 1 && dims[0] == n && in[0] == 1 && out[0] == 1;
}

void strides_of(const Shape& s, int64_t* strides) {
  int64_t n = 1;
  for (int i = s.rank - 1; i >= 0; i--) {
    strides[i] = n;
    n *= s[i];
  }
}

int64_t chunks_for(const PlanCtx& p, int64_t bytes) {
  if (p.threads() == 1 || bytes < 2 * kParallelBytes) return 1;
  return std::min<int64_t>(4 * p.threads(), bytes / kParallelBytes);
}

void emit_copy(PlanCtx& p, size_t out, size_t in, Strided s) {
  if (s.size() == 0) return;
  s.merge();
  int64_t item = static_cast<int64_t>(item_size(p.dtype(in)));
  const int64_t bytes = s.size() * item;
  if (s.rank == 0 || (s.rank == 1 && s.in[0] == 1 && s.out[0] == 1)) return emit_bytes(p, out, in, s.in_offset * item, s.out_offset * item, bytes);
  item = widen(s, item);
  if (item == 4 && s.rank == 2 && s.dims[0] == 4 && s.dims[1] == 4 && s.in[0] == 1 && s.in[1] == 4 && s.out[0] == 4 && s.out[1] == 1 && s.in_offset == 0) {
    auto* a = p.emit<SmallArgs>(transpose_4x4_step);
    p.bind_in(a->in, in);
    p.bind_out(a->out, out);
    return;
  }
  if (s.rank == 1) {
    std::swap(s.dims[0], s.dims[1]);
    s.dims[0] = 1;
    s.in[1] = s.in[0];
    s.out[1] = s.out[0];
    s.rank = 2;
  }
  if (s.rank > kCopyRank) throw OpError("a copy over more than 12 dimensions");
  auto* a = p.emit<CopyArgs>(copy_step);
  a->copy = kernels().copy_nd;
  CopyNd& c = a->c;
  c.kind = arrange(s);
  c.rank = s.rank;
  c.item = static_cast<int32_t>(item);
  c.in_offset = s.in_offset;
  c.out_offset = s.out_offset;
  std::copy(s.dims, s.dims + s.rank, c.dims);
  std::copy(s.in, s.in + s.rank, c.in_strides);
  std::copy(s.out, s.out + s.rank, c.out_strides);
  const int64_t rows = c.dims[c.rank - 2], blocks = s.size() / (rows * c.dims[c.rank - 1]);
  a->chunks = chunks_for(p, bytes);
  // A stripe of a transposition reads whole lines.
  const int64_t least = c.kind == CopyKind::transpose ? 64 / item : 1;
  c.stripe = a->chunks == 1 ? rows : std::min(rows, round_up((rows * blocks + 2 * a->chunks - 1) / (2 * a->chunks), least));
  c.stripes = (rows + c.stripe - 1) / c.stripe;
  a->units = blocks * c.stripes;
  a->chunks = std::min(a->chunks, a->units);
  p.bind_in(c.in, in);
  p.bind_out(c.out, out);
}

void emit_copy_or_view(PlanCtx& p, size_t out, size_t in, Strided s) {
  s.merge();
  if (s.is_whole(p.shape(in).size()) && p.shape(in).size() == p.out_shape(out).size())
    p.view(out, in);
  else
    emit_copy(p, out, in, s);
}

}  // namespace sx
