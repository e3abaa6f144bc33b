// A blob's outputs for given inputs, computed like an app. Its source includes no converter header, because classes of
// the C++ API have the same names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ferry::testing {

// In the source framework's layout.
struct BlobTensor {
  std::vector<int64_t> dims;
  std::vector<double> values;
};
using BlobTensors = std::map<std::string, BlobTensor>;

// Empty, or why it does not run. `blob` is aligned to 64. `gpu`: a device (gpus.h); empty: the CPU.
std::string run_blob(const std::byte* blob, size_t size, const BlobTensors& inputs, BlobTensors* outputs,
                     const std::string& gpu = "");

}  // namespace ferry::testing
