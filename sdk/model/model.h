// A mapped, verified blob. Whoever holds a Model may follow any index or offset in it without checking again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ferry_generated.h"
#include "sdk/model/numbers.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"

namespace ferry {

// The fixed 64 bytes at the start of a blob, little endian. docs/format.md is the specification.
struct BlobHeader {
  static constexpr char kMagic[8] = {'F', 'E', 'R', 'R', 'Y', '\r', '\n', '\x1a'};
  static constexpr uint32_t kVersion = 2;

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

// Limits of format version 1, far above any network. They bound the work that a hostile file can cause.
inline constexpr uint64_t kMaxGraphBytes = uint64_t{64} << 20;  // of the flatbuffer
inline constexpr uint32_t kMaxTables = 1 << 20;                 // tensors, operators, their parameters, buffers, ports
inline constexpr uint32_t kMaxOperatorInputs = 1024;
inline constexpr uint32_t kMaxInputs = 1 << 20;  // of all operators together
inline constexpr uint32_t kMaxPorts = 1 << 16;   // inputs, outputs, taps: of each
inline constexpr uint32_t kMaxStates = 1 << 16;
inline constexpr uint32_t kMaxNameBytes = 512;   // of a port
inline constexpr int64_t kMaxElements = int64_t{1} << 40;

class Mapping;      // sdk/model/mapping.h
class PackedStore;  // sdk/model/packed_store.h

// What a verified graph guarantees, so that its readers need not ask (docs/format.md, "Verification"):
// - tensors(), buffers(), operators(), inputs() and outputs() are present and not empty; taps(), labels(), preprocess(),
//   postprocess() and provenance() may be null. Ports have names; other names may be null: read them with text().
// - every operator has params() of a known type, one or more inputs() and one output; every index is in range; a value is
//   produced once, before its use; weights and biases of conv2d, conv_transpose2d and linear are constants; infer_shape() gives the
//   declared shapes, infer_type() the declared types. What a quantised constant's scale names is a constant of its shape.
class Model {
 public:
  static Status open(const char* path, std::shared_ptr<Model>* out);
  static Status open_fd(int fd, uint64_t offset, uint64_t length, std::shared_ptr<Model>* out);
  static Status open_memory(const void* data, size_t size, std::shared_ptr<Model>* out);
  ~Model();

  const fbs::Graph& graph() const { return *graph_; }
  const fbs::Tensor& tensor(int index) const { return *graph_->tensors()->Get(static_cast<unsigned>(index)); }
  // The declared shape, at the default input size.
  Shape shape(int index) const;
  bool is_constant(int index) const { return tensor(index).buffer() != 0; }
  // A constant's bytes; kExtraBytes more may be read. Empty for an activation.
  std::span<const std::byte> constant(int index) const;
  // A constant with its type: read_numbers() says what it stands for.
  StoredConstant stored(int index) const;
  // The bytes of a buffer of the graph.
  std::span<const std::byte> segment(uint32_t buffer) const;

  // Packed weights, shared by all sessions of this model (thread-safe).
  PackedStore& packed() const { return *packed_; }

 private:
  Model();
  static Status open_bytes(std::unique_ptr<Mapping> mapping, std::shared_ptr<Model>* out);

  std::unique_ptr<Mapping> mapping_;
  std::span<const std::byte> data_;  // the data section
  const fbs::Graph* graph_ = nullptr;
  std::unique_ptr<PackedStore> packed_;
};

// A string of the graph; "" where it is absent.
inline const char* text(const flatbuffers::String* s) { return s ? s->c_str() : ""; }

// The lowest format version that covers what the graph says: the one that its blob has (docs/format.md, "Versions").
uint32_t format_version(const fbs::Graph& graph);

// Structure and meaning of a whole blob: header, flatbuffer, indices, order, shapes, segments. sdk/model/verify.cc.
// `blob` must be aligned to 8 bytes. FERRY_NOT_A_BLOB, FERRY_UNSUPPORTED_VERSION, FERRY_CORRUPT, FERRY_UNSUPPORTED
// (an operator or type of a later library), FERRY_OUT_OF_MEMORY.
Status verify(std::span<const std::byte> blob, const fbs::Graph** graph, std::span<const std::byte>* data);

}  // namespace ferry
