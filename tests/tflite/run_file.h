// Imports a .tflite file, as `ferry convert` does, and runs the blob.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "converter/graph/graph.h"
#include "tests/support/run_blob.h"

namespace ferry::testing {

// Throws Error.
std::unique_ptr<Graph> import_tflite(const std::filesystem::path& path, const std::string& option = "");

// Outputs by name. Throws Error.
BlobTensors run_graph(const Graph& graph, const BlobTensors& inputs);

// The maximum difference, divided by the maximum of the expected values or 1 if that is more.
double difference(const std::vector<double>& values, const std::vector<double>& expected);

// Empty if the file was imported, else the message.
std::string refusal(const std::filesystem::path& path);

}  // namespace ferry::testing
