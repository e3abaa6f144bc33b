// Real-ESRGAN compact and the residual dense networks against the images that the weights' publishers show.
#ifdef FERRY_HAS_CONVERTER

#include <ferry/image.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/families.h"
#include "tests/shared.h"
#include "tests/support/esrgan_slim.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

fs::path realesr_weights() {
  const fs::path shared = shared_dir();
  return shared.empty() ? fs::path() : shared / "weights" / "realesr_animevideov3" / "model.safetensors";
}

fs::path convert_to(const fs::path& blob, const fs::path& checkpoint) {
  ConvertOptions options;
  options.checkpoint = checkpoint;
  options.output = blob;
  convert(options);
  return blob;
}

struct Image {
  ferry_image image{};
  ~Image() { ferry_image_free(&image); }
  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
};

void load(const fs::path& path, Image* image) {
  ASSERT_EQ(ferry_image_load(path.c_str(), &image->image), FERRY_OK) << ferry_last_error();
}

void upscale(const fs::path& blob, const ferry_image& image, int tile, Image* out) {
  ferry_model* model = nullptr;
  ferry_session* session = nullptr;
  ASSERT_EQ(ferry_model_open(blob.c_str(), &model), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(ferry_session_create(model, nullptr, &session), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(ferry_session_enhance(session, &image, tile, &out->image), FERRY_OK) << ferry_last_error();
  ferry_session_close(session);
  ferry_model_close(model);
}

// The maximum difference of a pixel's channel, in levels of 255; 256 if the sizes differ.
int largest_difference(const ferry_image& a, const ferry_image& b) {
  if (a.width != b.width || a.height != b.height) return 256;
  int largest = 0;
  for (int y = 0; y < a.height; ++y)
    for (int x = 0; x < 3 * a.width; ++x)
      largest = std::max(largest, std::abs(a.pixels[y * a.stride + x] - b.pixels[y * b.stride + x]));
  return largest;
}

void expect_the_publishers_images(const fs::path& package) {
  const ScratchFolder scratch;
  Image small;
  load(package / "assets" / "fixture.png", &small);
  for (const std::string scale : {"2", "3", "4"}) {
    const fs::path blob = convert_to(scratch.path() / "net.ferry", package / "models" / ("x" + scale) / "model.json");
    Image published, ours;
    load(package / "assets" / "samples" / (scale + "x") / "result.png", &published);
    upscale(blob, small.image, 0, &ours);
    EXPECT_LE(largest_difference(ours.image, published.image), 1) << "x" << scale;
  }
}

TEST(SuperResolutionImages, MatchThePublishersWithinOneLevel) {
  if (esrgan_slim_dir().empty()) GTEST_SKIP() << kNoEsrganSlim;
  expect_the_publishers_images(esrgan_slim_dir());
}

TEST(SuperResolutionImages, RrdbNetMatchesThePublishersWithinOneLevel) {
  if (esrgan_thick_dir().empty()) GTEST_SKIP() << kNoEsrganThick;
  expect_the_publishers_images(esrgan_thick_dir());
}

// The halo is smaller than the receptive field; with trained weights it suffices up to one level.
TEST(SuperResolutionImages, RrdbNetShowsNoSeam) {
  const fs::path package = esrgan_thick_dir();
  if (package.empty()) GTEST_SKIP() << kNoEsrganThick;
  const ScratchFolder scratch;
  const fs::path blob = convert_to(scratch.path() / "net.ferry", package / "models" / "x2" / "model.json");
  Image small, whole, tiled;
  load(package / "assets" / "fixture.png", &small);
  upscale(blob, small.image, 1024, &whole);
  upscale(blob, small.image, 40, &tiled);
  EXPECT_LE(largest_difference(whole.image, tiled.image), 1);
}

// Tiles include the whole receptive field of their pixels, so there is no seam. One level is allowed: a value halfway
// between two levels may round either way.
TEST(SuperResolutionImages, TiledEqualsWhole) {
  const ScratchFolder scratch;
  std::vector<std::pair<fs::path, fs::path>> cases;  // weights, image
  if (const fs::path package = esrgan_slim_dir(); !package.empty())
    for (const char* scale : {"x2", "x3"})
      cases.emplace_back(package / "models" / scale / "model.json", package / "assets" / "fixture.png");
  if (const fs::path weights = realesr_weights(); !weights.empty() && !esrgan_slim_dir().empty())
    cases.emplace_back(weights, esrgan_slim_dir() / "assets" / "fixture.png");
  if (cases.empty()) GTEST_SKIP() << kNoEsrganSlim;
  for (const auto& [weights, path] : cases) {
    SCOPED_TRACE(weights.string());
    const fs::path blob = convert_to(scratch.path() / "net.ferry", weights);
    Image small, whole, tiled;
    load(path, &small);
    small.image.height = 75;  // makes the last tiles smaller than the others
    upscale(blob, small.image, 1024, &whole);
    upscale(blob, small.image, 50, &tiled);
    EXPECT_LE(largest_difference(whole.image, tiled.image), 1);
  }
}

}  // namespace
}  // namespace ferry::parity

#endif
