// Two ONNX files become one OCR blob, in PaddleOCR's form. The networks' results are known: red is text; within a line,
// what is greener is the first character, and what is bluer the second.
#include <ferry/task.h>
#include <gtest/gtest.h>

#include "converter/pack/pack.h"
#include "models/families.h"
#include "onnx.pb.h"
#include "tests/support/open_task.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Sizes = std::vector<int64_t>;

::onnx::NodeProto& add_node(::onnx::ModelProto& model, const char* op, const std::string& from, const std::string& to) {
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  node->add_input(from);
  node->add_output(to);
  return *node;
}

void set_ints(::onnx::NodeProto& node, const char* name, const Sizes& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::INTS);
  for (const int64_t v : values) attribute->add_ints(v);
}

void add_weight(::onnx::ModelProto& model, ::onnx::NodeProto& node, const Sizes& dims, const std::vector<float>& data) {
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("weight" + std::to_string(model.graph().initializer_size()));
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  for (const int64_t d : dims) tensor->add_dims(d);
  for (const float v : data) tensor->add_float_data(v);
  node.add_input(tensor->name());
}

// Negative sizes are open.
::onnx::ModelProto network(const std::string& input, const Sizes& dims) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(12);
  auto* in = model.mutable_graph()->add_input();
  in->set_name(input);
  auto* type = in->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  for (const int64_t d : dims) {
    auto* dimension = type->mutable_shape()->add_dim();
    if (d >= 0) dimension->set_dim_value(d);
  }
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

// The amount of red in images with channels in the order blue, green, red.
std::string finder(int64_t height = -1, int64_t width = -1) {
  ::onnx::ModelProto model = network("image", {-1, 3, height, width});
  add_weight(model, add_node(model, "Conv", "image", "red"), {1, 3, 1, 1}, {0, 0, 20});
  add_node(model, "Sigmoid", "red", "y");
  return model.SerializeAsString();
}

std::string line(int64_t height, int64_t width, bool softmax = true) {
  ::onnx::ModelProto model = network("x", {-1, 3, height, width});
  auto& pool = add_node(model, "AveragePool", "x", "places");
  set_ints(pool, "kernel_shape", {height < 0 ? 48 : height, 32});
  set_ints(pool, "strides", {height < 0 ? 48 : height, 32});
  auto& conv = add_node(model, "Conv", "places", "scores");
  add_weight(model, conv, {3, 3, 1, 1}, {0, 0, 0, -10, 10, 0, 10, -10, 0});
  set_ints(add_node(model, "Squeeze", "scores", "row"), "axes", {2});
  set_ints(add_node(model, "Transpose", "row", softmax ? "logits" : "y"), "perm", {0, 2, 1});
  if (softmax) {
    auto* axis = add_node(model, "Softmax", "logits", "y").add_attribute();
    axis->set_name("axis");
    axis->set_type(::onnx::AttributeProto::INT);
    axis->set_i(2);
  }
  return model.SerializeAsString();
}

