// Where tensors and packed weights that a step reads or writes lie.
#pragma once
#include "engine/op.h"

namespace sx {

// An input or output of the op, scratch, or nowhere.
struct Place {
  enum Kind { none, input, output, scratch } kind = none;
  size_t index = 0;

  template <typename P>
  void bind(PlanCtx& p, P*& field) const {
    switch (kind) {
      case input: p.bind_in(field, index); break;
      case output: p.bind_out(field, index); break;
      case scratch: p.bind_scratch(field, index); break;
      case none: field = nullptr;
    }
  }
};

// A packed or copied constant input, or scratch that a step fills while running.
struct Packed {
  std::shared_ptr<Buffer> buffer;
  size_t scratch = 0;
  template <typename P>
  void bind(PlanCtx& p, P*& field) const {
    if (buffer)
      p.bind_packed(field, buffer);
    else
      p.bind_scratch(field, scratch);
  }
};

}  // namespace sx
