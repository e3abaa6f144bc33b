// A blob's outputs for given inputs, as an app computes them. No header of the converter beside this one's source: the
// app's classes bear the same names.
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

// "" or why it does not run. `blob` lies at a multiple of 64.
std::string run_blob(const std::byte* blob, size_t size, const BlobTensors& inputs, BlobTensors* outputs);

}  // namespace ferry::testing
