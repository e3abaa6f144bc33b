// Published networks, against the outputs of TensorFlow Lite's interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/passes/passes.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/tflite/importer.h"
#include "tests/shared.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

// A file with the inputs and outputs of its manifest: real numbers.
struct Reference {
  explicit Reference(const std::string& name)
      : folder(shared_dir() / "tflite" / name), file(tflite::open_file(folder / "model.tflite")) {
    const nlohmann::json manifest = nlohmann::json::parse(read_text(folder / "manifest.json"));
    inputs = read(manifest["inputs"], *file.graph->inputs());
    outputs = read(manifest["outputs"], *file.graph->outputs());
  }

  std::vector<BlobTensor> read(const nlohmann::json& list, const flatbuffers::Vector<int32_t>& ports) const {
    std::vector<BlobTensor> tensors;
    for (const nlohmann::json& entry : list) {
      const auto& port = file.tensor(ports[static_cast<unsigned>(tensors.size())]);
      std::vector<double> values = elements_of(read_text(folder / entry["file"].get<std::string>()), port.type());
      if (const Scale scale = scale_of(port); scale.scale != 0)
        for (double& v : values) v = scale.real(v);
      tensors.push_back({entry["shape"].get<std::vector<int64_t>>(), std::move(values)});
    }
    return tensors;
  }

  // In the order of the file's outputs.
  std::vector<BlobTensor> run(const Graph& graph) const {
    BlobTensors by_name;
    for (size_t i = 0; i < inputs.size(); ++i) by_name[graph.table.inputs.at(i)->name] = inputs[i];
    const BlobTensors results = run_graph(graph, by_name);
    std::vector<BlobTensor> ordered;
    for (const auto& port : graph.table.outputs) ordered.push_back(results.at(port->name));
    return ordered;
  }

  fs::path folder;
  tflite::File file;
  std::vector<BlobTensor> inputs, outputs;
};

struct Published {
  const char* name;
  double bound;
};

class TfliteFile : public ::testing::TestWithParam<Published> {};

TEST_P(TfliteFile, ComputesWhatTheInterpreterDoes) {
  if (!fs::exists(shared_dir() / "tflite")) GTEST_SKIP() << "no .tflite files here";
  const Reference reference(GetParam().name);
  const std::vector<BlobTensor> outputs = reference.run(*import_tflite(reference.folder / "model.tflite"));
  ASSERT_EQ(outputs.size(), reference.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i].dims, reference.outputs[i].dims);
    EXPECT_LE(difference(outputs[i].values, reference.outputs[i].values), GetParam().bound) << i;
  }
}

// The keyword spotter has 8-bit weights: the interpreter rounds activations to 8 bits, too.
INSTANTIATE_TEST_SUITE_P(, TfliteFile,
                         ::testing::Values(Published{"tiny_ad01_fp32", 1e-5},
                                           Published{"tiny_kws_ref_model_float32", 2e-3},
                                           Published{"tiny_pretrainedResnet", 1e-5},
                                           Published{"tiny_vww_96_float", 1e-5}),
                         [](const auto& c) { return std::string(c.param.name); });

struct Integers {
  const char* name;
  double steps;   // the largest difference
  size_t floats;  // operators between conversions
};

class TfliteIntegerFile : public ::testing::TestWithParam<Integers> {};

// TensorFlow Lite's own two sets of kernels round differently and differ by up to 9 steps at the end of a MobileNetV2.
TEST_P(TfliteIntegerFile, AgreesWithTheInterpreter) {
  if (!fs::exists(shared_dir() / "tflite")) GTEST_SKIP() << "no .tflite files here";
  const Reference reference(GetParam().name);
  // Not as `ferry convert` does, which takes the softmax off where the file names classes.
  const std::unique_ptr<Graph> graph = std::move(tflite::import_file(reference.file, {}).graph);
  run_passes(*graph, {});
  int8::compute_on_integers(*graph, {});

  size_t floats = 0;
  for (const auto& op : graph->table.operators)
    if (graph->at(op->inputs.front()).dtype != fbs::DType::Int8 && op->params.type != fbs::OpParams::Requantize)
      ++floats;
  EXPECT_EQ(floats, GetParam().floats);
  const std::vector<BlobTensor> outputs = reference.run(*graph);
  ASSERT_EQ(outputs.size(), reference.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<double>&ours = outputs[i].values, &theirs = reference.outputs[i].values;
    ASSERT_EQ(outputs[i].dims, reference.outputs[i].dims);
    const auto best = [](const std::vector<double>& v) { return std::max_element(v.begin(), v.end()) - v.begin(); };
    EXPECT_EQ(best(ours), best(theirs));
    const int index = reference.file.graph->outputs()->Get(static_cast<unsigned>(i));
    const double step = scale_of(reference.file.tensor(index)).scale;
    double most = 0;
    for (size_t k = 0; k < ours.size(); ++k) most = std::max(most, std::fabs(ours[k] - theirs[k]) / step);
    EXPECT_LE(most, GetParam().steps + 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , TfliteIntegerFile,
    ::testing::Values(Integers{"keras_lstm_mnist_ptq", 3, 502}, Integers{"mobilenet_v1_0.25_128_quant", 3, 1},
                      Integers{"mobilenet_v2_1.0_224_quant", 14, 1}, Integers{"tf2_mobilenet_v2_1.0_224_ptq", 2, 1},
                      Integers{"tiny_ad01_int8", 0, 0}, Integers{"tiny_pretrainedResnet_quant", 0, 1},
                      Integers{"tiny_vww_96_int8", 0, 1}),
    [](const auto& c) {
      std::string name = c.param.name;
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

}  // namespace
}  // namespace ferry::testing
