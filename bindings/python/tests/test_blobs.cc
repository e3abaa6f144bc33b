// SPDX-License-Identifier: Apache-2.0
// Writes blobs for the tests of the Python package: networks with predictable answers, and a language model.
//
//     python_test_blobs FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "converter/error.h"
#include "converter/pack/pack.h"
#include "converter/quantize/keys_and_values.h"
#include "tests/support/blobs.h"
#include "tests/support/language_model.h"
#include "tests/support/task_networks.h"

namespace {

void write(const std::filesystem::path& path, const ferry::Graph& graph) {
  const std::vector<std::byte> bytes = ferry::pack(graph);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) ferry::fail("%s: cannot be written", path.c_str());
}

void write_all(const std::filesystem::path& folder) {
  namespace testing = ferry::testing;
  namespace fbs = ferry::fbs;
  std::filesystem::create_directories(folder);
  fbs::PreprocessT as_is, levels;
  levels.mean = {0, 0, 0};
  levels.std = {250 / 255.0f, 250 / 255.0f, 250 / 255.0f};  // box coordinates are in 250ths
  fbs::OcrT reading;
  reading.text_threshold = 0.1f;
  reading.threshold = 0.5f;
  reading.unclip = 0;
  write(folder / "classifier.ferry", *testing::small_classifier());
  write(folder / "upscaler.ferry", *testing::small_upscaler());
  const auto embedder = testing::small_classifier();
  embedder->table.postprocess->task = fbs::Task::Embedding;
  write(folder / "embedder.ferry", *embedder);
  write(folder / "depth.ferry", *testing::colour_as_depth(8, 8, 0, as_is));
  write(folder / "labels.ferry", *testing::brightest_colour());
  write(folder / "painter.ferry", *testing::gray_painter());
  write(folder / "masks.ferry", *testing::colour_masks());
  write(folder / "matte.ferry", *testing::red_in_front());
  write(folder / "boxes.ferry", *testing::boxes_of_colours(4, 8, levels, fbs::DetectionT()));
  fbs::PreprocessT small;
  small.resize_mode = fbs::ResizeMode::Exact;
  small.resize_h = small.resize_w = 8;
  fbs::LandmarksT points;
  points.threshold = 0.1f;
  write(folder / "points.ferry",
        *testing::corners_of_box(8, 8, small, {0.25f, 0.25f, 0.5f, 0.5f}, {0, 0, 1, 1}, points));
  write(folder / "reader.ferry", *testing::colour_reader(32, 32, as_is, reading));
  const auto language = testing::small_language_model();
  ferry::store_keys_and_values_as(fbs::DType::Float32, &language->table);
  write(folder / "language.ferry", *language);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: python_test_blobs FOLDER\n", stderr), 2;
  try {
    write_all(argv[1]);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
  return 0;
}
