// Published float networks, against the outputs of TensorFlow Lite's interpreter.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/shared.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

// A file's float32 tensors as its manifest lists them.
BlobTensors read_tensors(const fs::path& folder, const nlohmann::json& list) {
  BlobTensors tensors;
  for (const nlohmann::json& entry : list) {
    const std::string bytes = read_text(folder / entry["file"].get<std::string>());
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    tensors[entry["name"]] = {entry["shape"].get<std::vector<int64_t>>(), {values.begin(), values.end()}};
  }
  return tensors;
}

struct Published {
  const char* name;
  double bound;
};

class TfliteFile : public ::testing::TestWithParam<Published> {};

TEST_P(TfliteFile, ComputesWhatTheInterpreterDoes) {
  const fs::path folder = shared_dir() / "tflite" / GetParam().name;
  if (!fs::exists(folder)) GTEST_SKIP() << "no .tflite files here";
  const nlohmann::json manifest = nlohmann::json::parse(read_text(folder / "manifest.json"));
  const BlobTensors expected = read_tensors(folder, manifest["outputs"]);
  const std::unique_ptr<Graph> graph = import_tflite(folder / "model.tflite");
  const BlobTensors outputs = run_graph(*graph, read_tensors(folder, manifest["inputs"]));
  ASSERT_EQ(outputs.size(), expected.size());
  for (const auto& [name, output] : expected) {
    ASSERT_TRUE(outputs.contains(name)) << name;
    EXPECT_EQ(outputs.at(name).dims, output.dims);
    EXPECT_LE(difference(outputs.at(name).values, output.values), GetParam().bound) << name;
  }
}

// The keyword spotter has 8-bit weights: the interpreter rounds activations to 8 bits, too.
INSTANTIATE_TEST_SUITE_P(, TfliteFile,
                         ::testing::Values(Published{"tiny_ad01_fp32", 1e-5},
                                           Published{"tiny_kws_ref_model_float32", 2e-3},
                                           Published{"tiny_pretrainedResnet", 1e-5},
                                           Published{"tiny_vww_96_float", 1e-5}),
                         [](const auto& c) { return std::string(c.param.name); });

// Each reason names its operator; none is left out.
TEST(TfliteFiles, OfIntegersAreRefusedWithEveryReason) {
  const fs::path folder = shared_dir() / "tflite";
  if (!fs::exists(folder)) GTEST_SKIP() << "no .tflite files here";
  for (const char* name : {"mobilenet_v1_0.25_128_quant", "tiny_ad01_int8", "keras_lstm_mnist_ptq"}) {
    const std::string why = refusal(folder / name / "model.tflite");
    EXPECT_NE(why.find("cannot be converted"), std::string::npos) << why;
    EXPECT_NE(why.find("with a scale"), std::string::npos) << why;
  }
}

}  // namespace
}  // namespace ferry::testing
