// A mapped, verified blob. Whoever holds a Model may follow any index or offset in it without checking again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ferry_generated.h"
#include "sdk/graph/shape.h"
#include "sdk/status.h"

namespace ferry {

// The fixed 64 bytes at the start of a blob, little endian. docs/format.md is the specification.
struct BlobHeader {
  static constexpr char kMagic[8] = {'F', 'E', 'R', 'R', 'Y', '\r', '\n', '\x1a'};
  static constexpr uint32_t kVersion = 1;

  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // 64
  uint64_t graph_offset;  // of the flatbuffer, multiple of 64
  uint64_t graph_bytes;
  uint64_t data_offset;  // of the weight segments, multiple of 64
  uint64_t data_bytes;   // to the end of the file
  uint8_t reserved[16];  // zero
};
static_assert(sizeof(BlobHeader) == 64);

// Bytes that stay readable after every tensor: XNNPACK's kernels load whole vectors.
inline constexpr size_t kExtraBytes = 16;
// Alignment of weight segments and of planned activations.
inline constexpr size_t kAlignment = 64;

class Mapping;       // sdk/model/mapping.h
class WeightsCache;  // sdk/cpu/weights_cache.h

class Model {
 public:
  static Status open(const char* path, std::shared_ptr<Model>* out);
  static Status open_fd(int fd, uint64_t offset, uint64_t length, std::shared_ptr<Model>* out);
  static Status open_memory(const void* data, size_t size, std::shared_ptr<Model>* out);
  ~Model();

  const fbs::Model& graph() const { return *graph_; }
  const fbs::Tensor& tensor(int index) const { return *graph_->tensors()->Get(static_cast<unsigned>(index)); }
  // The declared shape, at the default input size.
  Shape shape(int index) const;
  bool is_constant(int index) const { return tensor(index).buffer() != 0; }
  // A constant's bytes; kExtraBytes more may be read. Empty for an activation.
  std::span<const std::byte> constant(int index) const;

  // Packed weights, shared by all sessions of this model (thread-safe).
  WeightsCache& weights_cache() const { return *weights_cache_; }

 private:
  Model();
  static Status open_bytes(std::unique_ptr<Mapping> mapping, std::shared_ptr<Model>* out);

  std::unique_ptr<Mapping> mapping_;
  std::span<const std::byte> data_;  // the data section
  const fbs::Model* graph_ = nullptr;
  std::unique_ptr<WeightsCache> weights_cache_;
};

// Structure and meaning of a whole blob: header, flatbuffer, indices, order, shapes, segments. sdk/model/verify.cc.
Status verify(std::span<const std::byte> blob, const fbs::Model** graph, std::span<const std::byte>* data);

}  // namespace ferry
