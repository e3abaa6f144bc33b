// Sizes of the schema's element types.
#pragma once

#include <cstddef>

#include "ferry_generated.h"

namespace ferry {

// Bytes of one element; 0 for a type that no blob holds, or that this version does not know.
inline size_t dtype_size(fbs::DType dtype) {
  switch (dtype) {
    case fbs::DType::Float64:
    case fbs::DType::Int64: return 8;
    case fbs::DType::Float32:
    case fbs::DType::Int32: return 4;
    case fbs::DType::Float16: return 2;
    case fbs::DType::Int8:
    case fbs::DType::UInt8: return 1;
    default: return 0;
  }
}

}  // namespace ferry
