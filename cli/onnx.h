// How commands describe ONNX files.
#pragma once

#include <string>
#include <vector>

#include "converter/onnx/importer.h"

namespace ferry::cli {

// Prints every reason why a file cannot be converted, to standard error or as JSON to standard output. Returns the exit
// code.
int print_refusal(const onnx::Refused& refused, bool json);

// Prints operators, parameters, multiply-adds and what cannot be converted. `shapes` are those of --shape.
int inspect_onnx(const std::string& path, const std::vector<std::string>& shapes, bool json);

}  // namespace ferry::cli
