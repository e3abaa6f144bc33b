// A fault in a shader.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ferry::testing {

// The shader of `kernel` with `to` in the place of `from`, which is once in `file` of shaders/, compiled in the new
// folder `folder`; empty where that failed.
std::vector<uint32_t> compile_with_fault(const char* kernel, const char* file, const char* from, const char* to,
                                         bool half, const std::filesystem::path& folder);

}  // namespace ferry::testing
