// Restores a checkpoint's tensor from the blob's constants, by fbs::Numbers of converter/export/checkpoint.fbs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint_generated.h"
#include "converter/pack/pack.h"

namespace ferry {

// Sources of the parts of a checkpoint.
struct Stored {
  std::span<const std::byte> kept;  // the checkpoint's own buffer
  std::function<std::span<const std::byte>(uint32_t buffer)> segment;
  uint32_t buffers = 0;    // number of buffers of the blob
  uint64_t bytes = 0;      // size of the blob's data section: the maximum size of a tensor
  const char* where = "";  // for messages
};

// The bytes of `kept` as stored. Throws Error if they are out of range.
std::span<const std::byte> kept_bytes(const fbs::Kept& kept, const Stored& stored);
// The bytes after inflating: `size` bytes in memory.
std::vector<std::byte> read_kept(const fbs::Kept* kept, uint64_t size, const Stored& stored);

// Size of the tensor in its file. Throws Error if `numbers` is invalid for this blob.
uint64_t restored_size(const fbs::Numbers& numbers, const Stored& stored);
// Restores the bytes. Memory is proportional to the tensor if its dimensions are permuted, or it was multiplied. Throws
// Error likewise.
void restore(const fbs::Numbers& numbers, const Stored& stored, const Sink& sink);

size_t size_of(fbs::Element element);

// Traverses an array of `dims` and the same with permuted dimensions: in the order of the one, `steps` are the strides
// in the other.
struct Walk {
  std::vector<int64_t> dims, steps;
};
Walk to_permuted(const std::vector<int32_t>& dims, const std::vector<uint8_t>& perm);
Walk from_permuted(const std::vector<int32_t>& dims, const std::vector<uint8_t>& perm);

// Calls `visit` with the index in the other array of each element, in order.
template <typename Visit>
void walk(const Walk& way, const Visit& visit) {
  if (way.dims.empty()) return visit(0);
  const size_t last = way.dims.size() - 1;
  int64_t rows = 1, at = 0;
  for (size_t d = 0; d < last; ++d) rows *= way.dims[d];
  std::vector<int64_t> index(last, 0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < way.dims[last]; ++i) visit(static_cast<size_t>(at + i * way.steps[last]));
    for (size_t d = last; d-- > 0;) {
      at += way.steps[d];
      if (++index[d] < way.dims[d]) break;
      at -= way.steps[d] * index[d];
      index[d] = 0;
    }
  }
}

}  // namespace ferry
