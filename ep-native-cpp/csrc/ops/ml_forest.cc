#ifdef SX_ML
#include "ops/ml_forest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace sx {
namespace {

// A number of a feature or target.
int32_t narrow(int64_t i, const char* name) {
  if (i < 0 || i > std::numeric_limits<int32_t>::max()) throw OpError(std::string(name) + " holds " + std::to_string(i) + ", which numbers nothing");
  return static_cast<int32_t>(i);
}

const char* const kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

// The numbers of `name`, or of its form as a tensor of doubles.
std::vector<double> numbers(const Attributes& attrs, const std::string& name, bool* doubles) {
  const auto wide = attrs.numbers(name + "_as_tensor");
  if (wide.empty()) return attrs.numbers(name);
  *doubles = true;
  return wide;
}

void same_length(size_t n, std::initializer_list<std::pair<const char*, size_t>> lists) {
  for (auto& l : lists)
    if (l.second != n) throw OpError("attributes of unequal length: " + std::string(l.first) + " has " + std::to_string(l.second) + " instead of " + std::to_string(n));
}

// Finds nodes by (tree, node).
class Index {
 public:
  Index(const std::vector<int64_t>& trees, const std::vector<int64_t>& nodes) {
    for (size_t i = 0; i < trees.size(); i++) entries_.push_back({trees[i], nodes[i], static_cast<int32_t>(i)});
    std::sort(entries_.begin(), entries_.end());
    for (size_t i = 1; i < entries_.size(); i++)
      if (entries_[i].tree == entries_[i - 1].tree && entries_[i].node == entries_[i - 1].node)
        throw OpError("node " + std::to_string(entries_[i].node) + " of tree " + std::to_string(entries_[i].tree) + " is listed twice");
  }
  int32_t find(int64_t tree, int64_t node, const char* what) const {
    auto it = std::lower_bound(entries_.begin(), entries_.end(), Entry{tree, node, -1});
    if (it == entries_.end() || it->tree != tree || it->node != node)
      throw OpError(std::string(what) + " names node " + std::to_string(node) + " of tree " + std::to_string(tree) + ", which does not exist");
    return it->at;
  }

 private:
  struct Entry {
    int64_t tree, node;
    int32_t at;
    bool operator<(const Entry& o) const { return tree != o.tree ? tree < o.tree : node != o.node ? node < o.node : at < o.at; }
  };
  std::vector<Entry> entries_;
};

Branch mode_of(const std::string& name) {
  for (int i = 0; i < 8; i++)
    if (name == kModes[i] && i != static_cast<int>(Branch::member)) return static_cast<Branch>(i);
  throw OpError("nodes_modes has " + name + ", which is no mode of a node");
}

// Checks what all forests must fulfil: features, and no way that leads in a circle.
void finish(Forest* f) {
  enum : char { unseen, open, done };
  std::vector<char> state(f->nodes.size(), unseen);
  std::vector<int32_t> stack;
  for (int32_t root : f->roots) stack.push_back(root);
  while (!stack.empty()) {
    const int32_t at = stack.back();
    ForestNode& n = f->nodes[static_cast<size_t>(at)];
    char& s = state[static_cast<size_t>(at)];
    if (s == done || n.mode == Branch::leaf) {
      s = done;
      stack.pop_back();
      continue;
    }
    if (s == open) {
      s = done;
      stack.pop_back();
      continue;
    }
    s = open;
    if (n.feature < 0) throw OpError("nodes_featureids must not be negative");
    f->features = std::max<int64_t>(f->features, n.feature + 1);
    f->only_leq &= n.mode == Branch::leq;
    for (int32_t next : {n.yes, n.no}) {
      if (state[static_cast<size_t>(next)] == open) throw OpError("the tree's nodes lead back to one another in a circle");
      if (state[static_cast<size_t>(next)] == unseen) stack.push_back(next);
    }
  }
}

}  // namespace

bool Forest::goes_yes(const ForestNode& n, double x) const {
  if (x != x) return n.mode == Branch::neq || n.missing_yes;
  switch (n.mode) {
    case Branch::leq: return x <= n.threshold;
    case Branch::lt: return x < n.threshold;
    case Branch::gte: return x >= n.threshold;
    case Branch::gt: return x > n.threshold;
    case Branch::eq: return x == n.threshold;
    case Branch::neq: return x != n.threshold;
    default: {
      const auto& set = sets[static_cast<size_t>(n.threshold)];
      return std::binary_search(set.begin(), set.end(), x);
    }
  }
}

