// TFLite_Detection_PostProcess: SSD's boxes from encodings, scores of classes and anchors. Sources: TensorFlow Lite's
// detection_postprocess.cc for what it computes, which names its options.
#include <cmath>

#include "converter/tflite/custom_options.h"
#include "converter/tflite/detection_head.h"
#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

constexpr int kMostBoxes = 4096;

DetectionHead read_head(Op& op, const CustomOptions& options) {
  constexpr double kLeastScale = 1e-6;
  DetectionHead head;
  head.boxes = op.tensor(0);
  head.scores = op.tensor(1);
  const Shape boxes = head.boxes.shape(), scores = head.scores.shape();
  if (boxes.rank != 3 || boxes[0] != 1 || boxes[2] != 4 || scores.rank != 3 || scores[0] != 1 || scores[1] != boxes[1])
    op.refuse("boxes %s and scores %s, expected [1,N,4] and [1,N,classes]", to_string(boxes).c_str(),
              to_string(scores).c_str());
  const Tensor anchors = op.weight(2, "the anchors");
  if (anchors.shape() != Shape{boxes[1], 4})
    op.refuse("the anchors are %s, expected [%d,4]", to_string(anchors.shape()).c_str(), boxes[1]);
  const std::vector<double> numbers = op.graph().values(anchors.id);
  for (size_t i = 0; i < numbers.size(); i += 4)
    head.anchors.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  head.centre_scale = options.number("y_scale", kLeastScale);
  head.size_scale = options.number("h_scale", kLeastScale);
  if (options.number("x_scale", kLeastScale) != head.centre_scale ||
      options.number("w_scale", kLeastScale) != head.size_scale)
    op.refuse("its scales of x and y, or of width and height, differ");
  head.classes = options.count("num_classes", 1, 1 << 16);
  if (scores[2] != head.classes && scores[2] != head.classes + 1)
    op.refuse("%d scores for %d classes, expected one each and perhaps the background's", scores[2], head.classes);
  head.threshold = static_cast<float>(options.number("nms_score_threshold", -1e30));
  head.overlap = static_cast<float>(options.number("nms_iou_threshold", 0));
  head.maximum = options.count("max_detections", 10, kMostBoxes);
  head.by_class = options.flag("use_regular_nms");
  if (!head.by_class && options.count("max_classes_per_detection", 1, 1 << 16) != 1)
    op.refuse("it gives several classes for a box");
  return head;
}

// [1,N,4]: y and x of the corners.
Tensor corners(const DetectionHead& head) {
  Graph& graph = *head.boxes.graph;
  const auto n = static_cast<int32_t>(head.anchors.size());
  const auto anchors = [&](size_t first, double factor) {
    std::vector<double> pairs;
    for (const auto& anchor : head.anchors)
      for (size_t i = first; i < first + 2; ++i) pairs.push_back(anchor[i] * factor);
    return graph.add_constant("", Shape{1, n, 2}, std::move(pairs));
  };
  const Tensor centre = ferry::slice(head.boxes, 2, 0, 2) * anchors(2, 1 / head.centre_scale) + anchors(0, 1);
  const Tensor size = unary(ferry::slice(head.boxes, 2, 2, 2) * (1 / head.size_scale), fbs::UnaryKind::Exp);
  const Tensor half = size * anchors(2, 0.5);
  return concat({centre - half, centre + half}, 2);
}

// Rows `indices` [K] of x [N,...].
Tensor rows(Tensor x, Tensor indices) { return x.graph->add_op("", fbs::GatherT{}, {x, indices}); }

// x [K,...], of which rows where `kept` [K] is 0 become 0, with more of these up to `count`: [1,count,...].
Tensor padded_rows(Tensor x, Tensor kept, int count) {
  const int rank = x.shape().rank;
  if (rank == 2) kept = reshape_to(kept, {kept.shape()[0], 1});
  Tensor y = select(kept, x, scalar(x, 0));
  std::vector<int32_t> before(static_cast<size_t>(rank)), after(static_cast<size_t>(rank));
  after[0] = count - x.shape()[0];
  y = pad(y, before, after);
  std::vector<int32_t> dims = dims_of(y);
  dims.insert(dims.begin(), 1);
  return reshape(y, dims);
}

Tensor suppressed(const DetectionHead& head, Tensor boxes, Tensor scores, int most) {
  fbs::NonMaxSuppressionT params;
  params.max_boxes = std::min<int>(most, boxes.shape()[1]);
  params.iou_threshold = head.overlap;
  params.score_threshold = std::nextafter(head.threshold, -kInfinity);  // a score of the threshold is kept
  return boxes.graph->add_op("", params, {boxes, scores});
}

}  // namespace

void detection_postprocess(Op& op) {
  const CustomOptions options(op);
  const DetectionHead head = read_head(op, options);
  op.set_detection_head(head);
  Graph& graph = op.graph();
  const Tensor boxes = corners(head);
  const int background = head.scores.shape()[2] - head.classes;
  const auto n = static_cast<int32_t>(head.anchors.size());
  const Tensor scores = background == 0 ? head.scores : ferry::slice(head.scores, 2, background, head.classes);
  const Tensor by_class = reshape_to(ferry::transpose(scores, {0, 2, 1}), {head.classes, n});
  Tensor kept, of_class;  // [K,3], [K]
  if (head.by_class) {
    const int each = options.count("detections_per_class", 100, kMostBoxes);
    kept = suppressed(head, boxes, reshape(by_class, {1, head.classes, n}), each);
    of_class = reshape_to(ferry::slice(kept, 1, 1, 1), {kept.shape()[0]});
  } else {
    const Tensor best = reduce(scores, fbs::ReduceKind::Max, {2}, false);
    kept = suppressed(head, boxes, reshape(best, {1, 1, n}), head.maximum);
  }
  const auto column = [&](Tensor x, int c) { return reshape_to(ferry::slice(x, 1, c, 1), {x.shape()[0]}); };
  const auto not_negative = [](Tensor x) { return binary(fbs::BinaryKind::Max, x, scalar(x, 0)); };
  Tensor box = column(kept, 2);
  Tensor used = unary(binary(fbs::BinaryKind::Less, box, scalar(box, 0)), fbs::UnaryKind::Not);
  box = not_negative(box);
  if (!head.by_class) of_class = rows(reshape_to(graph.add_op("", fbs::TopKT{}, {scores}), {n}), box);
  of_class = not_negative(of_class);
  const Tensor place = of_class * scalar(of_class, n) + box;
  Tensor score = rows(reshape_to(by_class, {n * head.classes}), place);
  if (head.by_class) {  // the best of all classes
    fbs::TopKT best;
    best.k = std::min(head.maximum, kept.shape()[0]);
    const Tensor order = graph.add_op("", best, {select(used, score, scalar(score, -1e30))});
    for (Tensor* list : {&box, &of_class, &score, &used}) *list = rows(*list, order);
  }
  const Tensor found = rows(reshape_to(boxes, {n, 4}), box);
  op.set(0, padded_rows(found, used, head.maximum));
  op.set(1, padded_rows(cast_to(of_class, fbs::DType::Float32), used, head.maximum));
  op.set(2, padded_rows(score, used, head.maximum));
  op.set(3, cast_to(reduce(used, fbs::ReduceKind::Sum, {0}, true), fbs::DType::Float32));
}

}  // namespace ferry::tflite
