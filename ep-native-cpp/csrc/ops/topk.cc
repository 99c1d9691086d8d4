// TopK: the k greatest or least elements along an axis, equal ones by lower index, NaN greater than any number.
#include <algorithm>

#include "kernels/isa.h"
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

constexpr int64_t kColumns = 16;  // columns that are copied into rows at a time
constexpr int64_t kFew = 24;      // up to here elements are inserted into an ordered list

struct TopKArgs {
  const char* in;
  char* values;      // may be null
  int64_t* indices;  // may be null
  char* scratch;     // per chunk: `room` entries, then kColumns rows where the axis is not the last
  int64_t outer, n, inner, k, room, scratch_bytes, chunks;
  int32_t largest;
  decltype(Kernels::find_passing) find;
};

// The k least entries of one row, in order, at `room`.
template <typename T, typename E>
class Selection {
 public:
  using Rank = decltype(rank_of(T()));
  Selection(const TopKArgs& a, const T* row, E* room) : a_(a), row_(row), room_(room), flip_(a.largest ? static_cast<Rank>(~Rank(0)) : Rank(0)) {}

  void run() {
    if (a_.k <= kFew)
      insert();
    else
      collect();
  }

 private:
  Rank rank(int64_t i) const { return static_cast<Rank>(rank_of(row_[i]) ^ flip_); }

  // The next element from i on that may rank before the worst one held. NaN may.
  int64_t next(int64_t i) const {
    const T bar = row_[room_[a_.k - 1].index()];
    if constexpr (std::is_same<T, float>::value) {
      return a_.find(row_, i, a_.n, bar, a_.largest != 0);
    } else {
      return i;
    }
  }

  // Few: the list is kept in order, and every element is held against its worst.
  void insert() {
    for (int64_t i = 0; i < a_.k; i++) room_[i] = E(rank(i), i);
    std::sort(room_, room_ + a_.k);
    for (int64_t i = next(a_.k); i < a_.n; i = next(i + 1)) {
      const E entry(rank(i), i);
      if (!(entry < room_[a_.k - 1])) continue;
      int64_t at = a_.k - 1;
      for (; at > 0 && entry < room_[at - 1]; at--) room_[at] = room_[at - 1];
      room_[at] = entry;
    }
  }

  // Many: candidates are collected and thinned out whenever they fill the room.
  void collect() {
    int64_t held = std::min(a_.room, a_.n), i = held;
    for (int64_t k = 0; k < held; k++) room_[k] = E(rank(k), k);
    while (i < a_.n) {
      std::nth_element(room_, room_ + (a_.k - 1), room_ + held);
      held = a_.k;
      const Rank bar = rank(room_[a_.k - 1].index());
      if (a_.n - i > 16 * a_.k) {
        // Few will pass.
        for (i = next(i); i < a_.n && held < a_.room; i = next(i + 1)) {
          const Rank r = rank(i);
          if (r < bar) room_[held++] = E(r, i);
        }
        continue;
      }
      while (i < a_.n && held < a_.room) {
        // Of equal ranks the earlier index counts, so only lesser ones stay.
        for (const int64_t end = std::min(a_.n, i + a_.room - held); i < end; i++) {
          const Rank r = rank(i);
          room_[held] = E(r, i);
          held += r < bar;
        }
      }
    }
    if (held > a_.k) std::nth_element(room_, room_ + (a_.k - 1), room_ + held);
    std::sort(room_, room_ + a_.k);
  }

  const TopKArgs& a_;
  const T* row_;
  E* room_;
  const Rank flip_;
};

template <typename T>
void topk_step(const void* args, Runtime& rt) {
  using E = Entry<decltype(rank_of(T()))>;
  auto& a = *static_cast<const TopKArgs*>(args);
  const int64_t groups = ceil_div(a.inner, kColumns);
  auto part = [&](int64_t chunk) {
    E* room = reinterpret_cast<E*>(a.scratch + chunk * a.scratch_bytes);
    T* rows = reinterpret_cast<T*>(room + a.room);
    const int64_t jobs = a.outer * groups;
    for (int64_t job = jobs * chunk / a.chunks; job < jobs * (chunk + 1) / a.chunks; job++) {
      const int64_t o = job / groups, first = job % groups * kColumns, columns = std::min(kColumns, a.inner - first);
      const T* in = reinterpret_cast<const T*>(a.in) + o * a.n * a.inner + first;
      if (a.inner > 1)
        for (int64_t i = 0; i < a.n; i++)
          for (int64_t c = 0; c < columns; c++) rows[c * a.n + i] = in[i * a.inner + c];
      for (int64_t c = 0; c < columns; c++) {
        const T* row = a.inner > 1 ? rows + c * a.n : in;
        Selection<T, E>(a, row, room).run();
        const int64_t to = o * a.k * a.inner + first + c;
        for (int64_t j = 0; j < a.k; j++) {
          const int64_t at = room[j].index();
          if (a.values) reinterpret_cast<T*>(a.values)[to + j * a.inner] = row[at];
          if (a.indices) a.indices[to + j * a.inner] = at;
        }
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
  const int64_t outer = in.size(0, axis), n = in[axis], inner = in.size(axis + 1, in.rank), jobs = outer * ceil_div(inner, kColumns);
  const int64_t room = std::min(n, std::max<int64_t>(4 * k, 64));
  // About 1 ns per element.
  const int64_t chunks = in.size() < 20000 ? 1 : std::min<int64_t>(p.threads(), jobs);
  const size_t item = item_size(p.dtype(0)), entry = item == 8 ? sizeof(Entry<uint64_t>) : sizeof(Entry<uint32_t>);
  const size_t rows = inner > 1 ? static_cast<size_t>(kColumns * n) * item : 0;
  const int64_t bytes = round_up(static_cast<int64_t>(static_cast<size_t>(room) * entry + rows), kAlign);
  const size_t scratch = p.scratch(static_cast<size_t>(bytes * chunks));
  auto* a = p.emit<TopKArgs>(with_type(p.dtype(0), [](auto t) -> StepFn { return topk_step<decltype(t)>; }));
  a->outer = outer;
  a->n = n;
  a->inner = inner;
  a->k = k;
  a->room = room;
  a->scratch_bytes = bytes;
  a->chunks = chunks;
  a->find = kernels().find_passing;
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