std::shared_ptr<const Forest> forest_by_id(const Attributes& attrs, const std::string& kind) {
  auto f = std::make_shared<Forest>();
  const auto trees = attrs.list("nodes_treeids"), ids = attrs.list("nodes_nodeids"), features = attrs.list("nodes_featureids");
  const auto yes = attrs.list("nodes_truenodeids"), no = attrs.list("nodes_falsenodeids"), missing = attrs.list("nodes_missing_value_tracks_true");
  auto modes = attrs.string_lists.find("nodes_modes");
  const std::vector<std::string> none;
  const auto& names = modes == attrs.string_lists.end() ? none : modes->second;
  bool ignored = false;
  const auto thresholds = numbers(attrs, "nodes_values", &ignored);
  const size_t n = trees.size();
  same_length(n, {{"nodes_nodeids", ids.size()}, {"nodes_featureids", features.size()}, {"nodes_truenodeids", yes.size()}, {"nodes_falsenodeids", no.size()},
                  {"nodes_modes", names.size()}, {"nodes_values", thresholds.size()}, {"nodes_missing_value_tracks_true", missing.empty() ? n : missing.size()}});
  const Index index(trees, ids);
  std::unordered_set<int64_t> seen;  // trees: the first node of each is its root
  for (size_t i = 0; i < n; i++) {
    ForestNode node{thresholds[i], narrow(features[i], "nodes_featureids"), 0, 0, mode_of(names[i]), !missing.empty() && missing[i] == 1};
    if (node.mode != Branch::leaf) {
      node.yes = index.find(trees[i], yes[i], "nodes_truenodeids");
      node.no = index.find(trees[i], no[i], "nodes_falsenodeids");
    }
    f->nodes.push_back(node);
    if (seen.insert(trees[i]).second) f->roots.push_back(static_cast<int32_t>(i));
  }
  const auto vote_trees = attrs.list(kind + "_treeids"), vote_nodes = attrs.list(kind + "_nodeids"), targets = attrs.list(kind + "_ids");
  const auto weights = numbers(attrs, kind + "_weights", &f->doubles);
  same_length(targets.size(), {{"treeids", vote_trees.size()}, {"nodeids", vote_nodes.size()}, {"weights", weights.size()}});
  std::vector<std::pair<int32_t, size_t>> order;  // of votes, by node
  for (size_t i = 0; i < targets.size(); i++) order.push_back({index.find(vote_trees[i], vote_nodes[i], "a vote"), i});
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size();) {
    ForestNode& node = f->nodes[static_cast<size_t>(order[i].first)];
    const int32_t first = static_cast<int32_t>(f->votes.size());
    const int32_t at = order[i].first;
    for (; i < order.size() && order[i].first == at; i++) f->votes.push_back({narrow(targets[order[i].second], (kind + "_ids").c_str()), weights[order[i].second]});
    if (node.mode == Branch::leaf) {
      node.yes = first;
      node.no = static_cast<int32_t>(f->votes.size());
    }
  }
  finish(f.get());
  return f;
}

std::shared_ptr<const Forest> forest_by_position(const Attributes& attrs) {
  auto f = std::make_shared<Forest>();
  const auto modes = attrs.list("nodes_modes"), features = attrs.list("nodes_featureids"), yes = attrs.list("nodes_truenodeids"), no = attrs.list("nodes_falsenodeids");
  const auto yes_leaf = attrs.list("nodes_trueleafs"), no_leaf = attrs.list("nodes_falseleafs"), missing = attrs.list("nodes_missing_value_tracks_true");
  const auto splits = attrs.numbers("nodes_splits"), weights = attrs.numbers("leaf_weights"), members = attrs.numbers("membership_values");
  const auto targets = attrs.list("leaf_targetids"), roots = attrs.list("tree_roots");
  const size_t n = modes.size();
  same_length(n, {{"nodes_featureids", features.size()}, {"nodes_truenodeids", yes.size()}, {"nodes_falsenodeids", no.size()}, {"nodes_trueleafs", yes_leaf.size()},
                  {"nodes_falseleafs", no_leaf.size()}, {"nodes_splits", splits.size()}, {"nodes_missing_value_tracks_true", missing.empty() ? n : missing.size()}});
  same_length(targets.size(), {{"leaf_weights", weights.size()}});
  auto inside = [](int64_t i, size_t size, const char* name) {
    if (i < 0 || i >= static_cast<int64_t>(size)) throw OpError(std::string(name) + " holds " + std::to_string(i) + ", but must lie in [0, " + std::to_string(size) + ")");
    return static_cast<int32_t>(i);
  };
  size_t next_member = 0;
  for (size_t i = 0; i < n; i++) {
    ForestNode node{splits[i], narrow(features[i], "nodes_featureids"), 0, 0, static_cast<Branch>(inside(modes[i], 7, "nodes_modes")), !missing.empty() && missing[i] == 1};
    // Leaves follow the n nodes.
    node.yes = yes_leaf[i] ? static_cast<int32_t>(n) + inside(yes[i], targets.size(), "nodes_truenodeids") : inside(yes[i], n, "nodes_truenodeids");
    node.no = no_leaf[i] ? static_cast<int32_t>(n) + inside(no[i], targets.size(), "nodes_falsenodeids") : inside(no[i], n, "nodes_falsenodeids");
    if (node.mode == Branch::member) {
      // NaN ends a set.
      std::vector<double> set;
      if (next_member >= members.size()) throw OpError("membership_values holds too few sets for the nodes of mode BRANCH_MEMBER");
      for (; next_member < members.size() && !std::isnan(members[next_member]); next_member++) set.push_back(members[next_member]);
      next_member++;
      std::sort(set.begin(), set.end());
      node.threshold = static_cast<double>(f->sets.size());
      f->sets.push_back(set);
    }
    f->nodes.push_back(node);
  }
  for (size_t i = 0; i < targets.size(); i++) {
    f->nodes.push_back({0, 0, static_cast<int32_t>(i), static_cast<int32_t>(i + 1), Branch::leaf, 0});
    f->votes.push_back({narrow(targets[i], "leaf_targetids"), weights[i]});
  }
  for (int64_t r : roots) f->roots.push_back(inside(r, n, "tree_roots"));
  finish(f.get());
  return f;
}

}  // namespace sx
#endif
