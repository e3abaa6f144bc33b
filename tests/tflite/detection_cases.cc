// TFLite_Detection_PostProcess.
#include <flatbuffers/flexbuffers.h>

#include "tests/tflite/operator_cases.h"

namespace ferry::testing::detection {
namespace {

constexpr int kRows = 4, kColumns = 5, kAnchors = kRows * kColumns, kClasses = 3, kMost = 6;

std::vector<uint8_t> options(bool by_class, int maximum) {
  flexbuffers::Builder b;
  b.Map([&] {
    b.Int("max_detections", maximum);
    b.Int("max_classes_per_detection", 1);
    b.Int("detections_per_class", 4);
    b.Bool("use_regular_nms", by_class);
    b.Float("nms_score_threshold", 0.4f);
    b.Float("nms_iou_threshold", 0.3f);
    b.Int("num_classes", kClasses);
    b.Float("y_scale", 10);
    b.Float("x_scale", 10);
    b.Float("h_scale", 5);
    b.Float("w_scale", 5);
  });
  b.Finish();
  return b.GetBuffer();
}

template <bool by_class, int maximum>
std::vector<int> postprocess(FileBuilder& b) {
  std::vector<float> anchors;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < kColumns; ++column)
      for (const float v :
           {(static_cast<float>(row) + 0.5f) / kRows, (static_cast<float>(column) + 0.5f) / kColumns, 0.3f, 0.4f})
        anchors.push_back(v);
  const int boxes = b.input({1, kAnchors, 4}), logits = b.input({1, kAnchors, kClasses + 1});
  const int scores = b.activation({1, kAnchors, kClasses + 1});
  b.op(schema::BuiltinOperator::LOGISTIC, {logits}, {scores});
  const std::vector<int> outputs = {b.activation({1, maximum, 4}), b.activation({1, maximum}),
                                    b.activation({1, maximum}), b.activation({1})};
  b.custom("TFLite_Detection_PostProcess", {boxes, scores, b.constant({kAnchors, 4}, anchors)}, outputs,
           options(by_class, maximum));
  return outputs;
}

}  // namespace

const std::vector<OperatorCase>& cases() {
  static const std::vector<OperatorCase> kCases = {
      {"detection_postprocess", postprocess<false, kMost>},
      {"detection_postprocess_by_class", postprocess<true, kMost>},
      {"detection_postprocess_of_few", postprocess<false, kAnchors + 4>},
  };
  return kCases;
}

}  // namespace ferry::testing::detection
