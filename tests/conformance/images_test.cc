// Image classifiers from ONNX files: preprocessing and class names.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/pack/pack.h"
#include "models/families.h"
#include "onnx.pb.h"
#include "tests/support/blobs.h"
#include "tests/support/open_task.h"
#include "tests/support/run_blob.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

constexpr int kSide = 8, kClasses = 5;

// A convolution to kClasses maps, their means, and the file's further nodes on these scores.
class Classifier {
 public:
  explicit Classifier(int images = 1) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(13);
    auto* input = graph()->add_input();
    input->set_name("x");
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(::onnx::TensorProto::FLOAT);
    for (const int64_t d : {int64_t{images}, int64_t{3}, int64_t{kSide}, int64_t{kSide}})
      type->mutable_shape()->add_dim()->set_dim_value(d);
    auto* weight = graph()->add_initializer();
    weight->set_name("weight");
    weight->set_data_type(::onnx::TensorProto::FLOAT);
    for (const int64_t d : {kClasses, 3, 1, 1}) weight->add_dims(d);
    for (int i = 0; i < kClasses * 3; ++i) weight->add_float_data(static_cast<float>(6 * std::sin(1.0 + 2.3 * i)));
    node("Conv", {"x", "weight"});
    node("GlobalAveragePool", {});
  }

  // Its input is the previous node's output.
  ::onnx::NodeProto* node(const char* type, std::vector<std::string> inputs) {
    if (inputs.empty()) inputs = {last_};
    auto* made = graph()->add_node();
    made->set_op_type(type);
    for (const std::string& input : inputs) made->add_input(input);
    last_ = std::string("y") + std::to_string(graph()->node_size());
    made->add_output(last_);
    return made;
  }
  Classifier& then(const char* type, const char* attribute = nullptr, int64_t number = 0) {
    auto* made = node(type, {});
    if (attribute == nullptr) return *this;
    auto* a = made->add_attribute();
    a->set_name(attribute);
    a->set_type(::onnx::AttributeProto::INT);
    a->set_i(number);
    return *this;
  }
  Classifier& reshape(std::vector<int64_t> dims) {
    auto* shape = graph()->add_initializer();
    shape->set_name("shape" + std::to_string(graph()->node_size()));
    shape->set_data_type(::onnx::TensorProto::INT64);
    shape->add_dims(static_cast<int64_t>(dims.size()));
    for (const int64_t d : dims) shape->add_int64_data(d);
    node("Reshape", {last_, shape->name()});
    return *this;
  }

  std::filesystem::path write(const ScratchFolder& folder) {
    graph()->clear_output();
    graph()->add_output()->set_name(last_);
    return folder.write("net.onnx", model_.SerializeAsString());
  }
  const std::string& output() const { return last_; }

 private:
  ::onnx::GraphProto* graph() { return model_.mutable_graph(); }

  ::onnx::ModelProto model_;
  std::string last_;
};

ConvertOptions options_for(const std::filesystem::path& file) {
  ConvertOptions options;
  options.checkpoint = file;
  return options;
}

const char* const kNames = "ant\nbee\ncat\ndog\neel\n";

// With labels; images unchanged, with colours from 0 to 1.
ConvertOptions labelled(Classifier& network, const ScratchFolder& folder) {
  ConvertOptions options = options_for(network.write(folder));
  options.settings.set("labels", folder.write("names.txt", kNames).string());
  options.settings.set("mean", "0");
  options.settings.set("std", "1");
  return options;
}

