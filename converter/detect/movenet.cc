#include "converter/detect/movenet.h"

#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"

namespace ferry::detect {
namespace {

constexpr int kPoints = 17;

// Over the points of [1,17,C].
Tensor over_points(Tensor x, fbs::ReduceKind kind) { return reduce(x, kind, {1}, true); }

}  // namespace

std::optional<DecodingPlan> make_movenet(Graph& graph) {
  const auto &inputs = graph.table.inputs, &outputs = graph.table.outputs;
  if (inputs.size() != 1 || outputs.size() != 1) return {};
  const Tensor rows{&graph, outputs.front()->tensor};
  const Shape image = graph.shape(inputs.front()->tensor);
  if (rows.shape() != Shape{1, 1, kPoints, 3} || rows.dtype() != fbs::DType::Float32) return {};
  if (image.rank != 4 || image[0] != 1 || image[3] != 3) return {};

  DecodingPlan plan;
  plan.spec.name = kMoveNet;
  plan.spec.image.range = 255;
  plan.spec.image.resize = "letterbox";
  plan.spec.params.threshold = 0.2f;
  plan.spec.params.maximum = 1;
  plan.spec.labels = {"person"};
  set_coco_points(&plan.spec.params);
  plan.height = image[1];
  plan.width = image[2];
  plan.channels = image[3];
  plan.classes = 1;

  const Tensor points = reshape(rows, {1, kPoints, 3});
  const Tensor score = slice(points, 2, 2, 1), xy = concat({slice(points, 2, 1, 1), slice(points, 2, 0, 1)}, 2);
  const Tensor low = over_points(xy, fbs::ReduceKind::Min), high = over_points(xy, fbs::ReduceKind::Max);
  graph.table.outputs.clear();
  graph.add_output("boxes", concat({low, high}, 2), fbs::Layout::Same);
  graph.add_output("scores", over_points(score, fbs::ReduceKind::Mean), fbs::Layout::Same);
  graph.add_output("landmarks", reshape(xy, {1, 1, 2 * kPoints}), fbs::Layout::Same);
  graph.add_output("landmark_scores", reshape(score, {1, 1, kPoints}), fbs::Layout::Same);
  return plan;
}

}  // namespace ferry::detect
