// From a finished graph to a blob. The same graph gives the same bytes on every host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/pack/new_file.h"

namespace ferry {

struct PackOptions {
  // How the float weights of convolutions and linears are stored; all other constants are float32, or as the graph has
  // them. Float16 halves the file, and costs each weight up to 2^-11 of its size; the runtime widens them when it packs
  // them for its kernels.
  enum class Weights { Float32, Float16 };
  Weights weights = Weights::Float32;
  // Tables that nothing but gathers of slices reads, embeddings, become Float16.
  bool half_tables = false;
};

// Takes bytes in their order.
using Sink = std::function<void(std::span<const std::byte>)>;
// Gives the bytes of a buffer that no tensor uses to `sink`, one at least: what follows from a blob's table and its
// data section, which is written up to there.
using Attach = std::function<void(const fbs::GraphT& table, std::span<const std::byte> data, const Sink& sink)>;

// Writes header, flatbuffer and segments (docs/format.md), one constant after the other: memory holds the one that is
// being written. Float64 constants become Float32; unused constants and tensors must be gone already
// (passes/remove_dead_code.cc). The blob passes ferry::verify(): throws Error where it does not, where a finite number
// is beyond the type that it is to be stored in, and where the file cannot be written; none is left behind then. Gives
// the blob's size.
//
// `certify` makes the certificates that the blob is to have, of the blob without any that lies at `blob`: by graph, the
// first one's first; a graph that is null there, or behind the last, gets none. `checkpoint` gives the buffer that
// Graph.checkpoint names.
using Certificates = std::vector<std::unique_ptr<fbs::CertificateT>>;
using Certify = std::function<Certificates(const std::filesystem::path& blob)>;
uint64_t pack_file(const Graph& graph, const PackOptions& options, const std::filesystem::path& path,
                   const Certify& certify = {}, const Attach& checkpoint = {});

// The same in memory.
std::vector<std::byte> pack(const Graph& graph, const PackOptions& options = {});

// How large that blob would be, without certificates and a checkpoint's buffer: no constant is read, nothing written.
uint64_t packed_size(const Graph& graph, const PackOptions& options);

// Appends a segment of these bytes to the data section of a blob that assemble() is to make. Gives its buffer's index.
// The table has at least the empty buffer.
uint32_t add_segment(std::span<const std::byte> bytes, fbs::GraphT* table, std::vector<std::byte>* data);

// A blob of this flatbuffer and this data section, whose segments the flatbuffer's buffers name. Throws Error where
// ferry::verify() does not pass it.
std::vector<std::byte> assemble(const fbs::GraphT& table, std::span<const std::byte> data);

}  // namespace ferry
