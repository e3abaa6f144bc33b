// The second half of verify(): what a well-formed flatbuffer says must make sense. sdk/model/model.h lists what
// follows.
#pragma once

#include <cstdint>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"

namespace ferry {

// `graph` has passed the flatbuffers verifier; the data section has `data_bytes` bytes.
Status verify_meaning(const fbs::Graph& graph, uint64_t data_bytes);

// Of a list of the graph, which may be absent.
template <typename T>
uint32_t count(const flatbuffers::Vector<T>* list) {
  return list ? list->size() : 0;
}

// The shape a tensor declares; only for one whose rank has been checked.
Shape declared_shape(const fbs::Tensor& tensor);

}  // namespace ferry