class OnnxReader : public ::testing::Test {
 protected:
  std::unique_ptr<Graph> convert(const std::string& finder, const std::string& line, const std::string& characters) {
    ConvertOptions options;
    options.checkpoint = folder_.write("det.onnx", finder);
    options.settings.set("read", folder_.write("rec.onnx", line).string());
    options.settings.set("characters", folder_.write("keys.txt", characters).string());
    return convert_to_graph(options);
  }
  std::string refusal(const std::string& finder, const std::string& line, const std::string& characters) {
    try {
      convert(finder, line, characters);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  // The lines of an image with a strip whose left half is green and right half blue, next to text and within it.
  static std::vector<std::string> read(const Graph& graph, int width, int height) {
    OpenTask task(pack(graph));
    std::vector<uint8_t> pixels(static_cast<size_t>(3 * width * height));
    for (int y = height / 4; y < height / 2; ++y) {
      for (int x = width / 8; x < width - width / 8; ++x) {
        uint8_t* pixel = &pixels[static_cast<size_t>(3 * (y * width + x))];
        pixel[0] = 255;
        pixel[x < width / 2 ? 1 : 2] = 255;
      }
    }
    const ferry_answer answer = task.run({pixels.data(), width, height, 3 * width, false});
    for (size_t i = 0; i < answer.line_count; ++i) {
      EXPECT_GT(answer.lines[i].score, 0.6f);
      EXPECT_LE(answer.lines[i].score, 1.0f);
      EXPECT_LT(answer.lines[i].corners[1], static_cast<float>(height) / 4);
      EXPECT_GT(answer.lines[i].corners[5], static_cast<float>(height) / 2);
    }
    return texts(answer);
  }

  ScratchFolder folder_;
};

TEST_F(OnnxReader, TakesImagesAndLinesOfAnySize) {
  const auto graph = convert(finder(), line(48, -1), "a\xc3\xa4\n\xe5\xad\x97");
  EXPECT_EQ(graph->table.graphs.at(0)->labels, (std::vector<std::string>{"", "a\xc3\xa4", "\xe5\xad\x97"}));
  EXPECT_EQ(graph->table.provenance->source, "det.onnx");
  EXPECT_EQ(graph->table.provenance->options, (std::vector<std::string>{"--characters keys.txt", "--read rec.onnx"}));
  const std::vector<std::string> expected = {"a\xc3\xa4\xe5\xad\x97"};
  EXPECT_EQ(read(*graph, 600, 160), expected);
  EXPECT_EQ(read(*graph, 1400, 900), expected);
  EXPECT_EQ(read(*graph, 160, 32), expected);
}

TEST_F(OnnxReader, FilesOfOneSizeKeepIt) {
  EXPECT_EQ(read(*convert(finder(128, 256), line(32, 256), "g\nb\n"), 500, 250), std::vector<std::string>{"gb"});
  EXPECT_EQ(read(*convert(finder(128, 256), line(-1, 640), "g\nb\n"), 500, 250), std::vector<std::string>{"gb"});
}

TEST_F(OnnxReader, ScoresBecomeProbabilities) {
  EXPECT_EQ(read(*convert(finder(), line(48, -1, false), "g\r\nb\r\n"), 600, 160), std::vector<std::string>{"gb"});
}

TEST_F(OnnxReader, TheExtraLastClassIsASpace) {
  EXPECT_EQ(convert(finder(), line(48, -1), "g\n")->table.graphs.at(0)->labels,
            (std::vector<std::string>{"", "g", " "}));
}

TEST_F(OnnxReader, MismatchedFilesAreRefused) {
  EXPECT_EQ(refusal(finder(), line(48, -1), "g\nb\nc\nd\n"),
            "keys.txt has 4 characters, which with the space and the blank are 6 classes, but rec.onnx has 3");
  EXPECT_EQ(refusal(finder(), line(48, -1), ""),
            "keys.txt has 0 characters, which with the space and the blank are 2 classes, but rec.onnx has 3");
  EXPECT_EQ(refusal(line(48, -1), finder(), "g\nb\n"),
            "det.onnx: input 'x' has one open and one fixed side: expected both or none open");
  EXPECT_EQ(refusal(finder(), finder(), "g\nb\n"),
            "rec.onnx: outputs [1,48,320,1], expected character probabilities along a line, 1 x positions x classes");
  EXPECT_EQ(refusal(line(48, 64), line(48, -1), "g\nb\n"),
            "det.onnx: outputs [1,2,3], expected one map of text probabilities");
  EXPECT_NE(refusal(finder(), network("x", {1, 1, 48, -1}).SerializeAsString(), "g\n")
                .find("rec.onnx: expected a network for one image of three colours, Nx3xHxW"),
            std::string::npos);
}

TEST_F(OnnxReader, ItsOptionsComeTogether) {
  ConvertOptions options;
  options.checkpoint = folder_.write("det.onnx", finder());
  const auto refused = [&] {
    try {
      convert_to_graph(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  options.settings.set("read", folder_.write("rec.onnx", line(48, -1)).string());
  EXPECT_NE(refused().find("--read and --characters"), std::string::npos) << refused();
  options.settings.set("characters", (folder_.path() / "none.txt").string());
  EXPECT_NE(refused().find("none.txt: cannot be read"), std::string::npos) << refused();
  options.settings.set("shape", "image=1x3x32x32");
  EXPECT_NE(refused().find("--shape: not with --read"), std::string::npos) << refused();
  options.settings.erase("shape");
  options.settings.set("detect", "none");
  EXPECT_NE(refused().find("--detect: not with --read"), std::string::npos) << refused();
  options.settings.erase("detect");
  options.settings.set("labels", options.settings.text("characters"));
  EXPECT_EQ(refused(), "--labels: not with --read, whose classes are the --characters");
  options.settings.erase("labels");
  options.settings.set("read", folder_.write("rec.safetensors", "").string());
  EXPECT_NE(refused().find("rec.safetensors is not an ONNX file"), std::string::npos) << refused();
}

}  // namespace
}  // namespace ferry::testing
