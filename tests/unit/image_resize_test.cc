// Resize and preprocessing against results of Pillow, torchvision and transformers (shared fixture `preprocess`).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "converter/checkpoint/checkpoint.h"
#include "converter/preprocessing/preprocessing.h"
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

// Expected values by Pillow's formulas, computed by hand.
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

TEST(Resize, EveryFilterKeepsAFlatImage) {
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

// The fixture's resize implementation, which determines the tolerance.
enum class Resizer {
  Pillow,         // every level must agree
  IntegerTensor,  // torch's own 8-bit resize, which rounds a few pixels differently
  FloatTensor,    // does not round to 8 bits
};

Resizer resizer_of(const std::string& name) {
  if (name.starts_with("timm/") || name.ends_with("Pil")) return Resizer::Pillow;
  return name == "hf/DINOv3ViTImageProcessor" ? Resizer::FloatTensor : Resizer::IntegerTensor;
}

fbs::PreprocessT recipe_of(const nlohmann::json& entry) {
  if (!std::string(entry["name"]).starts_with("timm/")) return transformers_preprocessing(entry["config"]);
  ImagePreprocessing image;
  int height = 0, width = 0;
  read_timm_config(entry["config"], &image, &height, &width);
  return blob_preprocessing(image, height, width, "timm");
}

// The channel of element `at` of a pipeline's result, and its position in ours.
size_t channel_of(const fbs::PreprocessT& recipe, const image::Seen& seen, size_t at, size_t* ours) {
  *ours = at;
  if (recipe.patch > 0) {
    const size_t plane = static_cast<size_t>(recipe.patch_frames * recipe.patch * recipe.patch);
    return at / plane % 3;
  }
  const size_t plane = static_cast<size_t>(seen.height) * static_cast<size_t>(seen.width);
  *ours = at % plane * 3 + at / plane;  // from C,H,W
  return at / plane;
}

TEST(Preprocess, AgreesWithTheFrameworksPipelines) {
  const auto shared = shared_dir();
  if (shared.empty()) GTEST_SKIP() << "no shared fixtures beside the source tree (FERRY_SHARED)";
  const auto folder = shared / "fixtures" / "preprocess";
  std::ifstream file(folder / "manifest.json");
  const auto manifest = nlohmann::json::parse(file);
  const auto fixture = open_checkpoint(folder / "fixture.safetensors");
  const CheckpointTensor& image = fixture->tensors().at("image_u8");
  const View view = {reinterpret_cast<const uint8_t*>(image.bytes.data()), static_cast<int>(image.shape[1]),
                     static_cast<int>(image.shape[0]), 3, image.shape[1] * 3};

  int pipelines = 0, exact = 0;
  for (const auto& entry : manifest["outputs"]) {
    const std::string name = entry["name"];
    SCOPED_TRACE(name);
    const fbs::PreprocessT recipe = recipe_of(entry);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::Preprocess::Pack(builder, &recipe));
    const auto& packed = *flatbuffers::GetRoot<fbs::Preprocess>(builder.GetBufferPointer());

    image::Prepared prepared;
    Status s = image::prepare(packed, view, &prepared);
    ASSERT_TRUE(s.ok()) << s.message();
    const auto shape = entry["shape"].get<std::vector<size_t>>();
    const size_t elements = std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<>());
    const size_t frames = recipe.patch > 0 ? static_cast<size_t>(recipe.patch_frames) : 1;
    ASSERT_EQ(static_cast<size_t>(prepared.height) * static_cast<size_t>(prepared.width) * 3 * frames, elements);
    std::vector<float> ours(elements);
    s = image::normalize(packed, prepared, ours.data());
    ASSERT_TRUE(s.ok()) << s.message();

    const std::vector<float> samples = fixture->tensors().at(name).to_floats();
    double worst = 0;
    size_t apart = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      size_t place = 0;
      const size_t c = channel_of(recipe, prepared, sample_position(name, i, elements), &place);
      const double levels = std::fabs(double{ours[place]} - samples[i]) * recipe.std[c] * 255;
      worst = std::max(worst, levels);
      apart += levels > 0.01;
    }
    std::printf("%-32s worst %.5f levels, %zu of %zu samples apart\n", name.c_str(), worst, apart, samples.size());
    const Resizer resizer = resizer_of(name);
    EXPECT_LE(worst, resizer == Resizer::Pillow ? 1e-3 : 1.001);
    const size_t allowed = resizer == Resizer::Pillow          ? 0
                           : resizer == Resizer::IntegerTensor ? samples.size() / 100
                                                               : samples.size();
    EXPECT_LE(apart, allowed);
    ++pipelines;
    exact += apart == 0;
  }
  std::printf("%d of %d pipelines exact\n", exact, pipelines);
  EXPECT_EQ(pipelines, 22);
  EXPECT_GE(exact, 16);  // all that resize with Pillow
}

}  // namespace
}  // namespace ferry