std::string refusal_of(const ConvertOptions& options) {
  try {
    convert_to_graph(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Compares the classification task with the file's own graph, converted without names, for the same colours.
void expect_probabilities_of_the_file(Classifier network) {
  const ScratchFolder folder;
  std::vector<uint8_t> image;
  BlobTensor input{{1, 3, kSide, kSide}, std::vector<double>(3 * kSide * kSide)};
  for (int i = 0; i < kSide * kSide; ++i) {
    for (int c = 0; c < 3; ++c) {
      image.push_back(static_cast<uint8_t>((i * 37 + c * 91) % 256));
      input.values[static_cast<size_t>(c * kSide * kSide + i)] = image.back() / 255.0;
    }
  }
  const ConvertOptions options = labelled(network, folder);
  OpenTask task(pack(*convert_to_graph(options)));
  const ferry_image view = {image.data(), kSide, kSide, 3 * kSide, false};
  const ferry_answer answer = task.run(view);
  ASSERT_EQ(answer.class_count, static_cast<size_t>(kClasses));

  AlignedBytes plain(pack(*convert_to_graph(options_for(options.checkpoint))));
  BlobTensors outputs;
  ASSERT_EQ(run_blob(plain.data(), plain.size(), {{"x", input}}, &outputs), "");
  const std::vector<double>& expected = outputs[network.output()].values;
  ASSERT_EQ(expected.size(), static_cast<size_t>(kClasses));
  const std::vector<std::string> names = {"ant", "bee", "cat", "dog", "eel"};
  for (size_t i = 0; i < answer.class_count; ++i) {
    const ferry_class& found = answer.classes[i];
    EXPECT_EQ(found.label, names.at(static_cast<size_t>(found.index)));
    EXPECT_NEAR(found.probability, expected.at(static_cast<size_t>(found.index)), 1e-6) << found.label;
  }
}

TEST(OnnxImages, ASoftmaxIsTakenOnce) {
  expect_probabilities_of_the_file(Classifier().then("Flatten").then("Softmax"));
  // As exporters write it: over 1x1 maps, with a reshape after it.
  expect_probabilities_of_the_file(Classifier().then("Softmax", "axis", 1));
  expect_probabilities_of_the_file(Classifier().then("Softmax", "axis", 1).then("Flatten"));
  expect_probabilities_of_the_file(
      Classifier().reshape({kClasses, 1}).then("Softmax", "axis", 0).reshape({1, kClasses}));
}

TEST(OnnxImages, ASigmoidMeansMultiLabel) {
  const ScratchFolder folder;
  Classifier network;
  network.then("Flatten").then("Sigmoid");
  const auto graph = convert_to_graph(labelled(network, folder));
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::MultiLabel);
  expect_probabilities_of_the_file(network);
}

TEST(OnnxImages, OfSeveralImagesEachHasItsOwnSoftmax) {
  const ScratchFolder folder;
  Classifier network(2);
  network.then("Softmax", "axis", 1).then("Flatten");
  const auto graph = convert_to_graph(labelled(network, folder));
  EXPECT_EQ(graph->shape(graph->table.outputs.front()->tensor), (Shape{2, kClasses}));
  for (const auto& op : graph->table.operators) EXPECT_FALSE(op->params.AsSoftmax()) << op->name;
}

// A softmax over other dimensions is part of the network.
TEST(OnnxImages, ASoftmaxOverImagesStays) {
  const ScratchFolder folder;
  Classifier network(2);
  network.then("Flatten").then("Softmax", "axis", 0);
  const auto graph = convert_to_graph(labelled(network, folder));
  bool stays = false;
  for (const auto& op : graph->table.operators) stays = stays || op->params.AsSoftmax();
  EXPECT_TRUE(stays);
}

TEST(OnnxImages, AreLikeThoseOfAKnownNetwork) {
  const ScratchFolder folder;
  Classifier network;
  ConvertOptions options = options_for(network.then("Flatten").write(folder));
  options.settings.set("like", "timm/mobilenetv2_100");
  auto graph = convert_to_graph(options);
  ASSERT_TRUE(graph->table.preprocess);
  EXPECT_FLOAT_EQ(graph->table.preprocess->mean.front(), 0.485f);
  EXPECT_TRUE(graph->table.labels.empty()) << "1000 names are not for 5 classes";
  options.settings.set("labels", folder.write("names.txt", kNames).string());
  graph = convert_to_graph(options);
  EXPECT_EQ(graph->table.labels.size(), static_cast<size_t>(kClasses));
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::Classification);

  options.settings.set("like", "mobilenetv9");
  EXPECT_EQ(refusal_of(options),
            "--like mobilenetv9: no model has this name (did you mean mobilenet_v2?); `ferry models` lists them");
  options.settings.set("like", "mobilenetv2_100");
  options.settings.set("mean", "0.5");
  EXPECT_EQ(refusal_of(options), "--like mobilenetv2_100: says how images are prepared, as --mean and the others do");
}

TEST(OnnxImages, MeansThatAreNoDecimalNumbersAreRefused) {
  const ScratchFolder folder;
  Classifier network;
  ConvertOptions options = options_for(network.then("Flatten").write(folder));
  for (const std::string text : {"0x10", "0.5,", " 0.5", "+0.5", "nan", "1e999", "0.5;0.5"}) {
    options.settings.set("mean", text);
    EXPECT_EQ(refusal_of(options),
              "--mean " + text + ": expected numbers with commas between them, like 0.485,0.456,0.406");
  }
}

TEST(OnnxImages, AreAsTransformersWroteBesideTheFile) {
  const ScratchFolder folder;
  Classifier network;
  const ConvertOptions options = options_for(network.then("Flatten").write(folder));
  folder.write("preprocessor_config.json",
               R"({"image_processor_type": "ViTImageProcessor", "do_resize": true, "size": {"height": 8, "width": 8},
                   "resample": 2, "do_rescale": true, "do_normalize": true, "image_mean": [0.5, 0.4, 0.3],
                   "image_std": [0.5, 0.5, 0.5]})");
  folder.write("config.json", R"({"id2label": {"0": "ant", "1": "bee", "2": "cat", "3": "dog", "4": "eel"}})");
  const auto graph = convert_to_graph(options);
  ASSERT_TRUE(graph->table.preprocess);
  EXPECT_FLOAT_EQ(graph->table.preprocess->mean[2], 0.3f);
  EXPECT_EQ(graph->table.labels, (std::vector<std::string>{"ant", "bee", "cat", "dog", "eel"}));
}

