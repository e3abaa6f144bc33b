// Blobs of all released versions open forever: tests/golden/README.md.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "converter/pack/pack.h"
#include "converter/pack/version.h"
#include "converter/reference/interpreter.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

const std::filesystem::path kFolder = source_folder() / "tests" / "golden";

std::map<std::string, std::vector<double>> read_elements(const std::filesystem::path& path) {
  std::map<std::string, std::vector<double>> numbers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    for (double value; words >> value;) numbers[name].push_back(value);
  }
  return numbers;
}

// Element `i` of input `n`; a token id for integers.
float input_value(size_t n, size_t i) { return noise(static_cast<uint32_t>(n), static_cast<uint32_t>(i)); }
int32_t input_id(size_t i) { return static_cast<int32_t>(i * 7 + 3) % 11; }

void expect_numbers(const std::filesystem::path& blob) {
  ferry_model* model = nullptr;
  ASSERT_EQ(ferry_model_open(blob.c_str(), &model), FERRY_OK) << ferry_last_error();
  ferry_session* session = nullptr;
  ASSERT_EQ(ferry_session_create(model, nullptr, &session), FERRY_OK) << ferry_last_error();
  ferry_tensor tensor;
  for (size_t n = 0; n < ferry_model_input_count(model); ++n) {
    ASSERT_EQ(ferry_session_input(session, n, &tensor), FERRY_OK);
    for (size_t i = 0; i < tensor.bytes / sizeof(float); ++i) {
      if (tensor.dtype == FERRY_INT32) {
        static_cast<int32_t*>(tensor.data)[i] = input_id(i);
      } else {
        static_cast<float*>(tensor.data)[i] = input_value(n, i);
      }
    }
  }
  ASSERT_EQ(ferry_session_run(session), FERRY_OK) << ferry_last_error();

  const auto numbers = read_elements(std::filesystem::path(blob).replace_extension(".txt"));
  ASSERT_EQ(numbers.size(), ferry_model_output_count(model));
  for (size_t n = 0; n < ferry_model_output_count(model); ++n) {
    ASSERT_EQ(ferry_session_output(session, n, &tensor), FERRY_OK);
    ASSERT_TRUE(numbers.contains(tensor.name)) << tensor.name;
    const auto& want = numbers.at(tensor.name);
    ASSERT_EQ(want.size(), tensor.bytes / sizeof(float));
    double largest = 0, error = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      largest = std::max(largest, std::fabs(want[i]));
      const double difference = std::fabs(static_cast<double>(static_cast<const float*>(tensor.data)[i]) - want[i]);
      error = std::isnan(difference) ? INFINITY : std::max(error, difference);
    }
    EXPECT_GT(largest, 0);
    // float32 taps have a bound of 1e-4 of the maximum; these networks are shallow.
    EXPECT_LE(error, 1e-5 * largest) << tensor.name;
  }
  ferry_session_close(session);
  ferry_model_close(model);
}

TEST(GoldenBlob, OfEveryVersionLoadsAndMatches) {
  int blobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".ferry" || entry.path().filename().string().front() != 'v') continue;
    SCOPED_TRACE(entry.path().filename());
    expect_numbers(entry.path());
    ++blobs;
  }
  EXPECT_GE(blobs, 8);  // five of version 1, three of version 2: none may be removed
}

void write_golden(const std::string& name, const Graph& graph, const PackOptions& options = {}) {
  const std::string stem = "v" + std::to_string(format_version(graph.table)) + "_" + name;
  if (std::filesystem::exists(kFolder / (stem + ".ferry"))) return;
  std::vector<reference::Array> inputs;
  for (const auto& port : graph.table.inputs) {
    const Shape shape = graph.shape(port->tensor);
    std::vector<double> values(static_cast<size_t>(shape.elements()));
    const fbs::DType type = graph.dtype(port->tensor);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = type == fbs::DType::Int32 ? input_id(i) : static_cast<double>(input_value(inputs.size(), i));
    inputs.push_back({shape, std::move(values), type});
  }
  const auto computed = reference::interpret(graph, inputs, nullptr, reference::Rows::Rounded);
  std::string text;
  for (const auto& port : graph.table.outputs) {
    text += port->name;
    for (double value : computed.at(port->tensor).values) {
      char number[32];
      std::snprintf(number, sizeof number, " %.9g", value);
      text += number;
    }
    text += '\n';
  }
  write_file(kFolder / (stem + ".ferry"), pack(graph, options));
  write_file(kFolder / (stem + ".txt"), std::as_bytes(std::span(text)));
}

// The last constant that is Int8: the classifier's weight.
std::byte* last_weight(AlignedBytes& blob) {
  const auto& header = *reinterpret_cast<const BlobHeader*>(blob.data());
  const fbs::Graph& graph = *fbs::GetGraph(blob.data() + header.graph_offset);
  std::byte* last = nullptr;
  for (const fbs::Tensor* tensor : *graph.tensors())
    if (tensor->buffer() != 0 && tensor->dtype() == fbs::DType::Int8)
      last = blob.data() + header.data_offset + graph.buffers()->Get(tensor->buffer())->offset();
  return last;
}

// Equality: the certificate holds the hashes of what the integer reference computed.
TEST(GoldenBlob, OfIntegersGivesTheSameIntegers) {
  std::ifstream file(kFolder / "int8_small_classifier.ferry", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  AlignedBytes blob(std::as_bytes(std::span(bytes)));
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.skip_weight_check = true;
  for (const bool damaged : {false, true}) {
    for (size_t i = 0; damaged && i < 8; ++i) last_weight(blob)[i] ^= std::byte{4};  // some inputs are 0
    ferry_model* model = nullptr;
    ASSERT_EQ(ferry_model_open_memory(blob.data(), blob.size(), &model), FERRY_OK) << ferry_last_error();
    ferry_verification v{};
    v.struct_size = sizeof v;
    ASSERT_EQ(ferry_model_verify(model, &options, &v), FERRY_OK) << ferry_last_error();
    EXPECT_EQ(v.passed, !damaged) << v.stage << " differs by " << v.error;
    EXPECT_EQ(v.stage_count, 4u);
    ferry_model_close(model);
  }
}

TEST(GoldenBlob, DISABLED_WritesThoseOfThisVersion) {
  write_golden("small_classifier", *small_classifier());
  write_golden("small_classifier_f16", *small_classifier(), {PackOptions::Weights::Float16});
  write_golden("small_upscaler", *small_upscaler());
  write_golden("small_mixture", *small_mixture());
  write_golden("small_decoder", *small_decoder());
  write_golden("small_transformer", *small_transformer());
  write_golden("small_integers", *small_integers());
  write_golden("small_recurrent", *small_recurrent());
}

}  // namespace
}  // namespace ferry::testing
