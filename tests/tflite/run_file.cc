#include "tests/tflite/run_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/convert.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "tests/support/blobs.h"

namespace ferry::testing {

std::unique_ptr<Graph> import_tflite(const std::filesystem::path& path, const std::string& option) {
  ConvertOptions options;
  options.checkpoint = path;
  if (!option.empty()) options.settings.set(option);
  return convert_to_graph(families(), options);
}

BlobTensors run_graph(const Graph& graph, const BlobTensors& inputs) {
  const std::vector<std::byte> packed = pack(graph);
  AlignedBytes blob(packed);
  BlobTensors outputs;
  if (const std::string problem = run_blob(blob.data(), blob.size(), inputs, &outputs); !problem.empty())
    fail("%s", problem.c_str());
  return outputs;
}

double difference(const std::vector<double>& values, const std::vector<double>& expected) {
  if (values.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double worst = 0, largest = 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::fabs(values[i] - expected[i]);
    if (!(error <= worst)) worst = error;  // NaN is the worst
    largest = std::max(largest, std::fabs(expected[i]));
  }
  return worst / largest;
}

std::string refusal(const std::filesystem::path& path) {
  try {
    import_tflite(path);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace ferry::testing
