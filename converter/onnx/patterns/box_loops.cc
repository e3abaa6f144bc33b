// Loops over the boxes of a detector, as torchvision's exporter writes them: Mask R-CNN pastes each mask into the
// image, Keypoint R-CNN searches the maximum of each heatmap. They become nodes that compute all boxes at once.
#include "converter/onnx/patterns/loop_body.h"

namespace ferry::onnx {
namespace {

// _onnx_paste_masks_in_image_loop of torchvision/models/detection/roi_heads.py.
constexpr std::string_view kPasteMasks = R"(
  mask = Gather(Gather(masks, i, axis=0), 0, axis=0)
  box = Gather(boxes, i, axis=0)
  left = Gather(box, 0, axis=0)
  top = Gather(box, 1, axis=0)
  right = Gather(box, 2, axis=0)
  bottom = Gather(box, 3, axis=0)

  box_width = ReduceMax(Concat(Add(Sub(right, left), [1]), [1], axis=0), keepdims=0)
  box_height = ReduceMax(Concat(Add(Sub(bottom, top), [1]), [1], axis=0), keepdims=0)
  rows = Gather(Shape(mask), 0, axis=0)
  columns = Gather(Shape(mask), 1, axis=0)
  shape = Reshape(Concat([1], [1], [rows], [columns], axis=0), [-1])
  ones = ConstantOfShape(Shape(shape), value=1)
  image = Expand(mask, Where(Equal(shape, Mul(ones, -1)), ones, shape))
  size = Cast(Concat([box_height], [box_width], axis=0), to=7)
  sizes = Concat(Slice(Shape(image), [0], [2], [0]), size, axis=0)
  resized = Resize(image, -, -, sizes, mode=linear, coordinate_transformation_mode=half_pixel,
                   cubic_coeff_a=-0.75, nearest_mode=floor)
  whole = Gather(Gather(resized, 0, axis=0), 0, axis=0)

  x0 = ReduceMax(Concat([left], [0], axis=0), keepdims=0)
  x1 = ReduceMin(Concat(Add([right], [1]), [width], axis=0), keepdims=0)
  y0 = ReduceMax(Concat([top], [0], axis=0), keepdims=0)
  y1 = ReduceMin(Concat(Add([bottom], [1]), [height], axis=0), keepdims=0)
  cut_rows = Slice(whole, [Sub(y0, top)], [Sub(y1, top)], [0], [1])
  cut = Slice(cut_rows, [Sub(x0, left)], [Sub(x1, left)], [1], [1])

  cut_width = Gather(Shape(cut), 1, axis=0)
  above = ConstantOfShape(Concat([y0], [cut_width], axis=0), value=0)
  below = ConstantOfShape(Concat([Sub(height, y1)], [cut_width], axis=0), value=0)
  tall = Slice(Concat(above, Cast(cut, to=1), below, axis=0), [0], [height], [0], [1])
  tall_height = Gather(Shape(tall), 0, axis=0)
  before = ConstantOfShape(Concat([tall_height], [x0], axis=0), value=0)
  after = ConstantOfShape(Concat([tall_height], [Sub(width, x1)], axis=0), value=0)
  pasted = Slice(Concat(before, tall, after, axis=1), [0], [width], [1], [1])
  next0 = Concat(state0, [pasted], axis=0)
)";

// _onnx_heatmaps_to_keypoints_loop of the same file.
constexpr std::string_view kHeatmaps = R"(
  map = Unsqueeze(Gather(maps, i, axis=0), [1])
  columns = Gather(columns_of_all, i, axis=0)
  rows = Gather(rows_of_all, i, axis=0)
  x_correction = Div(Gather(widths, i, axis=0), columns)
  y_correction = Div(Gather(heights, i, axis=0), rows)
  keypoints = Cast(count, to=7)

  size = Cast(Concat([rows], [columns], axis=0), to=7)
  sizes = Concat(Slice(Shape(map), [0], [2], [0]), size, axis=0)
  resized = Gather(Resize(map, -, -, sizes, mode=cubic, coordinate_transformation_mode=half_pixel,
                          cubic_coeff_a=-0.75, nearest_mode=floor), 0, axis=1)
  width = Cast(Gather(Shape(resized), 2, axis=0), to=7)
  position = ArgMax(Reshape(resized, Concat([keypoints], [-1], axis=0)), axis=1, keepdims=0)
  x = Mod(position, width)
  y = Cast(Cast(Div(Sub(position, x), width), to=7), to=7)

  x_in_box = Mul(Add(0.5, Cast(x, to=1)), Cast(x_correction, to=1))
  y_in_box = Mul(Add(0.5, Cast(y, to=1)), Cast(y_correction, to=1))
  x_in_image = Add(x_in_box, Cast(Gather(x_of_all, i, axis=0), to=1))
  y_in_image = Add(y_in_box, Cast(Gather(y_of_all, i, axis=0), to=1))
  visible = ConstantOfShape(Shape(y_in_image), value=1)
  point = Concat([Cast(x_in_image, to=1)], [Cast(y_in_image, to=1)], [Cast(visible, to=1)], axis=0)

  step = Add(Add(Mul(keypoints, keypoints), keypoints), 1)
  diagonal = Mul(Cast(Range(0, Cast(keypoints, to=7), 1), to=7), step)
  values = Gather(Gather(resized, Cast(y, to=7), axis=1), Cast(x, to=7), axis=2)
  score = Gather(Reshape(values, [-1]), Cast(diagonal, to=7), axis=0)
  next0 = Concat(Cast(state0, to=1), Cast([point], to=1), axis=0)
  next1 = Concat(Cast(state1, to=1), [Cast(score, to=1)], axis=0)
)";

// Replaces such loops by a node of the trip count, the initial states, and the values `names` of the text.
void recognise(Matcher& m, std::string_view text, const char* op, const std::vector<std::string>& names) {
  for (const Node& node : m.nodes()) {
    const auto outside = match_loop(m, node, text);
    if (!outside) continue;
    std::vector<std::string> inputs = {node.inputs[0]};
    for (size_t k = 0; k < node.outputs.size(); ++k) inputs.push_back(node.inputs[k + 2]);
    for (const std::string& name : names)
      if (const auto found = outside->find(name); found != outside->end()) inputs.push_back(found->second);
    if (inputs.size() == 1 + node.outputs.size() + names.size()) m.replace(&node, op, std::move(inputs));
  }
}

}  // namespace

void recognise_paste_masks(Matcher& m) { recognise(m, kPasteMasks, "PasteMasks", {"masks", "boxes"}); }

void recognise_heatmaps(Matcher& m) {
  recognise(m, kHeatmaps, "KeypointsOfHeatmaps",
            {"maps", "count", "columns_of_all", "rows_of_all", "widths", "heights", "x_of_all", "y_of_all"});
}

}  // namespace ferry::onnx
