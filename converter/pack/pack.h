// From a finished graph to a blob's bytes. The same graph gives the same bytes on every host.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

// Lays out header, flatbuffer and segments (docs/format.md). Float64 constants become Float32; unused constants and
// tensors must be gone already (passes/dead_code). The result passes ferry::verify(): throws Error where it does not.
std::vector<std::byte> pack(const Graph& graph);

// Writes beside `path`, then renames: no partial file is left behind. Throws Error.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace ferry
