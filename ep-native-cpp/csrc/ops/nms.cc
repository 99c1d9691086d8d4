// NonMaxSuppression.
#include <algorithm>

#include "ops/movement.h"

namespace sx {
namespace {

// A box by its lower and upper corner on both axes, and its area.
struct Box {
  float low0, low1, high0, high1, area;
};

// Boxes that were kept, by field, so that one box is compared with several at once.
struct Kept {
  std::vector<float> low0, low1, high0, high1, area;

  void clear() {
    for (auto* v : {&low0, &low1, &high0, &high1, &area}) v->clear();
  }
  void add(const Box& b) {
    low0.push_back(b.low0);
    low1.push_back(b.low1);
    high0.push_back(b.high0);
    high1.push_back(b.high1);
    area.push_back(b.area);
  }
  size_t size() const { return area.size(); }

  // Whether b overlaps one of them by more than the threshold, by intersection over union.
  bool overlap(const Box& b, float threshold) const {
    constexpr size_t kRun = 16;
    for (size_t from = 0; from < size(); from += kRun) {
      const size_t to = std::min(size(), from + kRun);
      int hits = 0;
      for (size_t i = from; i < to; i++) {
        const float height = (b.high0 < high0[i] ? b.high0 : high0[i]) - (b.low0 > low0[i] ? b.low0 : low0[i]);
        const float width = (b.high1 < high1[i] ? b.high1 : high1[i]) - (b.low1 > low1[i] ? b.low1 : low1[i]);
        const float common = (height > 0 ? height : 0.0f) * (width > 0 ? width : 0.0f), all = area[i] + b.area - common;
        hits |= (common > threshold * all) & (all > 0);
      }
      if (hits) return true;
    }
    return false;
  }
};

// A candidate as one number, greatest first: by score, NaN last, equal scores by lower index.
uint64_t candidate(float score, int32_t index) {
  uint32_t u = 0;
  if (score == score) {
    score += 0.0f;  // -0 + 0 is 0
    std::memcpy(&u, &score, 4);
    u = u >> 31 ? ~u : u | 0x80000000u;
  }
  return static_cast<uint64_t>(u) << 32 | (0xffffffffu - static_cast<uint32_t>(index));
}

double limit_of(const Seen& x, double otherwise) {
  if (!x.data || x.shape.size() == 0) return otherwise;
  if (x.shape.size() != 1) throw OpError("the limits of NonMaxSuppression are scalars, got shape " + x.shape.str());
  return x.dtype == DType::i64 ? static_cast<double>(*static_cast<const int64_t*>(x.data)) : *static_cast<const float*>(x.data);
}

Box box_of(const float* b, bool centered) {
  Box r;
  if (centered) {
    r.low0 = b[0] - b[2] / 2;
    r.high0 = b[0] + b[2] / 2;
    r.low1 = b[1] - b[3] / 2;
    r.high1 = b[1] + b[3] / 2;
  } else {
    r.low0 = std::min(b[0], b[2]);
    r.high0 = std::max(b[0], b[2]);
    r.low1 = std::min(b[1], b[3]);
    r.high1 = std::max(b[1], b[3]);
  }
  r.area = (r.high0 - r.low0) * (r.high1 - r.low1);
  return r;
}

// For each class the best boxes first, the lower index first among equals, that overlap no better one by more than the
// threshold: int64 [K, 3] of (batch, class, box).
std::vector<Made> non_max_suppression(const Op& op, const std::vector<Seen>& in, Runtime&) {
  const Seen &boxes = in.at(0), &scores = in.at(1), none{};
  auto optional = [&](size_t i) -> const Seen& { return i < in.size() ? in[i] : none; };
  if (boxes.shape.rank != 3 || boxes.shape[2] != 4 || scores.shape.rank != 3 || scores.shape[0] != boxes.shape[0] || scores.shape[2] != boxes.shape[1])
    throw OpError("NonMaxSuppression takes boxes [N, B, 4] and scores [N, classes, B], got " + boxes.shape.str() + " and " + scores.shape.str());
  const int64_t most = static_cast<int64_t>(std::min(limit_of(optional(2), 0), 0x1p62)), count = boxes.shape[1], classes = scores.shape[1];
  const float threshold = static_cast<float>(limit_of(optional(3), 0));
  const bool filtered = optional(4).data != nullptr;
  const float least = static_cast<float>(limit_of(optional(4), 0));
  if (!(threshold >= 0 && threshold <= 1)) throw OpError("iou_threshold must be in [0, 1], got " + std::to_string(threshold));
  const bool centered = op.attrs.get("center_point_box", 0) != 0;
  std::vector<int64_t> kept;
  std::vector<Box> all(static_cast<size_t>(count));
  Kept chosen;
  std::vector<uint64_t> heap;
  for (int64_t n = 0; n < boxes.shape[0] && most > 0; n++) {
    for (int64_t i = 0; i < count; i++) all[static_cast<size_t>(i)] = box_of(static_cast<const float*>(boxes.data) + (n * count + i) * 4, centered);
    for (int64_t c = 0; c < classes; c++) {
      const float* score = static_cast<const float*>(scores.data) + (n * classes + c) * count;
      heap.clear();
      for (int64_t i = 0; i < count; i++)
        if (!filtered || score[i] > least) heap.push_back(candidate(score[i], static_cast<int32_t>(i)));
      std::make_heap(heap.begin(), heap.end());
      chosen.clear();
      while (!heap.empty() && static_cast<int64_t>(chosen.size()) < most) {
        std::pop_heap(heap.begin(), heap.end());
        const int64_t i = 0xffffffff - static_cast<int64_t>(heap.back() & 0xffffffffu);
        heap.pop_back();
        const Box& box = all[static_cast<size_t>(i)];
        if (chosen.overlap(box, threshold)) continue;
        chosen.add(box);
        kept.insert(kept.end(), {n, c, i});
      }
    }
  }
  Shape s;
  s.push(static_cast<int64_t>(kept.size()) / 3);
  s.push(3);
  return {Made{s, DType::i64, buffer_of(kept)}};
}

const OpDef kTable[] = {{"NonMaxSuppression", nullptr, nullptr, non_max_suppression}};

}  // namespace

OpFamily nms_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
