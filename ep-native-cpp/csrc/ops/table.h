// The families of operators; each gives its table, and table.cc joins them.
#pragma once
#include "engine/op.h"

namespace sx {

struct OpFamily {
  const OpDef* begin;
  const OpDef* end;
};

OpFamily shape_ops();
OpFamily elementwise_ops();
OpFamily matmul_ops();
OpFamily conv_ops();
OpFamily conv_transpose_ops();
OpFamily pool_ops();
OpFamily layout_ops();
OpFamily block_map_ops();
OpFamily block_move_ops();
OpFamily rows_ops();
OpFamily movement_ops();
OpFamily attention_ops();
OpFamily control_ops();
OpFamily ml_ops();
OpFamily recurrent_ops();
OpFamily nbits_ops();
OpFamily einsum_ops();

}  // namespace sx
