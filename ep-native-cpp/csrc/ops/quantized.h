// Quantized element types.
#pragma once
#include "engine/op.h"
#include "kernels/args.h"

namespace sx {

inline QType qtype_of(DType t) {
  switch (t) {
    case DType::i8: return QType::i8;
    case DType::u8: return QType::u8;
    case DType::i16: return QType::i16;
    case DType::u16: return QType::u16;
    default: throw OpError("an integer type of 8 or 16 bits was expected");
  }
}

// Calls f with the C++ type of a quantized element.
template <typename F>
auto with_quantized(DType t, F&& f) {
  switch (qtype_of(t)) {
    case QType::i8: return f(int8_t());
    case QType::u8: return f(uint8_t());
    case QType::i16: return f(int16_t());
    default: return f(uint16_t());
  }
}

}  // namespace sx
