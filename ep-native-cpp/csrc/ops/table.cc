#include "ops/table.h"

#include <unordered_map>

namespace sx {

static const std::unordered_map<std::string, const OpDef*>& table() {
  static const auto* all = [] {
    auto* t = new std::unordered_map<std::string, const OpDef*>();
    for (OpFamily f : {shape_ops(), elementwise_ops(), matmul_ops(), conv_ops(), conv_transpose_ops(), pool_ops(), layout_ops(), block_map_ops(), block_move_ops(), rows_ops(), movement_ops(), attention_ops(), control_ops(), ml_ops(), recurrent_ops(), nbits_ops(), einsum_ops()})
      for (const OpDef* d = f.begin; d != f.end; d++) (*t)[d->name] = d;
    return t;
  }();
  return *all;
}

const OpDef* find_op(const std::string& name) {
  auto it = table().find(name);
  return it == table().end() ? nullptr : it->second;
}

std::vector<std::string> all_ops() {
  std::vector<std::string> names;
  for (auto& e : table()) names.push_back(e.first);
  return names;
}

}  // namespace sx
