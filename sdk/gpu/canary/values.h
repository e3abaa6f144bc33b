// What canaries compute on: made-up inputs and constants, the same on every host.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "sdk/gpu/backend/weights.h"
#include "sdk/model/model.h"
#include "sdk/operators/type.h"
#include "sdk/reference/reference.h"

namespace ferry::gpu {

using reference::Array;

// Does the chain divide by what it carries, or take its root? Sums near zero would have no digits then.
bool wants_positive(const Model& model, const std::vector<int>& operators);

// An input of a chain that begins with `op`, such that its mistakes show.
Array made_up_input(const fbs::Operator& op, TensorId tensor, const Shape& shape, bool positive);

// Constants of small sizes for a model's operators, of the model's types.
class MadeUpConstants : public Constants {
 public:
  MadeUpConstants(const Model& model, uint64_t alignment)
      : model_(model), alignment_(std::max<uint64_t>(alignment, 64)) {}

  // At least so many elements of constant `tensor`. `scale`: a power of two; integers fill their type's range without.
  void add(TensorId tensor, int64_t elements, float scale, bool positive) {
    Entry& entry = entries_.try_emplace(tensor, Entry{0, 0, scale, positive}).first->second;
    entry.elements = std::max(entry.elements, static_cast<uint64_t>(elements));
  }
  // After the last add().
  Status fill();
  // Then: the numbers of a constant.
  Array array(TensorId tensor, const Shape& shape) const;

  std::span<const std::byte> bytes(TensorId tensor) const override {
    const Entry& entry = entries_.at(tensor);
    const uint64_t size = bytes_of(dtype(tensor), static_cast<int64_t>(entry.elements));
    return {memory_.get() + entry.offset, static_cast<size_t>(size)};  // fill() has taken the memory
  }
  fbs::DType dtype(TensorId tensor) const override { return model_.tensor(tensor).dtype(); }
  uint32_t buffer(TensorId tensor) const override { return index_of(tensor); }

 private:
  struct Entry {
    uint64_t offset, elements;
    float scale;
    bool positive;
  };
  float value(TensorId tensor, size_t i) const;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  const Model& model_;
  const uint64_t alignment_;  // whole granules, for those devices that read them in place
  std::map<TensorId, Entry> entries_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace ferry::gpu
