// Published checkpoints, converted and run on photographs: from the weights' file to an answer.
#if defined(FERRY_HAS_CONVERTER)
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <cmath>

#include "converter/pack/pack.h"
#include "models/families.h"
#include "tests/shared.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"

namespace ferry {
namespace {

class RealWeights : public ::testing::Test {
 protected:
  void SetUp() override {
    shared_ = shared_dir();
    if (shared_.empty()) GTEST_SKIP() << "no shared weights beside the source tree (FERRY_SHARED)";
  }
  void TearDown() override {
    ferry_session_close(session_);
    ferry_model_close(model_);
  }

  // Converts weights/<folder> as `name`.
  void convert(const char* folder, const char* name) {
    ConvertOptions options;
    options.checkpoint = shared_ / "weights" / folder;
    options.settings.set("model", name);
    blob_ = std::make_unique<testing::AlignedBytes>(pack(*convert_to_graph(options)));
    ASSERT_EQ(ferry_model_open_memory(blob_->data(), blob_->size(), &model_), FERRY_OK) << ferry_last_error();
    ASSERT_EQ(ferry_session_create(model_, nullptr, &session_), FERRY_OK) << ferry_last_error();
  }

  void load(const char* photo, ferry_image* image) {
    ASSERT_EQ(ferry_image_load((shared_ / "photos" / photo).c_str(), image), FERRY_OK) << ferry_last_error();
  }

  // The top class of a photograph.
  ferry_class best(const char* photo) {
    ferry_image image;
    ferry_class top = {};
    size_t count = 1;
    load(photo, &image);
    EXPECT_EQ(ferry_session_set_image(session_, &image), FERRY_OK) << ferry_last_error();
    EXPECT_EQ(ferry_session_run(session_), FERRY_OK) << ferry_last_error();
    EXPECT_EQ(ferry_session_top_classes(session_, &top, &count), FERRY_OK) << ferry_last_error();
    ferry_image_free(&image);
    std::printf("%s: %.4f %s\n", photo, static_cast<double>(top.probability), top.label);
    return top;
  }

  std::filesystem::path shared_;
  std::unique_ptr<testing::AlignedBytes> blob_;
  ferry_model* model_ = nullptr;
  ferry_session* session_ = nullptr;
};

// On every GPU the photographs' top classes are the CPU's. One GPU classifies all of them in both precisions; the
// others only the first one, one network per precision.
TEST_F(RealWeights, EveryGpuAgreesWithTheCpu) {
  constexpr const char* kPhotos[] = {"parrot.jpg", "cat_720p.jpg", "grace_hopper.bmp", "bird.bmp"};
  for (const auto& [folder, name] :
       {std::pair("squeezenet1_0", "squeezenet1_0"), {"mobilenet_v2", "mobilenet_v2.tf"}}) {
    convert(folder, name);
    std::vector<ferry_class> expected;
    for (const char* photo : kPhotos) expected.push_back(best(photo));
    for (const std::string& gpu : testing::test_gpus()) {
      for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
        const bool all = gpu == testing::test_gpus().front();
        if (!all && (precision == FERRY_PRECISION_FLOAT16) != (std::string_view(name) == "mobilenet_v2.tf")) continue;
        SCOPED_TRACE(gpu + " " + name + (precision == FERRY_PRECISION_FLOAT16 ? " float16" : " float32"));
        ferry_session_close(session_);
        session_ = nullptr;
        ferry_session_options options;
        ferry_session_options_init(&options);
        options.backend = FERRY_BACKEND_GPU;
        options.gpu_device = gpu.c_str();
        options.gpu_required = true;
        options.precision = precision;
        ASSERT_EQ(ferry_session_create(model_, &options, &session_), FERRY_OK) << ferry_last_error();
        const size_t photos = all ? std::size(kPhotos) : 1;
        for (size_t i = 0; i < photos; ++i) {
          const ferry_class seen = best(kPhotos[i]);
          EXPECT_EQ(seen.index, expected[i].index) << kPhotos[i] << ": " << seen.label;
          EXPECT_NEAR(seen.probability, expected[i].probability, precision == FERRY_PRECISION_FLOAT16 ? 2e-2f : 1e-4f);
        }
      }
    }
    TearDown();
    session_ = nullptr;
    model_ = nullptr;
  }
}

// ImageNet-1k: 281 to 285 are the five cats of the house.
bool is_house_cat(const ferry_class& c) { return c.index >= 281 && c.index <= 285; }

TEST_F(RealWeights, SqueezeNetSeesTheMacawAndTheCat) {
  convert("squeezenet1_0", "squeezenet1_0");
  const ferry_class parrot = best("parrot.jpg");
  EXPECT_STREQ(parrot.label, "macaw");
  EXPECT_NEAR(parrot.probability, 0.99, 0.01);
  EXPECT_TRUE(is_house_cat(best("cat_720p.jpg")));
}

TEST_F(RealWeights, MobileNetV2SeesTheMacawTheCatAndTheUniform) {
  convert("mobilenet_v2", "mobilenet_v2.tf");
  const ferry_class parrot = best("parrot.jpg");
  EXPECT_STREQ(parrot.label, "macaw");
  EXPECT_NEAR(parrot.probability, 0.99, 0.01);
  const ferry_class cat = best("cat_720p.jpg");
  EXPECT_TRUE(is_house_cat(cat));
  EXPECT_GE(cat.probability, 0.7);
  EXPECT_LE(cat.probability, 0.85);
  const ferry_class uniform = best("grace_hopper.bmp");
  EXPECT_STREQ(uniform.label, "military uniform");
  EXPECT_GE(uniform.probability, 0.4);
  EXPECT_LE(uniform.probability, 0.7);
}

// Downscaled again, the upscaled photograph matches the original, and its pixels have details.
TEST_F(RealWeights, RealEsrganUpscalesAPhotographFaithfully) {
  convert("realesr_animevideov3", "realesr_animevideov3");
  ferry_image photo, large;
  load("bird.bmp", &photo);
  // 120 x 80 from the middle: a second of work.
  const ferry_image part = {photo.pixels + 130 * photo.stride + 3 * 200, 120, 80, photo.stride, false};
  ASSERT_EQ(ferry_session_enhance(session_, &part, 0, &large), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(large.width, 480);
  ASSERT_EQ(large.height, 320);
  double a = 0, b = 0, aa = 0, ab = 0, bb = 0, detail = 0;
  for (int y = 0; y < part.height; ++y) {
    for (int i = 0; i < 3 * part.width; ++i) {
      const int x = i / 3, c = i % 3;
      int sum = 0, minimum = 255, maximum = 0;
      for (int k = 0; k < 16; ++k) {
        const int level = large.pixels[(4 * y + k / 4) * large.stride + 3 * (4 * x + k % 4) + c];
        sum += level;
        minimum = std::min(minimum, level);
        maximum = std::max(maximum, level);
      }
      const double back = sum / 16.0, level = part.pixels[y * part.stride + i];
      a += back;
      b += level;
      aa += back * back;
      ab += back * level;
      bb += level * level;
      detail += maximum - minimum;
    }
  }
  const double n = 3.0 * part.width * part.height;
  const double correlation = (ab - a * b / n) / std::sqrt((aa - a * a / n) * (bb - b * b / n));
  std::printf("correlation %.4f, mean range within an input pixel %.2f levels\n", correlation, detail / n);
  EXPECT_GT(correlation, 0.95);
  EXPECT_GT(detail / n, 4.0);
  ferry_image_free(&photo);
  ferry_image_free(&large);
}

}  // namespace
}  // namespace ferry
#endif
