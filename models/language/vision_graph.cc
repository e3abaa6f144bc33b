#include "models/language/vision_graph.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/preprocessing/preprocessing.h"

namespace ferry::language {
namespace {

// An image of a million pixels in Qwen3-VL's patches. It bounds the memory that a session plans.
constexpr int kMaxRows = 1024;

// The published Qwen3-VL checkpoints have these settings.
nlohmann::json default_processor(const VisionTower& t) {
  return {{"image_processor_type", "Qwen2VLImageProcessor"},
          {"size", {{"shortest_edge", 65536}, {"longest_edge", 16777216}}},
          {"patch_size", t.patch},
          {"merge_size", t.merge},
          {"temporal_patch_size", t.frames},
          {"image_mean", {0.5, 0.5, 0.5}},
          {"image_std", {0.5, 0.5, 0.5}}};
}

nlohmann::json processor_of(const Checkpoint& checkpoint, const VisionTower& tower) {
  if (const nlohmann::json own = read_config(checkpoint, "preprocessor_config.json"); own.is_object()) return own;
  const nlohmann::json all = read_config(checkpoint, "processor_config.json");  // transformers 5's file
  if (all.is_object() && all.contains("image_processor")) return all["image_processor"];
  return default_processor(tower);
}

}  // namespace

VisionGraph vision_graph_of(const VisionTower& t, const Checkpoint& checkpoint, int max_length) {
  VisionGraph out{.tower = t,
                  .rows = std::clamp(max_length / 2, 1, kMaxRows),
                  .prepare = transformers_preprocessing(processor_of(checkpoint, t))};
  fbs::PreprocessT& p = out.prepare;
  if (p.patch != t.patch || p.patch_block != t.merge || p.patch_frames != t.frames)
    fail(
        "preprocessor_config.json: patches of %d pixels in %d frames, merged by %d, but config.json has %d, %d and "
        "%d",
        p.patch, p.patch_frames, p.patch_block, t.patch, t.frames, t.merge);
  const int64_t most = int64_t{out.rows} * p.multiple_of * p.multiple_of;
  p.max_pixels = static_cast<int>(std::min<int64_t>(p.max_pixels, most));
  p.min_pixels = std::min(p.min_pixels, p.max_pixels);
  return out;
}

void VisionGraph::build(Graph& graph, const Weights& weights) const {
  const int least = tower.merge * tower.merge, most = rows * least;
  const auto input = [&](const char* name, int before, int after, fbs::DType type) {
    const auto shape = [&](int patches) { return before > 0 ? Shape{before, patches} : Shape{patches, after}; };
    const Tensor tensor = graph.add_input(name, shape(least), fbs::Layout::Same, type);
    const Shape bound = shape(most);
    graph.table.inputs.back()->bound.assign(bound.dims.begin(), bound.dims.begin() + bound.rank);
    return tensor;
  };
  const Patches patches = {.values = input("pixel_values", 0, tower.patch_channels(), fbs::DType::Float32),
                           .positions = input("patch_places", 2, 0, fbs::DType::Int64),
                           .table_positions = input("table_places", 4, 0, fbs::DType::Int64),
                           .table_weights = input("table_weights", 4, 0, fbs::DType::Float32)};
  // A thin image of fewer rows may have a side as long as this.
  graph.add_output(kFeatures, run_vision_tower(patches, weights["model.visual"], tower, kMaxRows * tower.merge),
                   fbs::Layout::Same);
  graph.table.preprocess = std::make_unique<fbs::PreprocessT>(prepare);
}

fbs::ImagesT VisionGraph::text() const {
  fbs::ImagesT out;
  out.graph = kVision;
  out.token = tower.token;
  out.start = tower.start;
  out.end = tower.end;
  out.merge = tower.merge;
  out.table_side = tower.side;
  return out;
}

}  // namespace ferry::language
