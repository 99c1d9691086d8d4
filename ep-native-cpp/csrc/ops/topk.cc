// TopK: the k greatest or least elements along an axis, equal ones by lower index, NaN greater than any number.
#include <algorithm>

#include "ops/axes.h"
#include "ops/copy.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

// An element's rank as an unsigned number: the order of numbers, -0 equal to 0, NaN last.
template <typename T>
auto rank_of(T x) {
  if constexpr (is_half<T>) {
    return rank_of(static_cast<float>(x));
  } else if constexpr (std::is_floating_point<T>::value) {
    using U = typename std::conditional<sizeof(T) == 4, uint32_t, uint64_t>::type;
    constexpr U sign = U(1) << (8 * sizeof(T) - 1);
    if (std::isnan(x)) return static_cast<U>(~U(0));
    x += T(0);  // -0 + 0 is 0
    U u;
    std::memcpy(&u, &x, sizeof x);
    return static_cast<U>(u & sign ? ~u : u | sign);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<uint64_t>(x) ^ (std::is_signed<T>::value ? uint64_t(1) << 63 : 0);
  } else {
    return static_cast<uint32_t>(static_cast<int64_t>(x) - static_cast<int64_t>(std::numeric_limits<T>::min()));
  }
}

// (rank, index) as one comparable value, least first.
template <typename Rank>
struct Entry;
template <>
struct Entry<uint32_t> {
  uint64_t packed;
  Entry() = default;
  Entry(uint32_t rank, int64_t index) : packed(static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(index)) {}
  int64_t index() const { return static_cast<uint32_t>(packed); }
  bool operator<(const Entry& o) const { return packed < o.packed; }
};
template <>
struct Entry<uint64_t> {
  uint64_t rank;
  int64_t at;
  Entry() = default;
  Entry(uint64_t r, int64_t i) : rank(r), at(i) {}
  int64_t index() const { return at; }
  bool operator<(const Entry& o) const { return rank != o.rank ? rank < o.rank : at < o.at; }
};

struct TopKArgs {
  const char* in;
  char* values;      // may be null
  int64_t* indices;  // may be null
  char* scratch;
  int64_t outer, n, inner, k, room, chunks;  // room: entries of working memory per chunk
  int32_t largest;
};

// The k least entries of one row, in order, at `room`: candidates are collected and thinned out whenever they fill it.
template <typename T, typename E>
void select(const TopKArgs& a, const T* row, E* room) {
  using Rank = decltype(rank_of(T()));
  const Rank flip = a.largest ? static_cast<Rank>(~Rank(0)) : Rank(0);
  int64_t held = 0;
  if (a.room >= a.n) {
    for (int64_t i = 0; i < a.n; i++) room[i] = E(static_cast<Rank>(rank_of(row[i * a.inner]) ^ flip), i);
    held = a.n;
  } else {
    Rank bar = static_cast<Rank>(~Rank(0));
    for (int64_t i = 0; i < a.n; i++) {
      const Rank rank = static_cast<Rank>(rank_of(row[i * a.inner]) ^ flip);
      // Equal ranks come later than what is held, unless the bar is the one nothing has been held against yet.
      if (rank > bar) continue;
      room[held++] = E(rank, i);
      if (held < a.room) continue;
      std::nth_element(room, room + (a.k - 1), room + held);
      held = a.k;
      const int64_t worst = room[a.k - 1].index();
      bar = static_cast<Rank>(rank_of(row[worst * a.inner]) ^ flip);
    }
  }
  if (held > a.k) std::nth_element(room, room + (a.k - 1), room + held);
  std::sort(room, room + a.k);
}

template <typename T>
void topk_step(const void* args, Runtime& rt) {
  using E = Entry<decltype(rank_of(T()))>;
  auto& a = *static_cast<const TopKArgs*>(args);
  auto part = [&a](int64_t chunk) {
    E* room = reinterpret_cast<E*>(a.scratch) + chunk * a.room;
    const int64_t rows = a.outer * a.inner;
    for (int64_t r = rows * chunk / a.chunks; r < rows * (chunk + 1) / a.chunks; r++) {
      const int64_t o = r / a.inner, i = r % a.inner;
      const T* row = reinterpret_cast<const T*>(a.in) + o * a.n * a.inner + i;
      select(a, row, room);
      const int64_t to = o * a.k * a.inner + i;
      for (int64_t j = 0; j < a.k; j++) {
        const int64_t at = room[j].index();
        if (a.values) reinterpret_cast<T*>(a.values)[to + j * a.inner] = row[at * a.inner];
        if (a.indices) a.indices[to + j * a.inner] = at;
      }
    }
  };
  if (a.chunks == 1)
    part(0);
  else
    rt.pool->parallel(a.chunks, part);
}

void infer_topk(InferCtx& c) {
  Shape out = c.shape(0);
  const int axis = normal_axis(c.op.attrs.get("axis", -1), out.rank);
  const int64_t k = scalar(c, 1, "K");
  if (k < 0 || k > out[axis]) throw OpError("K = " + std::to_string(k) + " must lie between 0 and the size of axis " + std::to_string(axis) + ", " + std::to_string(out[axis]));
  out[axis] = k;
  c.output(0, out);
  c.output(1, out);
}

void plan_topk(PlanCtx& p) {
  const Shape& in = p.shape(0);
  const int axis = normal_axis(p.op.attrs.get("axis", -1), in.rank);
  const int64_t k = scalar(p, 1, "K");
  if (in.size() == 0 || k == 0) return;
  const int64_t outer = in.size(0, axis), n = in[axis], inner = in.size(axis + 1, in.rank), rows = outer * inner;
  const int64_t room = std::min(n, std::max<int64_t>(4 * k, 64));
  // About 2 ns per element.
  const int64_t chunks = rows * n < 20000 ? 1 : std::min<int64_t>(p.threads(), rows);
  const size_t entry = item_size(p.dtype(0)) == 8 ? sizeof(Entry<uint64_t>) : sizeof(Entry<uint32_t>);
  const size_t scratch = p.scratch(static_cast<size_t>(room * chunks) * entry);
  auto* a = p.emit<TopKArgs>(with_type(p.dtype(0), [](auto t) -> StepFn { return topk_step<decltype(t)>; }));
  a->outer = outer;
  a->n = n;
  a->inner = inner;
  a->k = k;
  a->room = room;
  a->chunks = chunks;
  a->largest = p.op.attrs.get("largest", 1) != 0;
  p.bind_in(a->in, 0);
  p.bind_scratch(a->scratch, scratch);
  if (p.has_out(0)) p.bind_out(a->values, 0);
  if (p.has_out(1)) p.bind_out(a->indices, 1);
}

const OpDef kTable[] = {{"TopK", infer_topk, plan_topk, nullptr}};

}  // namespace

OpFamily topk_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
