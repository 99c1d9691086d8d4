#include <algorithm>
#include <map>

#include "ops/einsum.h"

namespace sx {
namespace {

constexpr int kEllipsis = 256;

std::vector<int> labels_of(const std::string& term, const std::string& equation) {
  std::vector<int> labels;
  bool dots = false;
  for (size_t i = 0; i < term.size(); i++) {
    const char c = term[i];
    if (term.compare(i, 3, "...") == 0 && !dots) {
      labels.push_back(kEllipsis);
      dots = true;
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else {
      throw OpError("equation '" + equation + "': the term '" + term + "' may hold letters and one ellipsis only");
    }
  }
  return labels;
}

std::vector<int> expanded(const std::vector<int>& labels, int64_t covered) {
  std::vector<int> all;
  for (int label : labels)
    if (label == kEllipsis)
      for (int64_t i = 0; i < covered; i++) all.push_back(kEllipsis + static_cast<int>(i));
    else
      all.push_back(label);
  return all;
}

}  // namespace

const LabelledAxis* find_axis(const Axes& axes, int label) {
  for (const LabelledAxis& a : axes)
    if (a.label == label) return &a;
  return nullptr;
}

int64_t make_contiguous(Axes& axes) {
  int64_t n = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    axes[i].stride = n;
    n *= axes[i].size;
  }
  return n;
}

bool joined(const Axes& axes, int64_t* size, int64_t* stride) {
  *size = *stride = 1;
  bool first = true;
  for (size_t i = axes.size(); i-- > 0;) {
    const LabelledAxis& a = axes[i];
    if (a.size == 1) continue;
    if (first)
      *stride = a.stride;
    else if (a.stride != *size * *stride)
      return false;
    *size *= a.size;
    first = false;
  }
  return true;
}

Equation bind_equation(const std::string& equation, const std::vector<Shape>& shapes) {
  std::string text = equation;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::vector<int>> terms;
  for (size_t at = 0;;) {
    const size_t comma = left.find(',', at);
    terms.push_back(labels_of(left.substr(at, comma == std::string::npos ? comma : comma - at), equation));
    if (comma == std::string::npos) break;
    at = comma + 1;
  }
  if (terms.size() != shapes.size()) throw OpError("equation '" + equation + "' has " + std::to_string(terms.size()) + " terms, but there are " + std::to_string(shapes.size()) + " inputs");
  int64_t covered = -1;
  std::map<int, int64_t> sizes;
  std::map<int, int> counts;
  for (size_t i = 0; i < terms.size(); i++) {
    const bool dots = std::count(terms[i].begin(), terms[i].end(), kEllipsis) > 0;
    const int64_t free = shapes[i].rank - static_cast<int64_t>(terms[i].size()) + (dots ? 1 : 0);
    if (free < 0 || (free > 0 && !dots)) throw OpError("equation '" + equation + "' does not fit input " + std::to_string(i) + " of shape " + shapes[i].str());
    if (dots && covered >= 0 && covered != free)
      throw OpError("equation '" + equation + "': an ellipsis stands for " + std::to_string(covered) + " dimensions, then for " + std::to_string(free));
    if (dots) covered = free;
    terms[i] = expanded(terms[i], free);
    for (size_t d = 0; d < terms[i].size(); d++) {
      const int label = terms[i][d];
      const int64_t size = shapes[i][static_cast<int>(d)];
      counts[label]++;
      int64_t& known = sizes.emplace(label, size).first->second;
      if (known == 1)
        known = size;
      else if (size != 1 && size != known)
        throw OpError("equation '" + equation + "': a label has sizes " + std::to_string(known) + " and " + std::to_string(size));
    }
  }
  Equation e;
  for (size_t i = 0; i < terms.size(); i++) {
    Axes axes;
    int64_t stride = 1;
    for (size_t d = terms[i].size(); d-- > 0;) {
      const int label = terms[i][d];
      const int64_t size = shapes[i][static_cast<int>(d)];
      auto same = std::find_if(axes.begin(), axes.end(), [&](const LabelledAxis& a) { return a.label == label; });
      if (size == sizes[label] && same != axes.end())
        same->stride += stride;  // a diagonal
      else if (size == sizes[label])
        axes.insert(axes.begin(), {label, size, stride});
      stride *= size;
    }
    e.operands.push_back(axes);
  }
  std::vector<int> out;
  if (arrow != std::string::npos) {
    out = expanded(labels_of(text.substr(arrow + 2), equation), std::max<int64_t>(covered, 0));
  } else {
    for (int64_t i = 0; i < covered; i++) out.push_back(kEllipsis + static_cast<int>(i));
    for (auto& c : counts)
      if (c.second == 1 && c.first < kEllipsis) out.push_back(c.first);
  }
  for (size_t i = 0; i < out.size(); i++) {
    if (!counts.count(out[i])) throw OpError("equation '" + equation + "': a label of the output is in no operand");
    if (std::count(out.begin(), out.end(), out[i]) > 1) throw OpError("equation '" + equation + "': a label of the output is repeated");
    e.output.push_back({out[i], sizes[out[i]], 0});
  }
  make_contiguous(e.output);
  return e;
}

}  // namespace sx
