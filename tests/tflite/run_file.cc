#include "tests/tflite/run_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/convert.h"
#include "converter/pack/pack.h"
#include "converter/tflite/constants.h"
#include "models/families.h"
#include "tests/support/blobs.h"

namespace ferry::testing {

std::unique_ptr<Graph> import_tflite(const std::filesystem::path& path, const std::string& option,
                                     const std::string& value) {
  ConvertOptions options;
  options.checkpoint = path;
  if (!option.empty()) options.settings.set(option, value);
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

Scale scale_of(const tflite::schema::Tensor& tensor) {
  if (!tflite::is_quantised(tensor)) return {};
  const auto& q = *tensor.quantization();
  const double zero = tflite::count(q.zero_point()) > 0 ? static_cast<double>(q.zero_point()->Get(0)) : 0;
  return {static_cast<double>(q.scale()->Get(0)), zero};
}

namespace {

template <typename T>
std::vector<double> read_as(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<double> elements_of(const std::string& bytes, tflite::schema::TensorType type) {
  using SchemaType = tflite::schema::TensorType;
  switch (type) {
    case SchemaType::FLOAT32: return read_as<float>(bytes);
    case SchemaType::INT32: return read_as<int32_t>(bytes);
    case SchemaType::INT16: return read_as<int16_t>(bytes);
    case SchemaType::INT8: return read_as<int8_t>(bytes);
    case SchemaType::UINT8: return read_as<uint8_t>(bytes);
    default: fail("a port of type %s", tflite::type_name(type));
  }
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
