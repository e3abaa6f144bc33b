#include "models/families.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "converter/checkpoint/safetensors.h"
#include "models/families.h"
#include "sdk/model/model.h"
#include "tests/converter/fixture_shapes.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/fixtures.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

// SqueezeNet 1.1 with generated weights, the smallest known classifier.
const MemoryCheckpoint& squeezenet(int classes) {
  static std::map<int, std::unique_ptr<MemoryCheckpoint>> made;
  std::unique_ptr<MemoryCheckpoint>& checkpoint = made[classes];
  if (checkpoint) return *checkpoint;
  checkpoint = std::make_unique<MemoryCheckpoint>();
  const auto conv = [&](const std::string& module, int out, int in, int kernel) {
    checkpoint->add(module + ".weight", {out, in, kernel, kernel});
    checkpoint->add(module + ".bias", {out});
  };
  conv("features.0", 64, 3, 3);
  const int fires[][4] = {{3, 64, 16, 64},   {4, 128, 16, 64},   {6, 128, 32, 128},  {7, 256, 32, 128},
                          {9, 256, 48, 192}, {10, 384, 48, 192}, {11, 384, 64, 256}, {12, 512, 64, 256}};
  for (const auto& [at, in, squeeze, expand] : fires) {
    const std::string fire = "features." + std::to_string(at);
    conv(fire + ".squeeze", squeeze, in, 1);
    conv(fire + ".expand1x1", expand, squeeze, 1);
    conv(fire + ".expand3x3", expand, squeeze, 3);
  }
  conv("classifier.1", classes, 512, 1);
  return *checkpoint;
}

class Convert : public ::testing::Test {
 protected:
  ConvertOptions options(int classes = 1000) {
    ConvertOptions o;
    o.checkpoint = folder.path() / "squeezenet.safetensors";
    write_safetensors(o.checkpoint, squeezenet(classes).tensors());
    o.settings.set("model", "squeezenet1_1");
    o.output = folder.path() / "squeezenet.ferry";
    return o;
  }
  ScratchFolder folder;
};

TEST_F(Convert, WritesABlobThatOpens) {
  const Conversion done = convert(options());
  EXPECT_EQ(done.family, "SqueezeNet");
  EXPECT_EQ(done.variant, "squeezenet1_1.v1");
  EXPECT_EQ(done.labels, 1000u);
  EXPECT_EQ(done.bytes, std::filesystem::file_size(folder.path() / "squeezenet.ferry"));
  std::shared_ptr<Model> model;
  const Status status = Model::open((folder.path() / "squeezenet.ferry").c_str(), &model);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(model->graph().provenance()->source()->str(), "squeezenet.safetensors");
  EXPECT_EQ(model->graph().provenance()->source_sha256()->size(), 64u);
  EXPECT_EQ(model->graph().inputs()->Get(0)->name()->str(), "input");
  EXPECT_EQ(model->graph().outputs()->Get(0)->name()->str(), "logits");
}

TEST_F(Convert, GivesTheSameBytesEveryTime) {
  ConvertOptions o = options();
  convert(o);
  const std::string first = read_text(o.output);
  convert(o);
  EXPECT_TRUE(first == read_text(o.output));
}

TEST_F(Convert, IdentifiesTheModelWithoutAName) {
  ConvertOptions o = options();
  o.settings.erase("model");
  EXPECT_EQ(convert(o).variant, "squeezenet1_1.v1");
}

