// A mapped, verified blob. Users of a Model may use any index or offset in it without checking again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ferry_generated.h"
#include "sdk/model/elements.h"
#include "sdk/model/tensor_id.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"

namespace ferry {

// The first 64 bytes of a blob, little-endian, as specified in docs/format.md.
struct BlobHeader {
  static constexpr char kMagic[8] = {'F', 'E', 'R', 'R', 'Y', '\r', '\n', '\x1a'};
  static constexpr uint32_t kVersion = 6;  // the latest; docs/format.md, "Versions", lists what requires which version

  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // 64
  uint64_t graph_offset;  // of the flatbuffer; multiple of 64
  uint64_t graph_bytes;
  uint64_t data_offset;  // of the weight segments; multiple of 64
  uint64_t data_bytes;   // to the end of the file
  uint8_t reserved[16];  // zero
};
static_assert(sizeof(BlobHeader) == 64);

// Bytes that may be read past every tensor: XNNPACK's kernels load whole vectors.
inline constexpr size_t kExtraBytes = 16;
// Alignment of weight segments and of planned activations.
inline constexpr size_t kAlignment = 64;
// Size of `bytes` with both: the distance to the next segment or value.
constexpr size_t padded_size(size_t bytes) { return (bytes + kExtraBytes + kAlignment - 1) / kAlignment * kAlignment; }

// Limits for all graphs of a blob together, unless stated otherwise. They are far above real networks and bound the
// work that a hostile file can cause.
inline constexpr uint64_t kMaxGraphBytes = uint64_t{64} << 20;  // of the flatbuffer
inline constexpr uint32_t kMaxTables = 1 << 20;                 // tensors, operators, their parameters, buffers, ports
inline constexpr uint32_t kMaxOperatorInputs = 1024;
inline constexpr uint32_t kMaxInputs = 1 << 20;  // of all operators together
inline constexpr uint32_t kMaxPorts = 1 << 16;   // inputs, outputs, taps: each, per graph
inline constexpr uint32_t kMaxGraphs = 1024;
inline constexpr uint32_t kMaxStates = 1 << 16;
inline constexpr uint32_t kMaxNameBytes = 512;  // of a port

class Mapping;      // sdk/model/mapping.h
class PackedStore;  // sdk/model/packed_store.h
class WeightCheck;  // sdk/model/weight_check.h

// One graph of a blob, and the constants that all its graphs share.
//
// Verification guarantees the following (docs/format.md, "Verification"):
// - tensors(), operators(), inputs() and outputs() are present and not empty, and so are the root's buffers(); taps(),
//   labels(), preprocess(), postprocess() and provenance() may be null. Ports and states have names; other names may be
//   null: read them with text().
// - Every operator has params() of a known type, and as many inputs() and outputs() as traits() allows. Every index is
//   in range, and a value is produced once, before its use. Weights and biases of conv2d, conv_transpose2d and linear
//   are constants. infer_shapes() returns the declared shapes, and succeeds at the inputs' bounds; infer_types()
//   accepts the types. The scale of a quantised constant is a constant of the required shape.
class Model {
 public:
  // Opens the blob's first graph.
  static Status open(const char* path, std::shared_ptr<Model>* out);
  static Status open_fd(int fd, uint64_t offset, uint64_t length, std::shared_ptr<Model>* out);
  static Status open_memory(const void* data, size_t size, std::shared_ptr<Model>* out);
  ~Model();

  // Number of graphs; the root is graph 0.
  size_t graph_count() const;
  // "" if it has no name.
  const char* graph_name(size_t index) const;
  // FERRY_NOT_FOUND: no graph has that name.
  Status find_graph(const char* name, size_t* index) const;
  // Opens graph `index` of the same blob, which shares its contents. FERRY_OUT_OF_MEMORY.
  Status open_graph(size_t index, std::shared_ptr<const Model>* out) const;

  const fbs::Graph& graph() const { return *graph_; }
  // The root table: buffers, states, provenance and text of all graphs.
  const fbs::Graph& root() const { return *contents_->root; }
  const fbs::Tensor& tensor(TensorId id) const { return *graph_->tensors()->Get(index_of(id)); }
  TensorIds tensors() const { return TensorIds(graph_->tensors()->size()); }
  // The declared shape, for the default input size.
  Shape shape(TensorId id) const;
  bool is_constant(TensorId id) const { return tensor(id).buffer() != 0; }
  // Number of outputs that applications see: counts follow them.
  size_t output_count() const;
  // A constant's bytes, followed by kExtraBytes that may be read. Empty for an activation.
  std::span<const std::byte> constant(TensorId id) const;
  // Releases the pages of a constant that was packed and will rarely be read again.
  void forget(TensorId id) const;
  // A constant with its type; read_elements() converts it to float32.
  StoredConstant stored(TensorId id) const;
  // Bytes of a buffer of the blob.
  std::span<const std::byte> segment(uint32_t buffer) const;
  // Whether both are graphs of one opened blob.
  bool shares_blob(const Model& other) const { return contents_ == other.contents_; }
  // Reads all weights and compares their SHA-256 with the converter's. FERRY_CORRUPT: they are damaged.
  // FERRY_NOT_FOUND: the blob stores no hash.
  Status check_weights() const;
  // Compares the constants with their checksums, for all sessions of the blob (thread-safe).
  WeightCheck& weight_check() const { return *contents_->weight_check; }
  // A hash of the blob's graphs, computed in time proportional to their size.
  uint64_t identity() const;

  // Packed weights, shared by all sessions of the blob (thread-safe).
  PackedStore& packed() const { return *contents_->packed; }

 private:
  struct Contents {
    Contents();
    ~Contents();

    std::unique_ptr<Mapping> mapping;
    std::span<const std::byte> data;  // the data section
    const fbs::Graph* root = nullptr;
    std::unique_ptr<PackedStore> packed;
    std::unique_ptr<WeightCheck> weight_check;
  };

  Model();
  static Status open_bytes(std::unique_ptr<Mapping> mapping, std::shared_ptr<Model>* out);

  std::shared_ptr<const Contents> contents_;
  const fbs::Graph* graph_ = nullptr;
};

// A string of the graph; "" if absent.
inline const char* text(const flatbuffers::String* s) { return s ? s->c_str() : ""; }

// Verifies structure and meaning of a whole blob: header, flatbuffer, indices, order, shapes, segments
// (sdk/model/verify.cc). `blob` must be aligned to 8 bytes. FERRY_NOT_A_BLOB, FERRY_UNSUPPORTED_VERSION, FERRY_CORRUPT,
// FERRY_UNSUPPORTED (an operator or type of a later version), FERRY_OUT_OF_MEMORY.
Status verify(std::span<const std::byte> blob, const fbs::Graph** graph, std::span<const std::byte>* data);

}  // namespace ferry
