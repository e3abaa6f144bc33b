// Base of operators that copy elements of one input to other positions, whatever their type.
#pragma once

#include <cstddef>

#include "sdk/cpu/backend/op.h"

namespace ferry::cpu {

class MoveOp : public Op {
 public:
  explicit MoveOp(size_t element_bytes) : element_bytes_(element_bytes) {}

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = static_cast<const std::byte*>(inputs[0]);
    output_ = static_cast<std::byte*>(output);
    return {};
  }

 protected:
  const size_t element_bytes_;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
};

}  // namespace ferry::cpu
