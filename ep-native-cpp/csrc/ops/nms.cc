// NonMaxSuppression.
#include <algorithm>

#include "ops/movement.h"

namespace sx {
namespace {

// A box by its lower and upper corner on both axes, and its area.
struct Box {
  float low0, low1, high0, high1, area;
};

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

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float height = std::min(a.high0, b.high0) - std::max(a.low0, b.low0), width = std::min(a.high1, b.high1) - std::max(a.low1, b.low1);
  const float common = std::max(height, 0.0f) * std::max(width, 0.0f), all = a.area + b.area - common;
  return common > threshold * all && all > 0;
}

// For each class the best boxes first, the lower index first among equals, that overlap no better one by more than the
// threshold: int64 [K, 3] of (batch, class, box).
std::vector<Made> non_max_suppression(const Op& op, const std::vector<Seen>& in, Runtime&) {
  const Seen &boxes = in.at(0), &scores = in.at(1), none{};
  auto optional = [&](size_t i) -> const Seen& { return i < in.size() ? in[i] : none; };
  if (boxes.shape.rank != 3 || boxes.shape[2] != 4 || scores.shape.rank != 3 || scores.shape[0] != boxes.shape[0] || scores.shape[2] != boxes.shape[1])
    throw OpError("NonMaxSuppression takes boxes [N, B, 4] and scores [N, classes, B], got " + boxes.shape.str() + " and " + scores.shape.str());
  const int64_t most = static_cast<int64_t>(limit_of(optional(2), 0)), count = boxes.shape[1], classes = scores.shape[1];
  const float threshold = static_cast<float>(limit_of(optional(3), 0));
  const bool filtered = optional(4).data != nullptr;
  const float least = static_cast<float>(limit_of(optional(4), 0));
  if (!(threshold >= 0 && threshold <= 1)) throw OpError("iou_threshold must be in [0, 1], got " + std::to_string(threshold));
  const bool centered = op.attrs.get("center_point_box", 0) != 0;
  std::vector<int64_t> kept;
  std::vector<Box> all(static_cast<size_t>(count)), chosen;
  std::vector<int32_t> order;
  for (int64_t n = 0; n < boxes.shape[0] && most > 0; n++) {
    for (int64_t i = 0; i < count; i++) all[static_cast<size_t>(i)] = box_of(static_cast<const float*>(boxes.data) + (n * count + i) * 4, centered);
    for (int64_t c = 0; c < classes; c++) {
      const float* score = static_cast<const float*>(scores.data) + (n * classes + c) * count;
      order.clear();
      for (int64_t i = 0; i < count; i++)
        if (!filtered || score[i] > least) order.push_back(static_cast<int32_t>(i));
      // NaN scores last.
      auto before = [score](int32_t a, int32_t b) {
        if (score[a] != score[b] && score[a] == score[a] && score[b] == score[b]) return score[a] > score[b];
        const bool lost_a = score[a] != score[a], lost_b = score[b] != score[b];
        return lost_a != lost_b ? lost_b : a < b;
      };
      std::sort(order.begin(), order.end(), before);
      chosen.clear();
      for (int32_t i : order) {
        if (static_cast<int64_t>(chosen.size()) >= most) break;
        const Box& box = all[static_cast<size_t>(i)];
        bool free = true;
        for (size_t k = 0; free && k < chosen.size(); k++) free = !overlaps(chosen[k], box, threshold);
        if (!free) continue;
        chosen.push_back(box);
        kept.insert(kept.end(), {n, c, static_cast<int64_t>(i)});
      }
    }
  }
  Shape s;
  s.push(static_cast<int64_t>(kept.size()) / 3);
  s.push(3);
  Made out{s, DType::i64, std::make_shared<Buffer>(kept.size() * sizeof(int64_t))};
  if (!kept.empty()) std::memcpy(out.data->data, kept.data(), kept.size() * sizeof(int64_t));
  return {out};
}

const OpDef kTable[] = {{"NonMaxSuppression", nullptr, nullptr, non_max_suppression}};

}  // namespace

OpFamily nms_ops() { return {std::begin(kTable), std::end(kTable)}; }

}  // namespace sx
