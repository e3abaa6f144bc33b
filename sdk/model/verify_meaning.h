// The second half of verify(): the meaning of a well-formed flatbuffer. sdk/model/model.h lists the guarantees.
#pragma once

#include <cstdint>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"

namespace ferry {

// `graph` has passed the flatbuffers verifier; the data section has `data_bytes` bytes.
Status verify_meaning(const fbs::Graph& graph, uint64_t data_bytes);

// Number of elements of a list, which may be absent.
template <typename T>
uint32_t count(const flatbuffers::Vector<T>* list) {
  return list ? list->size() : 0;
}

// The declared shape of a tensor whose rank has been checked.
Shape declared_shape(const fbs::Tensor& tensor);

}  // namespace ferry
