// Writes a finished graph as a blob. The same graph produces the same bytes on every host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/write_file.h"

namespace ferry {

struct PackOptions {
  // Storage of the float weights of convolutions and linear layers; other constants are float32, or as in the graph.
  // Float16 halves the file at a relative rounding error of up to 2^-11; the runtime widens them when it packs weights
  // for its kernels.
  enum class Weights { Float32, Float16 };
  Weights weights = Weights::Float32;
  // Embedding tables, read only by gathers of slices, become Float16.
  bool half_tables = false;
  // Called with the written share of the constants, from 0 to 1.
  std::function<void(double)> progress = {};
};

// Receives consecutive bytes.
using Sink = std::function<void(std::span<const std::byte>)>;
// The data section of a blob's file so far, mapped. `forget` releases the pages until they are read again.
struct WrittenData {
  std::span<const std::byte> bytes;
  std::function<void()> forget;
};
// Writes the bytes of a buffer that no tensor uses, at least one, to `sink`. They may depend on the blob's table and
// its data section so far.
using Attach = std::function<void(const fbs::GraphT& table, const WrittenData& data, const Sink& sink)>;

// Writes header, flatbuffer and segments (docs/format.md). Only one constant at a time is in memory. Float64 constants
// become Float32; unused constants and tensors must have been removed (passes/remove_dead_code.cc). Returns the blob's
// size. Throws Error if ferry::verify() fails, a finite value overflows its storage type, or the file cannot be
// written; no file is left then.
//
// `certify` makes the blob's certificates from the blob without certificates at path `blob`: one per graph, in order;
// graphs with null, or beyond the last one, get none. `checkpoint` writes the buffer of Graph.checkpoint.
using Certificates = std::vector<std::unique_ptr<fbs::CertificateT>>;
using Certify = std::function<Certificates(const std::filesystem::path& blob)>;
uint64_t pack_file(const Graph& graph, const PackOptions& options, const std::filesystem::path& path,
                   const Certify& certify = {}, const Attach& checkpoint = {});

// The same in memory.
std::vector<std::byte> pack(const Graph& graph, const PackOptions& options = {});

// Size of that blob without certificates and checkpoint buffer; reads no constant and writes nothing.
uint64_t packed_size(const Graph& graph, const PackOptions& options);

// The checksum of a segment or a text as the blob has it: XXH64, never 0.
uint64_t checksum_of(std::span<const std::byte> bytes);

// Appends a segment to the data section of a blob for assemble(). Returns the index of its buffer. The table must
// already have the empty buffer.
uint32_t add_segment(std::span<const std::byte> bytes, fbs::GraphT* table, std::vector<std::byte>* data);

// Assembles a blob of this flatbuffer and data section; the flatbuffer's buffers refer to segments. Throws Error if
// ferry::verify() fails.
std::vector<std::byte> assemble(const fbs::GraphT& table, std::span<const std::byte> data);

}  // namespace ferry
