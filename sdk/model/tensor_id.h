// Index of a tensor in Graph.tensors, as a distinct type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ferry_generated.h"

namespace ferry {

using fbs::TensorId;

constexpr uint32_t index_of(TensorId id) { return static_cast<uint32_t>(id); }
// The tensor at that index of Graph.tensors.
constexpr TensorId tensor_at(size_t index) { return static_cast<TensorId>(index); }

// All tensors of a graph, in their order: for (const TensorId t : TensorIds(count)).
class TensorIds {
 public:
  class Iterator {
   public:
    explicit constexpr Iterator(size_t index) : index_(index) {}
    constexpr TensorId operator*() const { return tensor_at(index_); }
    constexpr Iterator& operator++() {
      ++index_;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    size_t index_;
  };

  explicit constexpr TensorIds(size_t count) : count_(count) {}
  constexpr Iterator begin() const { return Iterator(0); }
  constexpr Iterator end() const { return Iterator(count_); }

 private:
  size_t count_;
};

}  // namespace ferry
