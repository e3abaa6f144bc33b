// How `ferry convert` takes an ONNX file.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converter/convert.h"

namespace ferry::onnx {

// By its name: a file that ends with ".onnx".
bool is_onnx_file(const std::filesystem::path& path);

// The finished graph of options.checkpoint, with a name and its provenance. Throws Error, or Refused with every reason,
// where the file cannot be converted or an option is for checkpoints only.
std::unique_ptr<Graph> build_graph(const ConvertOptions& options);

// "input=1x3x224x224" for each: sizes by the input's name. Throws Error where one is written otherwise.
std::map<std::string, std::vector<int64_t>> parse_shapes(const std::vector<std::string>& shapes);

}  // namespace ferry::onnx
