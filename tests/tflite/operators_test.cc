// Every imported operator on its own, against the outputs of TensorFlow Lite's interpreter.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "converter/checkpoint/checkpoint.h"
#include "converter/tflite/constants.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/operator_cases.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-5;

std::string file_of(const OperatorCase& c) {
  FileBuilder b;
  return b.finish(c.build(b));
}

// Of the file's inputs, by name.
BlobTensors inputs_of(const tflite::File& file) {
  BlobTensors inputs;
  for (unsigned i = 0; i < tflite::count(file.graph->inputs()); ++i) {
    const int index = file.graph->inputs()->Get(i);
    const ferry::Shape shape = tflite::shape_of(file.tensor(index));
    const bool integers = !tflite::is_float(file.tensor(index).type());
    const std::vector<float> values = case_input(static_cast<size_t>(shape.elements()), i, integers);
    inputs[file.tensor_name(index)] = {{shape.dims.begin(), shape.dims.begin() + shape.rank},
                                       {values.begin(), values.end()}};
  }
  return inputs;
}

const Checkpoint& expected() {
  static const std::shared_ptr<const Checkpoint> kExpected =
      open_checkpoint(source_folder() / "tests" / "data" / "tflite" / "operators.safetensors");
  return *kExpected;
}

class TfliteOperator : public ::testing::TestWithParam<OperatorCase> {};

TEST_P(TfliteOperator, ComputesWhatTheInterpreterDoes) {
  const ScratchFolder folder;
  const fs::path path = folder.write("m.tflite", file_of(GetParam()));
  const BlobTensors outputs = run_graph(*import_tflite(path), inputs_of(tflite::open_file(path)));
  ASSERT_FALSE(outputs.empty());
  size_t compared = 0;
  for (const auto& [key, tensor] : expected().tensors()) {
    const size_t slash = key.find('/');
    if (key.substr(0, slash) != GetParam().name) continue;
    const auto found = outputs.find(key.substr(slash + 1));
    ASSERT_NE(found, outputs.end()) << key;
    EXPECT_EQ(found->second.dims, tensor.shape) << key;
    EXPECT_LE(difference(found->second.values, tensor.to_doubles()), kTolerance) << key;
    ++compared;
  }
  EXPECT_EQ(compared, outputs.size());
}

INSTANTIATE_TEST_SUITE_P(, TfliteOperator, ::testing::ValuesIn(operator_cases()),
                         [](const auto& c) { return c.param.name; });

// For make_operators: FERRY_WRITE_TFLITE names a folder, which gets a folder with model and inputs for each case.
TEST(TfliteOperators, AreWrittenForTheInterpreter) {
  const char* to = std::getenv("FERRY_WRITE_TFLITE");
  if (to == nullptr) GTEST_SKIP() << "FERRY_WRITE_TFLITE names no folder";
  for (const OperatorCase& c : operator_cases()) {
    const fs::path folder = fs::path(to) / c.name;
    fs::create_directories(folder);
    std::ofstream(folder / "model.tflite", std::ios::binary) << file_of(c);
    const tflite::File file = tflite::open_file(folder / "model.tflite");
    const BlobTensors inputs = inputs_of(file);
    for (unsigned i = 0; i < tflite::count(file.graph->inputs()); ++i) {
      const int index = file.graph->inputs()->Get(i);
      std::ofstream out(folder / ("input" + std::to_string(i) + ".bin"), std::ios::binary);
      for (const double value : inputs.at(file.tensor_name(index)).values) {
        const auto real = static_cast<float>(value);
        const auto whole = static_cast<int32_t>(value);
        const bool is_real = tflite::is_float(file.tensor(index).type());
        out.write(is_real ? reinterpret_cast<const char*>(&real) : reinterpret_cast<const char*>(&whole), 4);
      }
    }
  }
}

}  // namespace
}  // namespace ferry::testing
