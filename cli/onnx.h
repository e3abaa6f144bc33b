// What the commands say about ONNX files.
#pragma once

#include <string>
#include <vector>

#include "converter/onnx/importer.h"

namespace ferry::cli {

// Every reason why a file cannot be converted: to standard error, or as JSON to standard output. Returns the exit code.
int print_refusal(const onnx::Refused& refused, bool json);

// Operators, parameters, multiply-adds and what would be refused. `shapes` as --shape gives them.
int inspect_onnx(const std::string& path, const std::vector<std::string>& shapes, bool json);

}  // namespace ferry::cli
