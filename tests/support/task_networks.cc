#include "tests/support/task_networks.h"

#include "converter/graph/ops.h"

namespace ferry::testing {
namespace {

Tensor add_image(Graph& g, int height, int width, int channels = 3) {
  return g.add_input("input", {1, height, width, channels}, fbs::Layout::NCHW);
}

fbs::PostprocessT& set_task(Graph& g, fbs::Task task) {
  g.table.postprocess = std::make_unique<fbs::PostprocessT>();
  g.table.postprocess->task = task;
  return *g.table.postprocess;
}

void set_recipe(Graph& g, const fbs::PreprocessT& recipe) {
  g.table.preprocess = std::make_unique<fbs::PreprocessT>(recipe);
}

fbs::PreprocessT exact(int height, int width) {
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::Exact;
  recipe.resize_h = height;
  recipe.resize_w = width;
  return recipe;
}

Tensor halved(Tensor x, int factor) { return avg_pool2d(x, {.kernel = factor, .stride = factor}); }

}  // namespace

std::unique_ptr<Graph> colour_as_depth(int height, int width, int colour, const fbs::PreprocessT& recipe, bool metric) {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.add_output("depth", slice(add_image(g, height, width), 3, colour, 1), fbs::Layout::NCHW);
  g.table.name = "colour_as_depth";
  set_recipe(g, recipe);
  fbs::DepthT params;
  params.metric = metric;
  set_task(g, fbs::Task::Depth).params.Set(params);
  return graph;
}

std::unique_ptr<Graph> brightest_colour() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.add_output("logits", halved(add_image(g, 8, 12), 2), fbs::Layout::NCHW);
  g.table.name = "brightest_colour";
  g.table.labels = {"red", "green", "blue"};
  set_recipe(g, exact(8, 12));
  set_task(g, fbs::Task::SemanticSegmentation);
  return graph;
}

std::unique_ptr<Graph> gray_painter() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.add_output("output", slice(add_image(g, 8, 8, 4), 3, 1, 3), fbs::Layout::NCHW);
  g.table.name = "gray_painter";
  fbs::PreprocessT recipe = exact(8, 8);
  recipe.mean = recipe.std = {0.5f, 0.5f, 0.5f};
  set_recipe(g, recipe);
  fbs::PostprocessT& post = set_task(g, fbs::Task::Inpainting);
  post.mean = post.std = {0.5f, 0.5f, 0.5f};
  fbs::InpaintingT params;
  params.known = 0.5f;
  params.hole = -0.5f;
  post.params.Set(params);
  return graph;
}

std::unique_ptr<Graph> colour_masks() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.add_output("image_embedding", halved(add_image(g, 16, 16), 4), fbs::Layout::NCHW);
  g.table.name = "colour_masks";
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::LongestEdge;
  recipe.resize_h = recipe.crop_h = recipe.crop_w = 16;
  recipe.corner = true;
  set_recipe(g, recipe);
  fbs::PromptedSegmentationT params;
  params.graph = "prompt";
  set_task(g, fbs::Task::PromptedSegmentation).params.Set(params);

  Graph p;
  p.table.name = "prompt";
  const Tensor embedding = p.add_input("image_embedding", {1, 4, 4, 3}, fbs::Layout::NCHW);
  p.table.inputs.back()->static_input = true;
  const Tensor coords = p.add_input("point_coords", {1, 2, 2}, fbs::Layout::Same);
  const Tensor labels = p.add_input("point_labels", {1, 2}, fbs::Layout::Same);
  const Tensor mask = p.add_input("mask_input", {1, 8, 8, 1}, fbs::Layout::NCHW);
  p.table.inputs.back()->static_input = true;
  const Tensor has_mask = p.add_input("has_mask_input", {1}, fbs::Layout::Same);
  p.table.inputs.back()->static_input = true;
  Tensor logits = resize(embedding, fbs::ResizeKind::Nearest, 2) + -0.5;
  logits = logits + mask * has_mask;
  p.add_output("mask_logits", logits, fbs::Layout::NCHW);
  p.add_output("mask_qualities", reshape(global_avg_pool(embedding), {1, 3}), fbs::Layout::Same);
  // Makes the prompts visible as outputs.
  p.add_output("coords", coords + 0.0, fbs::Layout::Same);
  p.add_output("labels", labels + 0.0, fbs::Layout::Same);
  g.add_graph(std::move(p));
  return graph;
}

std::unique_ptr<Graph> red_in_front() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  const Tensor red = slice(add_image(g, 8, 8), 3, 0, 1);
  g.add_output("logits", (red + -0.5) * 32.0, fbs::Layout::NCHW);
  g.table.name = "red_in_front";
  set_recipe(g, fbs::PreprocessT());
  set_task(g, fbs::Task::Matting);
  return graph;
}

