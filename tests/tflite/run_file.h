// Imports a .tflite file, as `ferry convert` does, and runs the blob.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "converter/graph/graph.h"
#include "converter/tflite/file.h"
#include "tests/support/run_blob.h"

namespace ferry::testing {

// Throws Error.
std::unique_ptr<Graph> import_tflite(const std::filesystem::path& path, const std::string& option = "",
                                     const std::string& value = "");

// Outputs by name. Throws Error.
BlobTensors run_graph(const Graph& graph, const BlobTensors& inputs);

// The maximum difference, divided by the maximum of the expected values or 1 if that is more.
double difference(const std::vector<double>& values, const std::vector<double>& expected);

// How the integers of a file's tensor stand for real numbers; the scale is 0 if they do not.
struct Scale {
  double scale = 0, zero = 0;

  double real(double integer) const { return (integer - zero) * scale; }
};
Scale scale_of(const tflite::schema::Tensor& tensor);

// The elements of raw little-endian bytes of this type. Throws Error for types that no port has.
std::vector<double> elements_of(const std::string& bytes, tflite::schema::TensorType type);

// Empty if the file was imported, else the message.
std::string refusal(const std::filesystem::path& path);

}  // namespace ferry::testing
