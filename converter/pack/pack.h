// From a finished graph to a blob's bytes. The same graph gives the same bytes on every host.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "converter/graph/graph.h"

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

// Lays out header, flatbuffer and segments (docs/format.md). Float64 constants become Float32; unused constants and
// tensors must be gone already (passes/remove_dead_code.cc). The result passes ferry::verify(): throws Error where it
// does not, and where a finite number is beyond the type that it is to be stored in.
std::vector<std::byte> pack(const Graph& graph, const PackOptions& options = {});

// A blob of this flatbuffer and this data section, whose segments the flatbuffer's buffers name. Throws Error where
// ferry::verify() does not pass it.
std::vector<std::byte> assemble(const fbs::GraphT& model, std::span<const std::byte> data);

// Writes beside `path`, then renames: no partial file is left behind. Throws Error.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace ferry
