#include "ops/map_copy.h"

#include <algorithm>

#include "ops/copy.h"
#include "ops/numbers.h"

namespace sx {
namespace {

// Outer dims, each with a map or none; then the last mapped dim, of `dim` indices that stand for `run` elements each.
// Its indices [low, high) are one run of the input, from index low + shift. `repeat`: it is each input index that often.
struct MapArgs {
  const char* in;
  char* out;
  const char* value;  // may be null: `bits`
  const int32_t* maps;
  uint64_t bits;
  int32_t rank;
  int64_t dims[kMaxRank], strides[kMaxRank], map_at[kMaxRank];  // map_at: where in `maps`, or -1
  int64_t dim, run, last_at, low, high, shift, repeat;
  int64_t rows, chunks;
};

template <typename T>
void fill(T* out, int64_t n, T value) {
  for (int64_t i = 0; i < n; i++) out[i] = value;
}

template <typename T>
void mapped(const MapArgs& a, const T* in, T* out, int64_t from, int64_t to, T value) {
  const int32_t* map = a.maps + a.last_at;
  if (a.run == 1) {
    for (int64_t i = from; i < to; i++) out[i] = map[i] < 0 ? value : in[map[i]];
    return;
  }
  for (int64_t i = from; i < to; i++) {
    if (map[i] < 0)
      fill(out + i * a.run, a.run, value);
    else
      std::memcpy(out + i * a.run, in + map[i] * a.run, static_cast<size_t>(a.run) * sizeof(T));
  }
}

template <typename T>
void one_row(const MapArgs& a, const T* in, T* out, T value) {
  if (a.last_at < 0) {
    std::memcpy(out, in, static_cast<size_t>(a.dim * a.run) * sizeof(T));
  } else if (a.repeat == 2) {
    for (int64_t i = 0; i < a.dim / 2; i++) out[2 * i] = out[2 * i + 1] = in[i];
  } else if (a.repeat > 1) {
    for (int64_t i = 0; i < a.dim / a.repeat; i++) fill(out + i * a.repeat, a.repeat, in[i]);
  } else {
    mapped(a, in, out, 0, a.low, value);
    std::memcpy(out + a.low * a.run, in + (a.low + a.shift) * a.run, static_cast<size_t>((a.high - a.low) * a.run) * sizeof(T));
    mapped(a, in, out, a.high, a.dim, value);
  }
}

template <typename T>
void rows(const MapArgs& a, int64_t begin, int64_t end) {
  T value = static_cast<T>(a.bits);
  if (a.value) std::memcpy(&value, a.value, sizeof(T));
  const int64_t width = a.dim * a.run;
  T* out = reinterpret_cast<T*>(a.out) + begin * width;
  const T* before = nullptr;  // the source of the row before
  for (int64_t row = begin; row < end; row++, out += width) {
    const T* in = reinterpret_cast<const T*>(a.in);
    int64_t rest = row;
    bool outside = false;
    for (int k = a.rank - 1; k >= 0; k--) {
      int64_t at = rest % a.dims[k];
      rest /= a.dims[k];
      if (a.map_at[k] >= 0) at = a.maps[a.map_at[k] + at];
      if (at < 0) {
        outside = true;
        break;
      }
      in += at * a.strides[k];
    }
    if (outside) {
      fill(out, width, value);
      before = nullptr;
    } else if (in == before) {
      std::memcpy(out, out - width, static_cast<size_t>(width) * sizeof(T));
    } else {
      one_row(a, in, out, value);
      before = in;
    }
  }
}

template <typename T>
void map_step(const void* args, Runtime& rt) {
  auto& a = *static_cast<const MapArgs*>(args);
  if (a.chunks == 1)
    rows<T>(a, 0, a.rows);
  else
    rt.pool->parallel(a.chunks, [&a](int64_t i) { rows<T>(a, a.rows * i / a.chunks, a.rows * (i + 1) / a.chunks); });
}

// The longest run of consecutive source indices.
void find_run(const AxisMap& map, MapArgs* a) {
  const int64_t n = static_cast<int64_t>(map.size());
  for (int64_t from = 0; from < n;) {
    int64_t to = from + 1;
    if (map[static_cast<size_t>(from)] >= 0)
      while (to < n && map[static_cast<size_t>(to)] == map[static_cast<size_t>(from)] + (to - from)) to++;
    if (map[static_cast<size_t>(from)] >= 0 && to - from > a->high - a->low) {
      a->low = from;
      a->high = to;
      a->shift = map[static_cast<size_t>(from)] - from;
    }
    from = to;
  }
}

// How often each of the input's indices comes in a row, from the first to the last; 0 if it is no such repetition.
int64_t repetition(const AxisMap& map, int64_t size) {
  const int64_t n = static_cast<int64_t>(map.size());
  if (size == 0 || n % size != 0 || n == size) return 0;
  for (int64_t i = 0; i < n; i++)
    if (map[static_cast<size_t>(i)] != i / (n / size)) return 0;
  return n / size;
}

}  // namespace

void emit_map_copy(PlanCtx& p, size_t out, size_t in, const std::vector<AxisMap>& maps, Fill fill) {
  const Shape &from = p.shape(in), &to = p.out_shape(out);
  if (to.size() == 0) return;
  int last = to.rank - 1;
  while (last >= 0 && maps[static_cast<size_t>(last)].empty()) last--;
  if (last < 0) return p.view(out, in);
  int64_t strides[kMaxRank];
  strides_of(from, strides);
  auto* a = p.emit<MapArgs>(with_size(item_size(p.dtype(in)), [](auto t) -> StepFn { return map_step<decltype(t)>; }));
  std::vector<int32_t> all;
  auto append = [&all](const AxisMap& map) {
    const int64_t at = static_cast<int64_t>(all.size());
    all.insert(all.end(), map.begin(), map.end());
    return at;
  };
  a->rows = 1;
  for (int k = 0; k < last; k++) {
    const AxisMap& map = maps[static_cast<size_t>(k)];
    a->rows *= to[k];
    if (map.empty() && a->rank > 0 && a->map_at[a->rank - 1] < 0) {
      a->dims[a->rank - 1] *= to[k];
      a->strides[a->rank - 1] = strides[k];
      continue;
    }
    a->dims[a->rank] = to[k];
    a->strides[a->rank] = strides[k];
    a->map_at[a->rank++] = map.empty() ? -1 : append(map);
  }
  const AxisMap& map = maps[static_cast<size_t>(last)];
  a->dim = to[last];
  a->run = to.size(last + 1, to.rank);
  a->last_at = append(map);
  a->repeat = a->run == 1 ? repetition(map, from[last]) : 0;
  find_run(map, a);
  a->bits = fill.bits;
  a->chunks = std::min(a->rows, chunks_for(p, to.size() * static_cast<int64_t>(item_size(p.dtype(in)))));
  p.bind_packed(a->maps, buffer_of(all));
  p.bind_in(a->in, in);
  if (fill.input >= 0) p.bind_in(a->value, static_cast<size_t>(fill.input));
  p.bind_out(a->out, out);
}

}  // namespace sx
