// Verification of a detector's outputs and parameters.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/task_networks.h"

namespace ferry::testing {
namespace {

struct DetectorDamage {
  const char* name;
  void (*damage)(Parts&);
  const char* message;
};

std::vector<std::byte> detector_blob() {
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::Exact;
  recipe.resize_h = recipe.resize_w = 8;
  return pack(*boxes_of_colours(8, 8, recipe, {}));
}

Status open_detector(const std::vector<std::byte>& blob) {
  AlignedBytes bytes(blob);
  std::shared_ptr<Model> model;
  return Model::open_memory(bytes.data(), bytes.size(), &model);
}

fbs::DetectionT& detection(Parts& p) { return *p.model.postprocess->params.AsDetection(); }

class DamagedDetector : public ::testing::TestWithParam<DetectorDamage> {};

TEST(DetectorBlob, Opens) {
  const Status status = open_detector(detector_blob());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(DamagedDetector, IsRefusedWithAMessage) {
  Parts parts(detector_blob());
  GetParam().damage(parts);
  const Status status = open_detector(parts.assemble());
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

const DetectorDamage kDetectorDamages[] = {
    {"has_no_parameters", [](Parts& p) { p.model.postprocess->params.Reset(); },
     "Detection with parameters of NONE, which are absent, expected Detection"},
    {"has_no_scores", [](Parts& p) { p.model.outputs.resize(1); }, "a detector with 1 outputs, expected boxes"},
    {"has_further_outputs",
     [](Parts& p) {
       p.model.outputs.push_back(std::make_unique<fbs::PortT>(*p.model.outputs[0])), p.model.outputs[3]->name = "more";
       p.model.outputs.push_back(std::make_unique<fbs::PortT>(*p.model.outputs[0])), p.model.outputs[4]->name = "most";
     },
     "a detector with 5 outputs, expected boxes"},
    {"has_scores_of_other_landmarks",
     [](Parts& p) {
       p.model.outputs.push_back(std::make_unique<fbs::PortT>(*p.model.outputs[0])), p.model.outputs[3]->name = "more";
     },
     "output 3 of a detector is Float32 [1,4,4], expected Float32 [1,4,2]"},
    {"sees_no_image", [](Parts& p) { p.model.preprocess = nullptr; },
     "a detector with 3 outputs and no recipe for images"},
    {"gives_other_boxes", [](Parts& p) { std::swap(p.model.outputs[0]->tensor, p.model.outputs[1]->tensor); },
     "output 0 of a detector is Float32 [1,4,2], expected Float32 [1,4,4]"},
    {"gives_no_rows", [](Parts& p) { p.model.outputs[1]->tensor = p.model.inputs[0]->tensor; },
     "output 1 of a detector is Float32 [1,8,8,3], expected Float32 [1,4,0]"},
    {"threshold_that_is_none", [](Parts& p) { detection(p).threshold = NAN; }, "the threshold is nan, expected 0 to 1"},
    {"overlap_above_1", [](Parts& p) { detection(p).overlap = 1.5f; }, "the overlap is 1.5, expected 0 to 1"},
    {"no_boxes_at_all", [](Parts& p) { detection(p).maximum = 0; }, "maximum is 0, expected 1 to 4096"},
    {"too_many_boxes", [](Parts& p) { detection(p).maximum = 5000; }, "maximum is 5000, expected 1 to 4096"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedDetector, ::testing::ValuesIn(kDetectorDamages),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace ferry::testing
