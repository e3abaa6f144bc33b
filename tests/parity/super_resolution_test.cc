// Real-ESRGAN compact and the residual dense network: tensor by tensor against our numpy reference
// (make_super_resolution_fixtures.py), and picture by picture against what the weights' publishers show.
#ifdef FERRY_HAS_CONVERTER

#include <ferry/image.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/parity/network.h"
#include "cli/parity/report.h"
#include "models/families.h"
#include "tests/parity/backends.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/esrgan_slim.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

fs::path realesr_weights() {
  const fs::path shared = shared_dir();
  return shared.empty() ? fs::path() : shared / "weights" / "realesr_animevideov3" / "model.safetensors";
}

fs::path convert_to(const fs::path& blob, const fs::path& checkpoint, bool keep_taps = false) {
  ConvertOptions options;
  options.checkpoint = checkpoint;
  options.output = blob;
  options.keep_taps = keep_taps;
  convert(options);
  return blob;
}

// ---- tensors

struct Case {
  const char* fixture;
  std::vector<std::string> blocks;  // what a release blob must hold
};

class SuperResolution : public ::testing::TestWithParam<Case> {
 protected:
  // Empty, with the reason, where the weights are not here.
  fs::path checkpoint(std::string* reason) const {
    const std::string name = GetParam().fixture;
    if (name == "realesr_animevideov3") {
      *reason = "no ../shared with real weights (set FERRY_SHARED)";
      return realesr_weights();
    }
    if (name == "realesr_animevideov3_x3") {
      make_checkpoint(folder() / "manifest.json", scratch_.path() / "made.safetensors");
      return scratch_.path() / "made.safetensors";
    }
    *reason = kNoEsrganSlim;
    const fs::path package = esrgan_slim_dir();
    return package.empty() ? package : package / "models" / name.substr(name.rfind('x')) / "model.json";
  }
  fs::path folder() const { return source_folder() / "tests" / "data" / "fixtures" / GetParam().fixture; }

  Comparison compared(const fs::path& weights, bool keep_taps) const {
    const Fixture fixture = read_fixture(folder());
    const Network network(convert_to(scratch_.path() / "net.ferry", weights, keep_taps), fixture,
                          cli::session_options(1));
    EXPECT_EQ(network.model_name(), GetParam().fixture);
    return compare(fixture, network.tensors());
  }

  ScratchFolder scratch_;
};

TEST_P(SuperResolution, EveryTapIsInBounds) {
  std::string reason;
  const fs::path weights = checkpoint(&reason);
  if (weights.empty()) GTEST_SKIP() << reason;
  const Comparison comparison = compared(weights, true);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  EXPECT_EQ(comparison.not_in_blob, std::vector<std::string>());
}

TEST_P(SuperResolution, EveryGpuComputesTheSame) {
  std::string reason;
  const fs::path weights = checkpoint(&reason);
  if (weights.empty()) GTEST_SKIP() << reason;
  expect_every_gpu_computes_the_same(
      [&](bool keep_taps) { return convert_to(scratch_.path() / "net.ferry", weights, keep_taps); },
      read_fixture(folder()));
}

TEST_P(SuperResolution, ReleaseBlobHoldsEveryBlockInBounds) {
  std::string reason;
  const fs::path weights = checkpoint(&reason);
  if (weights.empty()) GTEST_SKIP() << reason;
  const Comparison comparison = compared(weights, false);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  for (const std::string& block : GetParam().blocks) {
    const auto& rows = comparison.rows;
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.module == block; })) << block;
  }
}

std::vector<std::string> compact_blocks() {
  std::vector<std::string> names = {"upsampler", "output"};
  for (int i = 1; i < 34; i += 2) names.push_back("body." + std::to_string(i));
  return names;
}
const std::vector<std::string> kDense = {"LRL_1", "LRL_2", "FDF", "SR"};

