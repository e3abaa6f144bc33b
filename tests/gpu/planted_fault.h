// Compiles shaders with planted faults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ferry::testing {

// Compiles the shader of `kernel`, with `to` instead of `from`, which occurs once in `file` of shaders/, in the new
// folder `folder`. Empty if that failed.
std::vector<uint32_t> compile_with_fault(const char* kernel, const char* file, const char* from, const char* to,
                                         bool half, const std::filesystem::path& folder);

}  // namespace ferry::testing
