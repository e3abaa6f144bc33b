#include "tests/camera/blobs.h"

#include <fstream>

#include "converter/pack/pack.h"
#include "tests/support/blobs.h"
#include "tests/support/task_networks.h"

namespace camera {
namespace {

std::string write(const std::filesystem::path& folder, const std::string& name, const ferry::Graph& graph) {
  const std::filesystem::path path = folder / (name + ".ferry");
  const std::vector<std::byte> bytes = ferry::pack(graph);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

ferry::fbs::PreprocessT exact(int side) {
  ferry::fbs::PreprocessT recipe;
  recipe.resize_mode = ferry::fbs::ResizeMode::Exact;
  recipe.resize_h = recipe.resize_w = side;
  return recipe;
}

}  // namespace

std::string write_detector(const std::filesystem::path& folder) {
  const auto graph = ferry::testing::one_box(8, 8, exact(8), {0.25f, 0.25f, 0.75f, 0.5f});
  graph->table.labels = {"<i>thing</i>"};
  return write(folder, "boxes", *graph);
}

std::string write_language_model(const std::filesystem::path& folder) {
  return write(folder, "text", *ferry::testing::small_transformer());
}

std::vector<Blob> write_blobs(const std::filesystem::path& folder) {
  using namespace ferry::testing;
  const auto embedding = small_classifier();
  embedding->table.postprocess->task = ferry::fbs::Task::Embedding;
  ferry::fbs::OcrT reading;
  reading.text_threshold = 0.1f;
  reading.threshold = 0.5f;
  reading.unclip = 0;
  const std::string mask = folder / "mask.png";
  return {{write(folder, "classes", *small_classifier()), "probability", {}},
          {write(folder, "embedding", *embedding), "embedding", {}},
          {write(folder, "depth", *colour_as_depth(8, 8, 0, exact(8))), "sense", {}},
          {write(folder, "labels", *brightest_colour()), "colour", {}},
          {write(folder, "matte", *red_in_front()), "share", {}},
          {write(folder, "mask", *colour_masks()), "quality", {"--point", "103,92"}},
          {write(folder, "upscaled", *small_upscaler()), "\"width\":420", {}},
          {write(folder, "painted", *gray_painter()), "width", {"--mask", mask}},
          {write_detector(folder), "landmarks", {}},
          {write(folder, "lines", *colour_reader(32, 32, {}, reading)), "\"text\":\"gb\"", {}}};
}

}  // namespace camera
