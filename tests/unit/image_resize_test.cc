// Resize and recipe against what Pillow, torchvision and transformers computed (shared fixture `preprocess`).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "converter/checkpoint/checkpoint.h"
#include "sdk/image/preprocess.h"
#include "sdk/image/resize.h"
#include "tests/shared.h"

namespace ferry {
namespace {

using image::Pixels;
using image::View;

std::vector<uint8_t> bytes_of(const View& v) {
  std::vector<uint8_t> bytes;
  for (int y = 0; y < v.height; ++y) bytes.insert(bytes.end(), v.row(y), v.row(y) + v.width * v.channels);
  return bytes;
}

std::vector<uint8_t> resized(const std::vector<uint8_t>& gray, int width, int height, int to_width, int to_height,
                             fbs::Filter filter) {
  Pixels out;
  const Status s = image::resize({gray.data(), width, height, 1, width}, to_width, to_height, filter, &out);
  EXPECT_TRUE(s.ok()) << s.message();
  return bytes_of(out.view());
}

using Row = std::vector<uint8_t>;

// Expected values: Pillow's formulas by hand.
TEST(Resize, HalvingWithBoxAveragesPairsAndRoundsHalvesUp) {
  EXPECT_EQ(resized({0, 10, 20, 25, 255, 254}, 6, 1, 3, 1, fbs::Filter::Box), (Row{5, 23, 255}));
}

TEST(Resize, BilinearIsAntialiasedWhenItShrinks) {
  // Support 2 around 1: triangle weights 1/4... over source pixels 0, 1, 2 are 3, 3, 1 of 7 at the border.
  EXPECT_EQ(resized({70, 0, 140, 0}, 4, 1, 2, 1, fbs::Filter::Bilinear), (Row{50, 60}));
}

TEST(Resize, BicubicClipsWhatOvershoots) {
  const Row row = resized({0, 0, 255, 255}, 4, 1, 8, 1, fbs::Filter::Bicubic);
  EXPECT_EQ(row.front(), 0);
  EXPECT_EQ(row.back(), 255);
  EXPECT_EQ(row[1], 0);    // undershoot clipped
  EXPECT_EQ(row[6], 255);  // overshoot clipped
}

TEST(Resize, NearestTakesThePixelUnderTheCentre) {
  EXPECT_EQ(resized({1, 2, 3, 4, 5}, 5, 1, 3, 1, fbs::Filter::Nearest), (Row{1, 3, 5}));
  EXPECT_EQ(resized({1, 2}, 2, 1, 4, 2, fbs::Filter::Nearest), (Row{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST(Resize, EveryFilterKeepsAFlatPicture) {
  const Row flat(17 * 13, 201);
  for (auto filter : fbs::EnumValuesFilter()) {
    EXPECT_EQ(resized(flat, 17, 13, 5, 40, filter), Row(5 * 40, 201)) << fbs::EnumNameFilter(filter);
  }
}

TEST(Resize, PaddedRowsAndPackedRowsGiveTheSame) {
  constexpr int kWidth = 9, kHeight = 7, kStride = 3 * kWidth + 5;
  std::vector<uint8_t> padded(kStride * kHeight, 99), packed;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < 3 * kWidth; ++x) {
      padded[static_cast<size_t>(y * kStride + x)] = static_cast<uint8_t>(x * 7 + y * 31);
      packed.push_back(static_cast<uint8_t>(x * 7 + y * 31));
    }
  }
  Pixels a, b;
  ASSERT_TRUE(image::resize({padded.data(), kWidth, kHeight, 3, kStride}, 4, 11, fbs::Filter::Lanczos, &a).ok());
  ASSERT_TRUE(image::resize({packed.data(), kWidth, kHeight, 3, 3 * kWidth}, 4, 11, fbs::Filter::Lanczos, &b).ok());
  EXPECT_EQ(bytes_of(a.view()), bytes_of(b.view()));
}

// ---- the fixture ---------------------------------------------------------------------------------------------------

// bits("sample:" + name, 0, i) of the fixtures' generator.
uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

size_t sample_position(const std::string& entry, size_t i, size_t elements) {
  uint64_t h = 0xcbf29ce484222325u;
  for (char c : "sample:" + entry) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix((h ^ mix(0)) + (i + 1) * 0x9e3779b97f4a7c15u) % elements;
}

fbs::PreprocessT recipe_of(fbs::ResizeMode mode, int h, int w, fbs::Filter filter, int crop_h, int crop_w,
                           const nlohmann::json& mean, const nlohmann::json& std) {
  fbs::PreprocessT r;
  r.resize_mode = mode;
  r.resize_h = h;
  r.resize_w = w;
  r.filter = filter;
  r.crop_h = crop_h;
  r.crop_w = crop_w;
  r.mean = mean.get<std::vector<float>>();
  r.std = std.get<std::vector<float>>();
  return r;
}

// How a pipeline of the fixture resizes, and so how near we must come.
enum class Resizer {
  Pillow,         // every level must agree
  IntegerTensor,  // torch's own resize of 8 bits, which rounds a few pixels apart
  FloatTensor,    // no rounding to 8 bits at all
};

// The recipe that says the same as a pipeline of the fixture; false where a recipe cannot (yet).
bool express(const nlohmann::json& entry, fbs::PreprocessT* recipe, Resizer* resizer) {
  const std::string name = entry["name"];
  const auto& config = entry["config"];
  const auto& shape = entry["shape"];
  if (name.starts_with("timm/")) {
    const std::string transform = entry["transform"];
    std::smatch size;
    if (!std::regex_search(transform, size, std::regex("Resize\\(size=(\\d+)"))) return false;
    const auto filter = config["interpolation"] == "bicubic" ? fbs::Filter::Bicubic : fbs::Filter::Bilinear;
    *recipe = recipe_of(fbs::ResizeMode::ShortestEdge, std::stoi(size[1]), 0, filter, shape[1], shape[2],
                        config["mean"], config["std"]);
    *resizer = Resizer::Pillow;
    return true;
  }
  const auto& mean = config["image_mean"];
  const auto& std = config["image_std"];
  const auto filter = config.value("resample", 2) == 3 ? fbs::Filter::Bicubic : fbs::Filter::Bilinear;
  const std::string kind = config["image_processor_type"];
  *resizer = name.ends_with("Pil")               ? Resizer::Pillow
             : kind == "DINOv3ViTImageProcessor" ? Resizer::FloatTensor
                                                 : Resizer::IntegerTensor;
  if (kind == "ConvNextImageProcessor") {
    // Below 384: to shortest_edge / crop_pct, then a crop.
    const int edge = config["size"]["shortest_edge"];
    *recipe = recipe_of(fbs::ResizeMode::ShortestEdge, static_cast<int>(edge / config["crop_pct"].get<double>()), 0,
                        filter, edge, edge, mean, std);
    recipe->crop_floor = true;
    return true;
  }
  if (kind == "ViTImageProcessor" || kind == "DINOv3ViTImageProcessor" || kind == "DPTImageProcessor") {
    *recipe = recipe_of(fbs::ResizeMode::Exact, shape[2], shape[3], filter, 0, 0, mean, std);
    return true;
  }
  return false;
}

TEST(Preprocess, AgreesWithTheFrameworksPipelines) {
  const auto shared = shared_dir();
  if (shared.empty()) GTEST_SKIP() << "no shared fixtures beside the source tree (FERRY_SHARED)";
  const auto folder = shared / "fixtures" / "preprocess";
  std::ifstream file(folder / "manifest.json");
  const auto manifest = nlohmann::json::parse(file);
  const auto fixture = open_checkpoint(folder / "fixture.safetensors");
  const CheckpointTensor& picture = fixture->tensors().at("image_u8");
  const View view = {reinterpret_cast<const uint8_t*>(picture.bytes.data()), static_cast<int>(picture.shape[1]),
                     static_cast<int>(picture.shape[0]), 3, picture.shape[1] * 3};

  int expressed = 0;
  for (const auto& entry : manifest["outputs"]) {
    const std::string name = entry["name"];
    fbs::PreprocessT recipe;
    Resizer resizer = Resizer::Pillow;
    if (!express(entry, &recipe, &resizer)) continue;
    ++expressed;
    SCOPED_TRACE(name);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::Preprocess::Pack(builder, &recipe));
    const auto& packed = *flatbuffers::GetRoot<fbs::Preprocess>(builder.GetBufferPointer());

    image::Prepared prepared;
    const Status s = image::prepare(packed, view, &prepared);
    ASSERT_TRUE(s.ok()) << s.message();
    const auto& shape = entry["shape"];
    const size_t height = shape[shape.size() - 2], width = shape[shape.size() - 1];
    ASSERT_EQ(static_cast<size_t>(prepared.view.height), height);
    ASSERT_EQ(static_cast<size_t>(prepared.view.width), width);
    std::vector<float> ours(height * width * 3);
    ASSERT_TRUE(image::normalize(packed, prepared.view, ours.data()).ok());

    const std::vector<float> samples = fixture->tensors().at(name).to_floats();
    double worst = 0;
    size_t apart = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      const size_t at = sample_position(name, i, ours.size());  // in C,H,W
      const size_t c = at / (height * width), pixel = at % (height * width);
      const double levels = std::fabs(double{ours[pixel * 3 + c]} - samples[i]) * recipe.std[c] * 255;
      worst = std::max(worst, levels);
      apart += levels > 0.01;
    }
    std::printf("%-32s worst %.5f levels, %zu of %zu samples apart\n", name.c_str(), worst, apart, samples.size());
    EXPECT_LE(worst, resizer == Resizer::Pillow ? 1e-3 : 1.001);
    const size_t allowed = resizer == Resizer::Pillow          ? 0
                           : resizer == Resizer::IntegerTensor ? samples.size() / 100
                                                               : samples.size();
    EXPECT_LE(apart, allowed);
  }
  EXPECT_EQ(expressed, 18);
}

}  // namespace
}  // namespace ferry
