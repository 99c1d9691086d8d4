// The parts of the movement family.
#pragma once
#include "ops/table.h"

namespace sx {

OpFamily copy_ops();
OpFamily gather_ops();
OpFamily scatter_ops();
OpFamily pad_ops();
OpFamily generate_ops();
OpFamily topk_ops();
OpFamily select_ops();
OpFamily nms_ops();
OpFamily resize_ops();
OpFamily sample_ops();
OpFamily roi_ops();
OpFamily fold_ops();
OpFamily quantize_ops();
OpFamily integer_ops();
OpFamily integer_conv_ops();
OpFamily spectral_ops();

}  // namespace sx