// Only the unusable part is ignored.
TEST(OnnxImages, ABrokenConfigurationLeavesTheRest) {
  const ScratchFolder folder;
  Classifier network;
  ConvertOptions options = options_for(network.then("Flatten").write(folder));
  folder.write("config.json", R"({"id2label": {"0": "ant", "2": "cat"}})");
  options.settings.set("mean", "0.25");
  const auto graph = convert_to_graph(options);
  ASSERT_TRUE(graph->table.preprocess);
  EXPECT_FLOAT_EQ(graph->table.preprocess->mean.front(), 0.25f);
  EXPECT_TRUE(graph->table.labels.empty());
}

// Without names for the classes the user gets indices and a note.
TEST(OnnxImages, ScoresWithoutNamesGetANote) {
  const ScratchFolder folder;
  Classifier network;
  ConvertOptions options = options_for(network.then("Flatten").write(folder));
  options.settings.set("mean", "0.25");
  options.dry_run = true;
  const std::string note = "output '" + network.output() +
                           "' is 5 numbers without names: where they are scores of classes, --labels FILE makes "
                           "answers of them";
  EXPECT_EQ(convert(options).notes, (std::vector<std::string>{note}));
  options.settings.set("labels", folder.write("names.txt", kNames).string());
  EXPECT_EQ(convert(options).notes, std::vector<std::string>());
}

TEST(OnnxImages, MismatchedNamesAreRefused) {
  const ScratchFolder folder;
  Classifier network;
  ConvertOptions options = options_for(network.then("Flatten").write(folder));
  options.settings.set("labels", folder.write("names.txt", "ant\nbee\n").string());
  EXPECT_NE(refusal_of(options).find("names.txt has 2 lines, but the network has 5 classes"), std::string::npos);
  Classifier maps;
  options.checkpoint = maps.then("Relu").reshape({1, kClasses, 1}).write(folder);
  EXPECT_EQ(refusal_of(options), "--labels: the first output is [1,5,1], expected a score for each class, [1,classes]");
}

}  // namespace
}  // namespace ferry::testing
