// Operators whose output size depends on data: NonZero, Compress, Unique.
#include <algorithm>
#include <numeric>

#include "ops/axes.h"
#include "ops/movement.h"
#include "ops/numbers.h"

namespace sx {
namespace {

Made make(const Shape& shape, DType dtype) { return {shape, dtype, std::make_shared<Buffer>(static_cast<size_t>(shape.size()) * item_size(dtype))}; }

Made make_ints(int64_t n) {
  Shape s;
  s.push(n);
  return make(s, DType::i64);
}

// NonZero: coordinates of the non-zero elements in row-major order, int64 [rank, count].
template <typename T>
std::vector<int64_t> non_zero_places(const void* data, int64_t n) {
  auto* x = static_cast<const T*>(data);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < n; i++)
    if (static_cast<Wide<T>>(x[i]) != Wide<T>(0)) places.push_back(i);
  return places;
}

std::vector<Made> non_zero(const Op&, const std::vector<Seen>& in, Runtime&) {
  const Seen& x = in.at(0);
  const auto places = with_type(x.dtype, [&](auto t) { return non_zero_places<decltype(t)>(x.data, x.shape.size()); });
  const int64_t count = static_cast<int64_t>(places.size());
  Shape s;
  s.push(x.shape.rank);
  s.push(count);
  Made out = make(s, DType::i64);
  auto* to = static_cast<int64_t*>(out.data->data);
  int64_t stride = 1;
  for (int k = x.shape.rank - 1; k >= 0; k--) {
    const int64_t dim = x.shape[k];
    if (x.shape.rank == 1)
      std::copy(places.begin(), places.end(), to);
    else
      for (int64_t i = 0; i < count; i++) to[k * count + i] = places[static_cast<size_t>(i)] / stride % dim;
    stride *= dim;
  }
  return {out};
}

// The slices `order` along `axis` of x.
Made take(const Seen& x, int axis, const std::vector<int64_t>& order) {
  Shape s = x.shape;
  s[axis] = static_cast<int64_t>(order.size());
  Made out = make(s, x.dtype);
  const int64_t outer = x.shape.size(0, axis), run = x.shape.size(axis + 1, x.shape.rank) * static_cast<int64_t>(item_size(x.dtype));
  auto* from = static_cast<const char*>(x.data);
  auto* to = static_cast<char*>(out.data->data);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i : order) {
      std::memcpy(to, from + (o * x.shape[axis] + i) * run, static_cast<size_t>(run));
      to += run;
    }
  return out;
}

Seen flat(Seen x) {
  const int64_t n = x.shape.size();
  x.shape = Shape();
  x.shape.push(n);
  return x;
}

// Compress: the slices along the axis (of the flat input by default) where the condition, which may be shorter, is true.
std::vector<Made> compress(const Op& op, const std::vector<Seen>& in, Runtime&) {
  const Seen &condition = in.at(1), x = op.attrs.has("axis") ? in.at(0) : flat(in.at(0));
  if (condition.shape.rank != 1) throw OpError("condition must have rank 1, not shape " + condition.shape.str());
  const int axis = normal_axis(op.attrs.get("axis", 0), x.shape.rank);
  std::vector<int64_t> order;
  auto* wanted = static_cast<const bool*>(condition.data);
  for (int64_t i = 0; i < std::min(condition.shape[0], x.shape[axis]); i++)
    if (wanted[i]) order.push_back(i);
  return {take(x, axis, order)};
}

// Compares slices (or single elements) lexicographically; NaN is greater than any number and equal to itself.
template <typename T>
int compare(T a, T b) {
  const Wide<T> x = static_cast<Wide<T>>(a), y = static_cast<Wide<T>>(b);
  if constexpr (is_real<T>) {
    if (std::isnan(x) || std::isnan(y)) return static_cast<int>(std::isnan(x)) - static_cast<int>(std::isnan(y));
  }
  return static_cast<int>(x > y) - static_cast<int>(x < y);
}

// Unique: distinct slices, ascending or by first occurrence; for each the first occurrence and the count, and for each
// slice of the input its place among them.
template <typename T>
std::vector<Made> unique_of(const Seen& x, int axis, bool sorted) {
  const int64_t n = x.shape[axis], outer = x.shape.size(0, axis), inner = x.shape.size(axis + 1, x.shape.rank);
  auto* data = static_cast<const T*>(x.data);
  auto order_of = [&](int64_t a, int64_t b) {
    for (int64_t o = 0; o < outer; o++)
      for (int64_t i = 0; i < inner; i++)
        if (const int order = compare(data[(o * n + a) * inner + i], data[(o * n + b) * inner + i])) return order;
    return 0;
  };
  std::vector<int64_t> by_value(static_cast<size_t>(n));
  std::iota(by_value.begin(), by_value.end(), 0);
  std::stable_sort(by_value.begin(), by_value.end(), [&](int64_t a, int64_t b) { return order_of(a, b) < 0; });
  // Groups of equal slices: the first of a group in the stable order is its first occurrence.
  std::vector<int64_t> first, group(static_cast<size_t>(n)), count;
  for (size_t i = 0; i < by_value.size(); i++) {
    if (i == 0 || order_of(by_value[i - 1], by_value[i]) != 0) {
      first.push_back(by_value[i]);
      count.push_back(0);
    }
    group[static_cast<size_t>(by_value[i])] = static_cast<int64_t>(first.size()) - 1;
    count.back()++;
  }
  std::vector<int64_t> places(first.size()), inverse(first.size());
  std::iota(places.begin(), places.end(), 0);
  if (!sorted) std::sort(places.begin(), places.end(), [&](int64_t a, int64_t b) { return first[static_cast<size_t>(a)] < first[static_cast<size_t>(b)]; });
  const int64_t distinct = static_cast<int64_t>(first.size());
  Made firsts = make_ints(distinct), inverses = make_ints(n), counts = make_ints(distinct);
  std::vector<int64_t> order;
  for (size_t i = 0; i < places.size(); i++) {
    const size_t g = static_cast<size_t>(places[i]);
    inverse[g] = static_cast<int64_t>(i);
    order.push_back(first[g]);
    static_cast<int64_t*>(firsts.data->data)[i] = first[g];
    static_cast<int64_t*>(counts.data->data)[i] = count[g];
  }
  for (size_t i = 0; i < group.size(); i++) static_cast<int64_t*>(inverses.data->data)[i] = inverse[static_cast<size_t>(group[i])];
  return {take(x, axis, order), firsts, inverses, counts};
}

std::vector<Made> unique(const Op& op, const std::vector<Seen>& in, Runtime&) {
  const Seen x = op.attrs.has("axis") ? in.at(0) : flat(in.at(0));
  const int axis = normal_axis(op.attrs.get("axis", 0), x.shape.rank);
  const bool sorted = op.attrs.get("sorted", 1) != 0;
  return with_type(x.dtype, [&](auto t) { return unique_of<decltype(t)>(x, axis, sorted); });
}

const OpDef kTable[] = {
    {"NonZero", nullptr, nullptr, non_zero},
    {"Compress", nullptr, nullptr, compress},
    {"Unique", nullptr, nullptr, unique},
};

}  // namespace

OpFamily select_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
