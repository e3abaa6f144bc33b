// Verification of an OCR blob, which names the graph that recognises a line.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/task_networks.h"

namespace ferry::testing {
namespace {

struct BadReader {
  const char* name;
  void (*damage)(Parts&);
  const char* message;
};

Parts reader_parts() { return Parts(pack(*colour_reader(32, 32, fbs::PreprocessT()))); }
fbs::OcrT& reading(Parts& p) { return *p.model.postprocess->params.AsOcr(); }
fbs::GraphT& line(Parts& p) { return *p.model.graphs[0]; }

Status open_parts(const Parts& parts) {
  AlignedBytes bytes(parts.assemble());
  std::shared_ptr<Model> model;
  return Model::open_memory(bytes.data(), bytes.size(), &model);
}

class DamagedReader : public ::testing::TestWithParam<BadReader> {};

TEST(VerifyOcr, AReaderOpens) {
  const Status status = open_parts(reader_parts());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(DamagedReader, IsRefusedWithAMessage) {
  Parts parts = reader_parts();
  GetParam().damage(parts);
  const Status status = open_parts(parts);
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

const BadReader kBadReaders[] = {
    {"names_no_graph", [](Parts& p) { reading(p).graph.clear(); },
     "postprocess: Ocr needs another graph and names none"},
    {"names_another_graph", [](Parts& p) { line(p).name = "lines"; },
     "postprocess: Ocr by graph 'line', which is not there"},
    {"has_no_parameters", [](Parts& p) { p.model.postprocess->params.Reset(); },
     "Ocr with parameters of NONE, which are absent, expected Ocr"},
    {"sees_no_image", [](Parts& p) { p.model.preprocess = nullptr; }, "expected an image with a recipe"},
    {"gives_several_maps", [](Parts& p) { p.model.outputs[0]->tensor = p.model.inputs[0]->tensor; },
     "at most 1 channels"},
    {"threshold", [](Parts& p) { reading(p).threshold = 1.5f; }, "the threshold is 1.5, expected 0 to 1"},
    {"box_threshold", [](Parts& p) { reading(p).box_threshold = NAN; }, "the box threshold is nan, expected 0 to 1"},
    {"text_threshold", [](Parts& p) { reading(p).text_threshold = -1; }, "the text threshold is -1, expected 0 to 1"},
    {"unclip", [](Parts& p) { reading(p).unclip = INFINITY; }, "unclip is inf, expected 0 to 16"},
    {"shrinks", [](Parts& p) { reading(p).unclip = -1; }, "unclip is -1, expected 0 to 16"},
    {"line_without_a_recipe", [](Parts& p) { line(p).preprocess = nullptr; },
     "graph 'line': 1 inputs, the first [1,4,8,3]: expected a line in colour with a recipe that fits it in"},
    {"line_of_another_height", [](Parts& p) { line(p).preprocess->resize_h = 5; }, "a recipe that fits it in"},
    {"line_in_grey", [](Parts& p) { line(p).preprocess->color = fbs::ColorOrder::Gray; }, "a recipe that fits it in"},
    {"line_that_is_squashed", [](Parts& p) { line(p).preprocess->resize_mode = fbs::ResizeMode::Exact; },
     "a recipe that fits it in"},
    {"line_that_is_cut", [](Parts& p) { line(p).preprocess->crop_h = line(p).preprocess->crop_w = 4; },
     "a recipe that fits it in"},
    {"line_without_places", [](Parts& p) { line(p).outputs[0]->tensor = line(p).inputs[0]->tensor; },
     "graph 'line': Float32 [1,4,8,3] for 3 labels, expected Float32 [1,places,labels]"},
    {"labels_of_other_classes", [](Parts& p) { line(p).labels.pop_back(); },
     "graph 'line': Float32 [1,2,3] for 2 labels, expected Float32 [1,places,labels]"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedReader, ::testing::ValuesIn(kBadReaders),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ferry::testing