std::unique_ptr<Graph> colour_reader(int height, int width, const fbs::PreprocessT& recipe, const fbs::OcrT& params) {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.add_output("text", slice(add_image(g, height, width), 3, 0, 1), fbs::Layout::NCHW);
  g.table.name = "colour_reader";
  set_recipe(g, recipe);
  fbs::OcrT named = params;
  named.graph = "line";
  set_task(g, fbs::Task::Ocr).params.Set(named);

  Graph p;
  p.table.name = "line";
  const Tensor places = reshape(halved(add_image(p, 4, 8), 4), {1, -1, 3});
  p.add_output("classes", places * p.add_constant("shares", {3}, std::vector<float>{0.3f, 1, 1}), fbs::Layout::Same);
  p.table.labels = {"", "g", "b"};
  fbs::PreprocessT line;
  line.resize_mode = fbs::ResizeMode::Fit;
  line.resize_h = 4;
  line.resize_w = 256;
  set_recipe(p, line);
  g.add_graph(std::move(p));
  return graph;
}

std::unique_ptr<Graph> boxes_of_colours(int height, int width, const fbs::PreprocessT& recipe,
                                        const fbs::DetectionT& params) {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  const Tensor corner = slice(slice(add_image(g, height, width), 1, 0, 4), 2, 0, 4);
  const auto colour = [&](int c) { return reshape(slice(corner, 3, c, 1), {1, 4, 4}); };
  g.add_output("boxes", colour(0), fbs::Layout::Same);
  g.add_output("scores", slice(colour(1), 2, 0, 2), fbs::Layout::Same);
  g.add_output("landmarks", colour(2), fbs::Layout::Same);
  g.table.name = "boxes_of_colours";
  g.table.labels = {"red", "green"};
  set_recipe(g, recipe);
  set_task(g, fbs::Task::Detection).params.Set(fbs::DetectionT(params));
  return graph;
}

std::unique_ptr<Graph> one_box(int height, int width, const fbs::PreprocessT& recipe, const std::array<float, 4>& box) {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  const Tensor nothing = reshape(global_avg_pool(slice(add_image(g, height, width), 3, 0, 1)), {1, 1, 1}) * 0.0;
  const Tensor places = nothing + g.add_constant("places", Shape{1, 1, 4}, std::vector<float>(box.begin(), box.end()));
  g.add_output("boxes", places, fbs::Layout::Same);
  g.add_output("scores", nothing + 1.0, fbs::Layout::Same);
  g.add_output("landmarks", slice(places, 2, 0, 2), fbs::Layout::Same);
  g.table.name = "one_box";
  set_recipe(g, recipe);
  set_task(g, fbs::Task::Detection).params.Set(fbs::DetectionT());
  return graph;
}

std::unique_ptr<Graph> corners_of_box(int height, int width, const fbs::PreprocessT& recipe,
                                      const std::array<float, 4>& box, const std::array<float, 4>& turned,
                                      const fbs::LandmarksT& params) {
  auto graph = one_box(height, width, recipe, box);
  Graph& g = *graph;
  const Tensor places{&g, g.table.outputs[0]->tensor};
  const Tensor corners = g.add_constant("corners", Shape{1, 1, 4}, std::vector<float>(turned.begin(), turned.end()));
  g.table.outputs.pop_back();
  g.add_output("landmarks", places * 0.0 + corners, fbs::Layout::Same);
  g.table.name = "corners_of_box";
  fbs::LandmarksT named = params;
  named.graph = "points";
  if (!named.detection) {
    named.detection = std::make_unique<fbs::DetectionT>();
    named.detection->points = {"first", "middle", "last"};
    named.detection->lines = {0, 1, 1, 2};
  }
  set_task(g, fbs::Task::Landmarks).params.Set(named);

  Graph p;
  p.table.name = "points";
  const Tensor means = reshape(global_avg_pool(add_image(p, 6, 6)), {1, 3}), none = slice(means, 1, 0, 1) * 0.0;
  const auto constant = [&](const Shape& shape, const std::vector<float>& values) {
    return reshape(none, {1, 1, 1}) + p.add_constant("", shape, values);
  };
  p.add_output("points", constant({1, 3, 2}, {0, 0, 0.5f, 0.5f, 1, 1}), fbs::Layout::Same);
  p.add_output("score", slice(means, 1, 0, 1), fbs::Layout::Same);
  p.add_output("point_scores", reshape(constant({1, 3, 1}, {1, 1, 0.25f}), {1, 3}), fbs::Layout::Same);
  p.add_output("classes", slice(means, 1, 1, 2), fbs::Layout::Same);
  p.table.labels = {"green", "blue"};
  set_recipe(p, fbs::PreprocessT());
  g.add_graph(std::move(p));
  return graph;
}

}  // namespace ferry::testing