INSTANTIATE_TEST_SUITE_P(Fixtures, SuperResolution,
                         ::testing::Values(Case{"esrgan_slim_x2", kDense}, Case{"esrgan_slim_x3", kDense},
                                           Case{"esrgan_slim_x4", kDense}, Case{"esrgan_slim_x8", kDense},
                                           Case{"realesr_animevideov3", compact_blocks()},
                                           Case{"realesr_animevideov3_x3", compact_blocks()}),
                         [](const auto& tested) { return std::string(tested.param.fixture); });

// ---- pictures

struct Picture {
  ferry_image image{};
  ~Picture() { ferry_image_free(&image); }
  Picture() = default;
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
};

void load(const fs::path& path, Picture* picture) {
  ASSERT_EQ(ferry_image_load(path.c_str(), &picture->image), FERRY_OK) << ferry_last_error();
}

void enlarge(const fs::path& blob, const ferry_image& image, int tile, Picture* out) {
  ferry_model* model = nullptr;
  ferry_session* session = nullptr;
  ASSERT_EQ(ferry_model_open(blob.c_str(), &model), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(ferry_session_create(model, nullptr, &session), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(ferry_session_enhance(session, &image, tile, &out->image), FERRY_OK) << ferry_last_error();
  ferry_session_close(session);
  ferry_model_close(model);
}

// The largest difference of a channel of a pixel, in levels of 255; 256 where the sizes differ.
int largest_difference(const ferry_image& a, const ferry_image& b) {
  if (a.width != b.width || a.height != b.height) return 256;
  int largest = 0;
  for (int y = 0; y < a.height; ++y)
    for (int x = 0; x < 3 * a.width; ++x)
      largest = std::max(largest, std::abs(a.pixels[y * a.stride + x] - b.pixels[y * b.stride + x]));
  return largest;
}

TEST(SuperResolutionPictures, AreThePublishersWithinOneLevel) {
  const fs::path package = esrgan_slim_dir();
  if (package.empty()) GTEST_SKIP() << kNoEsrganSlim;
  const ScratchFolder scratch;
  Picture small;
  load(package / "assets" / "fixture.png", &small);
  for (const std::string scale : {"2", "3", "4"}) {
    const fs::path blob = convert_to(scratch.path() / "net.ferry", package / "models" / ("x" + scale) / "model.json");
    Picture published, ours;
    load(package / "assets" / "samples" / (scale + "x") / "result.png", &published);
    enlarge(blob, small.image, 0, &ours);
    EXPECT_LE(largest_difference(ours.image, published.image), 1) << "x" << scale;
  }
}

// Tiles carry exactly the surroundings that can reach them, so that joining them leaves no seam. One level: a value
// halfway between two may be rounded either way.
TEST(SuperResolutionPictures, AreTheSameInTilesAndWhole) {
  const ScratchFolder scratch;
  std::vector<std::pair<fs::path, fs::path>> cases;  // weights, picture
  if (const fs::path package = esrgan_slim_dir(); !package.empty())
    for (const char* scale : {"x2", "x3"})
      cases.emplace_back(package / "models" / scale / "model.json", package / "assets" / "fixture.png");
  if (const fs::path weights = realesr_weights(); !weights.empty() && !esrgan_slim_dir().empty())
    cases.emplace_back(weights, esrgan_slim_dir() / "assets" / "fixture.png");
  if (cases.empty()) GTEST_SKIP() << kNoEsrganSlim;
  for (const auto& [weights, path] : cases) {
    SCOPED_TRACE(weights.string());
    const fs::path blob = convert_to(scratch.path() / "net.ferry", weights);
    Picture small, whole, tiled;
    load(path, &small);
    small.image.height = 75;  // so that the last tiles are smaller than the others
    enlarge(blob, small.image, 1024, &whole);
    enlarge(blob, small.image, 50, &tiled);
    EXPECT_LE(largest_difference(whole.image, tiled.image), 1);
  }
}

}  // namespace
}  // namespace ferry::parity

#endif
