// Every imported operator on its own, against the outputs of TensorFlow Lite's interpreter.
#include <gtest/gtest.h>

#include <cmath>
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

std::vector<double> raw_input(const tflite::File& file, unsigned i) {
  const schema::Tensor& tensor = file.tensor(file.graph->inputs()->Get(i));
  return case_input(tensor, static_cast<size_t>(tflite::shape_of(tensor).elements()), i);
}

// Of the file's inputs, by name: real numbers.
BlobTensors inputs_of(const tflite::File& file) {
  BlobTensors inputs;
  for (unsigned i = 0; i < tflite::count(file.graph->inputs()); ++i) {
    const int index = file.graph->inputs()->Get(i);
    const ferry::Shape shape = tflite::shape_of(file.tensor(index));
    std::vector<double> values = raw_input(file, i);
    if (const Scale scale = scale_of(file.tensor(index)); scale.scale != 0)
      for (double& v : values) v = scale.real(v);
    inputs[file.tensor_name(index)] = {{shape.dims.begin(), shape.dims.begin() + shape.rank}, std::move(values)};
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
  // --detect none: as the file has its outputs.
  const std::unique_ptr<Graph> graph = import_tflite(path, "detect", "none");
  const BlobTensors given = inputs_of(tflite::open_file(path));
  BlobTensors inputs = given;
  for (const auto& port : graph->table.inputs) {  // states begin with zeros
    const ferry::Shape shape = graph->shape(port->tensor);
    inputs.try_emplace(port->name, BlobTensor{{shape.dims.begin(), shape.dims.begin() + shape.rank},
                                              std::vector<double>(static_cast<size_t>(shape.elements()))});
  }
  const BlobTensors outputs = run_graph(*graph, inputs);
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
  EXPECT_EQ(compared, outputs.size() - (inputs.size() - given.size()));  // without the states
}

INSTANTIATE_TEST_SUITE_P(, TfliteOperator, ::testing::ValuesIn(operator_cases()),
                         [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(Recurrent, TfliteOperator, ::testing::ValuesIn(recurrent::cases()),
                         [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(Parts, TfliteOperator, ::testing::ValuesIn(parts::cases()),
                         [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(Scatters, TfliteOperator, ::testing::ValuesIn(scatters::cases()),
                         [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(Control, TfliteOperator, ::testing::ValuesIn(control::cases()),
                         [](const auto& c) { return c.param.name; });

INSTANTIATE_TEST_SUITE_P(Detection, TfliteOperator, ::testing::ValuesIn(detection::cases()),
                         [](const auto& c) { return c.param.name; });

const OperatorCase& recurrent_case(const std::string& name) {
  for (const OperatorCase& c : recurrent::cases())
    if (c.name == name) return c;
  throw Error("no case " + name);
}

// The interpreter ran a sequence; its steps pass their states on.
TEST(TfliteLstm, StepsAreASequence) {
  const ScratchFolder folder;
  const auto sequence = tflite::open_file(folder.write("s.tflite", file_of(recurrent_case("lstm_peepholes"))));
  const auto step = import_tflite(folder.write("m.tflite", file_of(recurrent_case("lstm_step_peepholes"))));
  const std::vector<double> x = raw_input(sequence, 0);
  const CheckpointTensor& y = expected().tensors().at("lstm_peepholes/t0");
  const size_t steps = static_cast<size_t>(y.shape[0]), in = x.size() / steps;
  BlobTensors inputs;
  for (const auto& port : step->table.inputs) {
    const ferry::Shape shape = step->shape(port->tensor);
    inputs[port->name] = {{shape.dims.begin(), shape.dims.begin() + shape.rank},
                          std::vector<double>(static_cast<size_t>(shape.elements()))};
  }
  ASSERT_EQ(inputs.size(), 3u);
  std::vector<double> found;
  for (size_t t = 0; t < steps; ++t) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(t * in);
    inputs.at("in0").values.assign(begin, begin + static_cast<std::ptrdiff_t>(in));
    for (const auto& [name, value] : run_graph(*step, inputs))
      if (name == "t0")
        found.insert(found.end(), value.values.begin(), value.values.end());
      else
        inputs.at(name) = value;
  }
  EXPECT_LE(difference(found, y.to_doubles()), kTolerance);
}

class TfliteIntegers : public ::testing::TestWithParam<OperatorCase> {};

// Rounding differs: the interpreter's kernels round twice, or halves away from zero.
TEST_P(TfliteIntegers, AreWithinAStepOfTheInterpreters) {
  const ScratchFolder folder;
  const fs::path path = folder.write("m.tflite", file_of(GetParam()));
  const tflite::File file = tflite::open_file(path);
  const BlobTensors outputs = run_graph(*import_tflite(path), inputs_of(file));
  for (unsigned i = 0; i < tflite::count(file.graph->outputs()); ++i) {
    const int index = file.graph->outputs()->Get(i);
    const std::string name = file.tensor_name(index);
    const Scale scale = scale_of(file.tensor(index));
    const std::vector<double> theirs = expected().tensors().at(GetParam().name + "/" + name).to_doubles();
    const std::vector<double>& ours = outputs.at(name).values;
    ASSERT_EQ(ours.size(), theirs.size());
    size_t different = 0;
    for (size_t k = 0; k < ours.size(); ++k) {
      const double step = scale.scale != 0 ? scale.scale : 1e-5;
      const double steps = std::fabs(ours[k] - (scale.scale != 0 ? scale.real(theirs[k]) : theirs[k])) / step;
      ASSERT_LE(steps, 1.01) << name << ", element " << k << ": " << ours[k] << ", " << theirs[k];
      if (steps > 0.5) ++different;
    }
    RecordProperty("different", static_cast<int>(different));
    // A map of twice the size has exact halves in every fourth element.
    EXPECT_LE(different * 5, ours.size()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(, TfliteIntegers, ::testing::ValuesIn(on_integers::cases()),
                         [](const auto& c) { return c.param.name; });

template <typename T>
std::string bytes_as(const std::vector<double>& values) {
  const std::vector<T> narrow(values.begin(), values.end());
  return {reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(T)};
}

std::string bytes_of(const std::vector<double>& values, schema::TensorType type) {
  switch (type) {
    case schema::TensorType::FLOAT32: return bytes_as<float>(values);
    case schema::TensorType::INT16: return bytes_as<int16_t>(values);
    case schema::TensorType::INT8: return bytes_as<int8_t>(values);
    case schema::TensorType::UINT8: return bytes_as<uint8_t>(values);
    default: return bytes_as<int32_t>(values);
  }
}

void write_case(const fs::path& folder, const OperatorCase& c) {
  fs::create_directories(folder);
  std::ofstream(folder / "model.tflite", std::ios::binary) << file_of(c);
  const tflite::File file = tflite::open_file(folder / "model.tflite");
  for (unsigned i = 0; i < tflite::count(file.graph->inputs()); ++i)
    std::ofstream(folder / ("input" + std::to_string(i) + ".bin"), std::ios::binary)
        << bytes_of(raw_input(file, i), file.tensor(file.graph->inputs()->Get(i)).type());
}

// For make_operators: FERRY_WRITE_TFLITE names a folder, which gets a folder with model and inputs for each case.
TEST(TfliteOperators, AreWrittenForTheInterpreter) {
  const char* to = std::getenv("FERRY_WRITE_TFLITE");
  if (to == nullptr) GTEST_SKIP() << "FERRY_WRITE_TFLITE names no folder";
  for (const auto* cases : {&operator_cases(), &on_integers::cases(), &recurrent::cases(), &detection::cases(),
                            &control::cases(), &parts::cases(), &scatters::cases()})
    for (const OperatorCase& c : *cases) write_case(fs::path(to) / c.name, c);
}

}  // namespace
}  // namespace ferry::testing
