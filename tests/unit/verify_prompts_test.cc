// Verification of a blob whose task has prompts and names the graph that reads them.
#include <gtest/gtest.h>

#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/task_networks.h"

namespace ferry::testing {
namespace {

struct Damage {
  const char* name;
  void (*damage)(Parts&);
  const char* message;
};

fbs::GraphT& prompt(Parts& p) { return *p.model.graphs[0]; }
fbs::PortT& input(Parts& p, size_t index) { return *prompt(p).inputs[index]; }

Status open_blob(const std::vector<std::byte>& blob) {
  AlignedBytes bytes(blob);
  std::shared_ptr<Model> model;
  return Model::open_memory(bytes.data(), bytes.size(), &model);
}

class DamagedSegmenter : public ::testing::TestWithParam<Damage> {};

TEST(Segmenter, Opens) {
  const Status status = open_blob(pack(*colour_masks()));
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(DamagedSegmenter, IsRefusedWithAMessage) {
  Parts parts(pack(*colour_masks()));
  GetParam().damage(parts);
  const Status status = open_blob(parts.assemble());
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

const Damage kDamages[] = {
    {"names_no_graph", [](Parts& p) { p.model.postprocess->params.AsPromptedSegmentation()->graph.clear(); },
     "postprocess: PromptedSegmentation needs another graph and names none"},
    {"has_no_parameters", [](Parts& p) { p.model.postprocess->params.Reset(); },
     "PromptedSegmentation with parameters of NONE, which are absent, expected PromptedSegmentation"},
    {"has_parameters_of_another_task", [](Parts& p) { p.model.postprocess->params.Set(fbs::DepthT{}); },
     "PromptedSegmentation with parameters of Depth, expected PromptedSegmentation"},
    {"names_another_graph", [](Parts& p) { prompt(p).name = "prompts"; },
     "postprocess: PromptedSegmentation by graph 'prompt', which is not there"},
    {"names_itself", [](Parts& p) { p.model.postprocess->params.AsPromptedSegmentation()->graph = "colour_masks"; },
     "graph 'colour_masks', which is not there"},
    {"sees_no_image", [](Parts& p) { p.model.preprocess = nullptr; },
     "postprocess: input 0 is Float32 [1,16,16,3], expected an image with a recipe"},
    {"takes_no_embedding", [](Parts& p) { input(p, 0).name = "embedding"; },
     "graph 'prompt': no input 'image_embedding', which the task needs"},
    {"gives_another_embedding", [](Parts& p) { p.model.outputs[0]->name = "embedding"; },
     "graph 'prompt': no input 'embedding', which the task needs"},
    {"takes_no_points", [](Parts& p) { input(p, 1).name = "points"; }, "no input 'point_coords'"},
    {"takes_no_labels", [](Parts& p) { input(p, 2).name = "labels"; }, "no input 'point_labels'"},
    {"takes_no_mask", [](Parts& p) { input(p, 3).name = "mask"; }, "no input 'mask_input'"},
    {"cannot_be_told_of_no_mask", [](Parts& p) { input(p, 4).name = "has_mask"; }, "no input 'has_mask_input'"},
    {"gives_no_masks", [](Parts& p) { prompt(p).outputs[0]->name = "masks"; }, "no output 'mask_logits'"},
    {"gives_no_qualities", [](Parts& p) { prompt(p).outputs[1]->name = "iou"; }, "no output 'mask_qualities'"},
    {"labels_of_another_rank", [](Parts& p) { std::swap(input(p, 1).name, input(p, 2).name); },
     "graph 'prompt': input 'point_coords' is Float32 [1,2], expected Float32 [1,0,2] (0: any)"},
    {"mask_that_is_none", [](Parts& p) { std::swap(input(p, 0).name, input(p, 3).name); },
     "input 'image_embedding' is Float32 [1,8,8,1], expected Float32 [1,4,4,3]"},
    {"qualities_of_other_masks", [](Parts& p) { prompt(p).outputs[1]->tensor = prompt(p).inputs[2]->tensor; },
     "output 'mask_qualities' is Float32 [1,2], expected Float32 [1,3]"},
    {"masks_of_another_size", [](Parts& p) { prompt(p).outputs[0]->tensor = prompt(p).inputs[0]->tensor; },
     "output 'mask_logits' is Float32 [1,4,4,3], expected Float32 [1,8,8,0]"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedSegmenter, ::testing::ValuesIn(kDamages),
                         [](const auto& test) { return std::string(test.param.name); });

// A sixth input that no converter writes.
TEST(Segmenter, WithAnotherInputIsRefused) {
  auto graph = colour_masks();
  Parts parts(pack(*graph));
  fbs::GraphT& table = prompt(parts);
  auto tensor = std::make_unique<fbs::TensorT>();
  tensor->shape = {1};
  auto port = std::make_unique<fbs::PortT>();
  port->name = "scale";
  port->tensor = fbs::TensorId(static_cast<int>(table.tensors.size()));
  table.tensors.push_back(std::move(tensor));
  table.inputs.push_back(std::move(port));
  const Status status = open_blob(parts.assemble());
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_NE(status.message().find("6 inputs, expected an embedding and 4 of prompts"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace ferry::testing
