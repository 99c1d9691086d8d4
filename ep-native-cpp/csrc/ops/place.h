// Where a tensor that a step reads or writes lies.
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

}  // namespace sx
