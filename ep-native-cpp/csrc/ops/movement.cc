// The movement family: operators that place, pick, make, resample or quantize elements.
#include "ops/movement.h"

namespace sx {

OpFamily movement_ops() {
  static const auto* all = [] {
    auto* t = new std::vector<OpDef>();
    for (OpFamily f : {copy_ops(), gather_ops(), scatter_ops(), pad_ops(), generate_ops(), topk_ops(), select_ops(), nms_ops(), resize_ops(), sample_ops(), roi_ops(), fold_ops(),
                       quantize_ops(), integer_ops(), integer_conv_ops(), spectral_ops()})
      t->insert(t->end(), f.begin, f.end);
    return t;
  }();
  return {all->data(), all->data() + all->size()};
}

}  // namespace sx
