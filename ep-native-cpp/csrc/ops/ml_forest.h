// Decision forests of ai.onnx.ml, as nodes in one array.
#pragma once
#include <memory>

#include "engine/op.h"

namespace sx {

enum class Branch : uint8_t { leq, lt, gte, gt, eq, neq, member, leaf };

struct ForestNode {
  double threshold;  // member: the number of its set
  int32_t feature;
  int32_t yes, no;   // successors; of a leaf its votes [yes, no)
  Branch mode;
  uint8_t missing_yes;
};

struct Vote {
  int32_t target;
  double weight;
};

struct Forest {
  std::vector<ForestNode> nodes;
  std::vector<Vote> votes;
  std::vector<int32_t> roots;
  std::vector<std::vector<double>> sets;  // sorted
  int64_t features = 0;                   // rows must have that many
  bool only_leq = true;
  bool doubles = false;                   // weights or base values are doubles

  // The leaf that a row reaches.
  template <typename T>
  const ForestNode& leaf(int32_t root, const T* row) const {
    const ForestNode* all = nodes.data();
    const ForestNode* n = all + root;
    if (only_leq) {
      while (n->mode != Branch::leaf) {
        const double x = static_cast<double>(row[n->feature]);
        n = all + (x <= n->threshold || (x != x && n->missing_yes) ? n->yes : n->no);
      }
      return *n;
    }
    while (n->mode != Branch::leaf) n = all + (goes_yes(*n, static_cast<double>(row[n->feature])) ? n->yes : n->no);
    return *n;
  }

 private:
  bool goes_yes(const ForestNode& n, double x) const;
};

// The forest of nodes_* attributes with ids, and `kind`_* votes (class or target): versions 1 and 3 of the classifier and
// regressor. Throws OpError for a model that contradicts itself.
std::shared_ptr<const Forest> forest_by_id(const Attributes& attrs, const std::string& kind);
// The forest of TreeEnsemble-5, whose nodes name one another by position.
std::shared_ptr<const Forest> forest_by_position(const Attributes& attrs);

}  // namespace sx