TEST_F(Convert, FusesActivationsUnlessTapsAreKept) {
  ConvertOptions o = options();
  const auto release = convert_to_graph(o);
  // 26 convolutions, 3 pools, 8 concatenations, mean, flatten
  EXPECT_EQ(release->table.operators.size(), 39u);
  o.settings.set("keep-taps");
  const auto tapped = convert_to_graph(o);
  EXPECT_EQ(tapped->table.operators.size(), 39u + 26u);
  std::set<std::string> names;
  for (const auto& tap : tapped->table.taps) names.insert(tap->name);
  for (const char* name :
       {"features.0", "features.1", "features.3.squeeze", "features.3.expand3x3_activation", "features.3",
        "features.12", "features", "classifier.1", "classifier.2", "classifier.3", "classifier"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST_F(Convert, PreparesImagesAsTheVariantWasTrained) {
  const auto graph = convert_to_graph(options());
  const fbs::PreprocessT& preprocess = *graph->table.preprocess;
  EXPECT_EQ(preprocess.resize_mode, fbs::ResizeMode::ShortestEdge);
  EXPECT_EQ(preprocess.resize_h, 256);
  EXPECT_EQ(preprocess.crop_h, 224);
  EXPECT_EQ(preprocess.crop_w, 224);
  EXPECT_EQ(preprocess.filter, fbs::Filter::Bilinear);
  EXPECT_EQ(preprocess.mean, (std::vector<float>{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::Classification);
}

TEST_F(Convert, InputSizeChangesTheInputAndThePreprocessing) {
  ConvertOptions o = options();
  o.settings.set("input-size", "160x192");
  const auto graph = convert_to_graph(o);
  EXPECT_EQ(graph->shape(TensorId::First), (Shape{1, 160, 192, 3}));
  EXPECT_EQ(graph->table.preprocess->crop_h, 160);
  EXPECT_EQ(graph->table.preprocess->crop_w, 192);
  EXPECT_EQ(graph->table.preprocess->resize_mode, fbs::ResizeMode::Cover);
  EXPECT_EQ(graph->table.preprocess->resize_h, 182);  // floor(160 / 0.875)
  EXPECT_EQ(graph->table.preprocess->resize_w, 219);  // floor(192 / 0.875)
  EXPECT_EQ(graph->table.provenance->options, std::vector<std::string>{"--input-size 160x192"});
}

TEST_F(Convert, OneChannelMakesThePreprocessingGrey) {
  ConvertOptions o = options();
  o.settings.set("in-chans", 1);
  const auto graph = convert_to_graph(o);
  EXPECT_EQ(graph->shape(TensorId::First), (Shape{1, 224, 224, 1}));
  EXPECT_EQ(graph->table.preprocess->color, fbs::ColorOrder::Gray);
  ASSERT_EQ(graph->table.preprocess->mean.size(), 1u);
  EXPECT_NEAR(graph->table.preprocess->mean[0], 0.449, 1e-6);
}

TEST_F(Convert, ZeroClassesGiveFeatures) {
  ConvertOptions o = options();
  o.settings.set("num-classes", 0);
  const auto graph = convert_to_graph(o);
  EXPECT_EQ(graph->table.outputs.front()->name, "pooled");
  EXPECT_EQ(graph->shape(graph->table.outputs.front()->tensor), (Shape{1, 512}));
  EXPECT_TRUE(graph->table.labels.empty());
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::Embedding);
  EXPECT_FALSE(graph->table.postprocess->unit_length);
}

TEST_F(Convert, AnEmbeddingMayBeOfUnitLength) {
  ConvertOptions o = options();
  o.settings.set("unit-length");
  EXPECT_EQ(complaint([&] { convert(o); }),
            "squeezenet.safetensors as squeezenet1_1.v1: --unit-length: squeezenet1_1.v1 outputs no "
            "embedding in this conversion");
  o.settings.set("num-classes", 0);
  const auto graph = convert_to_graph(o);
  EXPECT_TRUE(graph->table.postprocess->unit_length);
  EXPECT_EQ(graph->table.provenance->options, (std::vector<std::string>{"--num-classes 0", "--unit-length"}));
}

TEST_F(Convert, AnotherClassCountNeedsAnOption) {
  ConvertOptions o = options(10);
  EXPECT_EQ(complaint([&] { convert(o); }),
            "squeezenet.safetensors as squeezenet1_1.v1: classifier 'classifier.1' has 10 classes, expected 1000: use "
            "--num-classes 10 if the checkpoint is right");
  EXPECT_FALSE(std::filesystem::exists(o.output));
  o.settings.set("num-classes", 10);
  const Conversion done = convert(o);
  EXPECT_EQ(done.labels, 0u);  // the class count differs from ImageNet's
}

TEST_F(Convert, LabelsComeFromAFileAndMustBeAsManyAsClasses) {
  ConvertOptions o = options(3);
  o.settings.set("num-classes", 3);
  o.settings.set("labels", folder.write("labels.txt", "cat\ndog\r\nbird\n").string());
  EXPECT_EQ(convert_to_graph(o)->table.labels, (std::vector<std::string>{"cat", "dog", "bird"}));
  o.settings.set("labels", folder.write("labels.txt", "cat\ndog\n").string());
  EXPECT_TRUE(complaint([&] { convert(o); }).ends_with("labels.txt has 2 lines, but the network has 3 classes"));
  o.settings.set("labels", (folder.path() / "absent.txt").string());
  EXPECT_TRUE(complaint([&] { convert(o); }).ends_with("absent.txt: cannot be read"));
  o.settings.set("num-classes", 0);
  EXPECT_TRUE(
      complaint([&] { convert(o); }).ends_with("--labels: squeezenet1_1.v1 outputs no classes in this conversion"));
}

TEST_F(Convert, OptionsOutOfRangeAreRefused) {
  const auto refused = [&](auto change) {
    ConvertOptions o = options();
    change(o);
    return complaint([&] { convert(o); });
  };
  EXPECT_EQ(refused([](ConvertOptions& o) { o.settings.set("weights", "int3"); }),
            "--weights int3: expected f32, f16, i8 or i4");
  EXPECT_EQ(refused([](ConvertOptions& o) { o.settings.set("num-classes", -1); }),
            "--num-classes -1: expected 0 or more");
  EXPECT_EQ(refused([](ConvertOptions& o) { o.settings.set("features", 0); }),
            "squeezenet.safetensors as squeezenet1_1.v1: --features 0: the network has no pyramid of feature maps");
  EXPECT_EQ(refused([](ConvertOptions& o) { o.settings.set("in-chans", 0); }), "--in-chans 0: expected 1 to 64");
  EXPECT_EQ(refused([](ConvertOptions& o) { o.settings.set("input-size", 0); }),
            "--input-size: a side of 0, expected 1 to 16384");
}

TEST_F(Convert, AnInputTooSmallForTheNetworkIsRefusedWithTheModule) {
  ConvertOptions o = options();
  o.settings.set("input-size", 4);
  const std::string message = complaint([&] { convert(o); });
  EXPECT_TRUE(message.starts_with("squeezenet.safetensors as squeezenet1_1.v1: ")) << message;
}

TEST_F(Convert, MissingAndUnreadKeysNameTheFileAndTheVariant) {
  ConvertOptions o = options();
  std::map<std::string, CheckpointTensor> tensors = squeezenet(1000).tensors();
  auto moved = tensors.extract("features.7.squeeze.bias");
  write_safetensors(o.checkpoint, tensors);
  EXPECT_EQ(complaint([&] { convert(o); }),
            "squeezenet.safetensors as squeezenet1_1.v1: the checkpoint has no 'features.7.squeeze.bias', which module "
            "'features.7.squeeze' needs");
  tensors = squeezenet(1000).tensors();
  moved.key() = "features.7.extra";
  tensors.insert(std::move(moved));
  write_safetensors(o.checkpoint, tensors);
  EXPECT_EQ(complaint([&] { convert(o); }),
            "squeezenet.safetensors as squeezenet1_1.v1: the network does not use 1 key of the checkpoint: "
            "'features.7.extra' [32] (--ignore-keys REGEX leaves out keys that "
            "do not matter)");
}

TEST_F(Convert, ReportsProgressInOrder) {
  ConvertOptions o = options();
  std::vector<std::string> steps;
  double last = -1;
  o.progress = [&](std::string_view step, double fraction) {
    if (steps.empty() || steps.back() != step) steps.emplace_back(step);  // packing takes many steps
    EXPECT_GT(fraction, last);
    last = fraction;
  };
  convert(o);
  EXPECT_EQ(steps,
            (std::vector<std::string>{"reading", "building", "hashing", "folding", "packing", "recording", "done"}));
  EXPECT_EQ(last, 1);
}

// Every tap of a fixture exists in a blob with --keep-taps, with the framework's shape.
class FixtureTaps : public ::testing::TestWithParam<ParityFixture> {};

TEST_P(FixtureTaps, AreAllThereWithTheirShapes) {
  const std::filesystem::path fixture = GetParam().folder();
  if (fixture.empty()) GTEST_SKIP() << kNoFixture;
  const auto read = [](const std::filesystem::path& path) { return nlohmann::json::parse(read_text(path)); };
  const nlohmann::json manifest = read(fixture / "manifest.json");
  const nlohmann::json source =
      manifest.contains("checkpoint_of")
          ? read(fixture.parent_path() / manifest["checkpoint_of"].get<std::string>() / "manifest.json")
          : manifest;

  // Only names and shapes matter here, not weights.
  ScratchFolder folder;
  std::map<std::string, CheckpointTensor> tensors;
  int64_t largest = 0;
  for (const auto& tensor : source["tensors"]) {
    CheckpointTensor t;
    t.shape = tensor["shape"].get<std::vector<int64_t>>();
    t.type = tensor["dtype"] == "I64" ? ElementType::I64 : ElementType::F32;
    largest = std::max(largest, t.elements());
    tensors[tensor["name"]] = t;
  }
  const std::vector<float> ones(static_cast<size_t>(largest), 1.0f);
  for (auto& [name, t] : tensors)
    t.bytes = std::as_bytes(std::span(ones)).first(static_cast<size_t>(t.elements()) * element_size(t.type));
  // Except for constants that are not weights: filters, indices.
  std::shared_ptr<const Checkpoint> constants;
  if (std::filesystem::exists(fixture / "consts.safetensors")) {
    constants = open_checkpoint(fixture / "consts.safetensors");
    for (const auto& [name, t] : constants->tensors()) tensors[name] = t;
  }
  ConvertOptions o = GetParam().convert_options(folder.path() / "model.safetensors");
  write_safetensors(o.checkpoint, tensors);
  if (std::filesystem::exists(fixture / "config.json")) {  // identifies the network like the name does
    std::filesystem::copy(fixture / "config.json", folder.path() / "config.json");
    o.settings.erase("model");
  }
  o.settings.set("keep-taps");
  const auto graph = convert_to_graph(o);

  std::map<std::string, std::vector<int>> seen;
  for (const fbs::GraphT* table : tables_of(graph->table)) {
    // A later graph may return a smaller part of the same.
    if (table != &graph->table && table->outputs.front()->name == graph->table.outputs.front()->name) continue;
    const auto shape =
        table == &graph->table ? shapes_of(*graph, manifest["inputs"]) : shapes_beside(*table, manifest["inputs"]);
    for (const auto* ports : {&table->outputs, &table->taps}) {
      for (const auto& port : *ports) {
        const Shape s = shape(port->tensor);
        seen[port->name] = port->source_layout == fbs::Layout::NCHW
                               ? std::vector<int>{s[0], s[3], s[1], s[2]}
                               : std::vector<int>(s.dims.begin(), s.dims.begin() + s.rank);
      }
    }
  }
  for (const char* list : {"outputs", "taps"}) {
    for (const auto& entry : manifest[list]) {
      std::string name = entry["name"];
      if (name.starts_with("tap/")) name = name.substr(4);
      ASSERT_TRUE(seen.contains(name)) << name;
      EXPECT_EQ(seen[name], entry["shape"].get<std::vector<int>>()) << name;
    }
  }

  // Only the pyramid: its maps are the outputs, in the requested order, and the head is gone.
  std::vector<std::string> maps;
  for (const auto& entry : manifest["outputs"])
    if (const std::string name = entry["name"]; name.starts_with("feat/")) maps.push_back(name);
  if (maps.empty()) return;
  o.settings.erase("keep-taps");
  for (size_t i = maps.size(); i-- > 0;) o.settings.add("features", static_cast<int>(i));
  const auto pyramid = convert_to_graph(o);
  ASSERT_EQ(pyramid->table.outputs.size(), maps.size());
  for (size_t i = 0; i < maps.size(); ++i) EXPECT_EQ(pyramid->table.outputs[i]->name, maps[maps.size() - 1 - i]);
  EXPECT_TRUE(pyramid->table.labels.empty());
  for (const auto& tap : pyramid->table.taps) EXPECT_NE(tap->name, "pooled");
  o.settings.set("features", 0);
  EXPECT_LT(convert_to_graph(o)->table.operators.size(), pyramid->table.operators.size());
}

// Fixtures with rule-made checkpoints, all of whose taps are in the blob.
std::vector<ParityFixture> whole_fixtures() {
  std::vector<ParityFixture> rows = parity_fixtures();
  std::erase_if(rows, [](const ParityFixture& row) { return !row.weights.empty() || !row.taps.empty(); });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Convert, FixtureTaps, ::testing::ValuesIn(whole_fixtures()),
                         [](const auto& test) { return test.param.name; });

class RealCheckpoint : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(RealCheckpoint, IsRecognisedAndUsedWhole) {
  const std::filesystem::path shared = shared_dir();
  if (shared.empty()) GTEST_SKIP() << "no ../shared (or FERRY_SHARED): the real checkpoints are not here";
  ConvertOptions o;
  o.checkpoint = shared / "weights" / GetParam().first;
  EXPECT_EQ(convert_to_graph(o)->table.name, GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Convert, RealCheckpoint,
                         ::testing::Values(std::pair{"squeezenet1_0", "squeezenet1_0.v1"},
                                           std::pair{"mobilenet_v2", "mobilenet_v2.v2"}),
                         [](const auto& test) { return std::string(test.param.first); });

}  // namespace
}  // namespace ferry
