// Frames through the C API: the network's input against a plain float64 reference (tests/support/frames.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "sdk/api/frame.h"
#include "sdk/image/intake.h"
#include "sdk/image/resize.h"
#include "tests/support/blobs.h"
#include "tests/support/frames.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace ferry {
namespace {

using testing::Image;
using testing::OwnFrame;
using Contents = OwnFrame::Contents;

// A session of a network with that preprocessing.
class Network {
 public:
  explicit Network(const fbs::PreprocessT& recipe) : task_(pack(*testing::colour_as_depth(8, 8, 0, recipe))) {
    EXPECT_EQ(ferry_session_create(task_.model(), nullptr, &session_), FERRY_OK) << ferry_last_error();
  }
  ~Network() { ferry_session_close(session_); }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  ferry_session* get() const { return session_; }
  // The input after the frame was set.
  ferry_tensor input(const ferry_frame& frame) {
    EXPECT_EQ(ferry_session_set_frame(session_, &frame), FERRY_OK) << ferry_last_error();
    ferry_tensor tensor;
    EXPECT_EQ(ferry_session_input(session_, 0, &tensor), FERRY_OK);
    return tensor;
  }
  std::string refused(const ferry_frame& frame) {
    EXPECT_EQ(ferry_session_set_frame(session_, &frame), FERRY_INVALID_ARGUMENT);
    return ferry_last_error();
  }

 private:
  testing::OpenTask task_;
  ferry_session* session_ = nullptr;
};

// The maximum difference of input and reference, in levels. `left`, `top`: where the input begins in the reference.
double apart(const ferry_tensor& input, const Image& expected, int left = 0, int top = 0) {
  const auto* value = static_cast<const float*>(input.data);
  double worst = 0;
  for (int y = 0; y < input.shape[1]; ++y) {
    for (int x = 0; x < input.shape[2]; ++x) {
      for (int c = 0; c < 3; ++c, ++value)
        worst = std::max(worst, std::fabs(double{*value} * 255 - expected.at(x + left, y + top, c)));
    }
  }
  return worst;
}

constexpr double kOneLevel = 1 + 1e-4;

// In Pillow's integer arithmetic, which tests/unit/image_resize_test.cc checks: a sum halfway between two levels rounds
// as there, not as in float64.
Image resized_like_pillow(const Image& image, int width, int height, fbs::Filter filter) {
  const std::vector<uint8_t> rgb = testing::bytes_of(image);
  image::Pixels pixels;
  EXPECT_TRUE(
      image::resize({rgb.data(), image.width, image.height, 3, 3 * image.width}, width, height, filter, &pixels).ok());
  Image out{width, height, {}};
  for (int y = 0; y < height; ++y) out.samples.insert(out.samples.end(), pixels.row(y), pixels.row(y) + 3 * width);
  return out;
}

constexpr ferry_frame_format kFormats[] = {FERRY_FRAME_YUV420, FERRY_FRAME_NV12, FERRY_FRAME_NV21,
                                           FERRY_FRAME_P010,   FERRY_FRAME_YUY2, FERRY_FRAME_RGBA,
                                           FERRY_FRAME_BGRA,   FERRY_FRAME_RGB,  FERRY_FRAME_GRAY};

TEST(Frames, OfEveryFormatAndOrientationAreWithinALevelOfTheReference) {
  for (const fbs::Filter filter : {fbs::Filter::Bilinear, fbs::Filter::Bicubic}) {
    Network network(testing::frame_recipe(fbs::ResizeMode::Exact, 24, 40, filter));
    for (const ferry_frame_format format : kFormats) {
      for (const Contents contents : {Contents::Image, Contents::Noise}) {
        for (const bool gaps : {false, true}) {
          OwnFrame own(format, 131, 77, contents, gaps);
          for (int orientation = 0; orientation < 8; ++orientation) {
            own.frame.rotation = orientation / 2 * 90;
            own.frame.mirror = orientation % 2 != 0;
            const ferry_tensor input = network.input(own.frame);
            ASSERT_EQ(input.shape[1], 24);
            ASSERT_EQ(input.shape[2], 40);
            EXPECT_LE(apart(input, resized(own.seen(), 40, 24, filter)), kOneLevel)
                << testing::name_of(format) << ", " << fbs::EnumNameFilter(filter) << ", orientation " << orientation
                << (gaps ? ", gaps" : "") << (contents == Contents::Noise ? ", noise" : "");
          }
        }
      }
    }
  }
}

// Rows are processed in blocks, and in cells of columns that detect clipping colours. Overshoot is clipped between the
// passes.
TEST(Frames, OfManyColumnsAreWithinALevelOfTheReference) {
  for (const ferry_frame_format format :
       {FERRY_FRAME_YUV420, FERRY_FRAME_NV12, FERRY_FRAME_NV21, FERRY_FRAME_P010, FERRY_FRAME_YUY2}) {
    for (const Contents contents : {Contents::Image, Contents::Noise}) {
      OwnFrame own(format, 1101, 61, contents, false);
      for (int orientation = 0; orientation < 8; ++orientation) {
        own.frame.rotation = orientation / 2 * 90;
        own.frame.mirror = orientation % 2 != 0;
        const bool upright = own.frame.rotation % 180 == 0;
        const int width = upright ? 200 : 20, height = upright ? 20 : 200;
        const auto seen = own.seen();
        for (const fbs::Filter filter : {fbs::Filter::Bilinear, fbs::Filter::Bicubic, fbs::Filter::Lanczos}) {
          Network network(testing::frame_recipe(fbs::ResizeMode::Exact, height, width, filter));
          EXPECT_LE(apart(network.input(own.frame), resized_like_pillow(seen, width, height, filter)), kOneLevel)
              << testing::name_of(format) << ", " << fbs::EnumNameFilter(filter) << ", orientation " << orientation
              << (contents == Contents::Noise ? ", noise" : "");
        }
      }
    }
  }
}

// Reductions with few pixels per output, so that rounding errors do not cancel, and upscaling. In limited range no
// colour is halfway between two levels.
TEST(Frames, OfEveryScaleAreWithinALevelOfTheReference) {
  for (const fbs::Filter filter : {fbs::Filter::Bicubic, fbs::Filter::Bilinear, fbs::Filter::Box}) {
    for (const double scale : {0.5, 0.9, 1.1, 1.3, 1.6, 2.0, 2.1, 2.5, 3.0, 4.2}) {
      for (int i = 0; i < 2; ++i) {
        const int width = 120 + 5 * i, height = 90 + 7 * i;
        const int to_width = static_cast<int>(width / scale) + i % 3, to_height = static_cast<int>(height / scale);
        Network network(testing::frame_recipe(fbs::ResizeMode::Exact, to_height, to_width, filter));
        for (const ferry_frame_format format : {FERRY_FRAME_NV12, FERRY_FRAME_P010}) {
          for (const Contents contents : {Contents::Image, Contents::Noise}) {
            OwnFrame own(format, width, height, contents, false);
            own.frame.range = FERRY_RANGE_LIMITED;
            own.frame.rotation = i % 2 * 90;
            EXPECT_LE(apart(network.input(own.frame), resized_like_pillow(own.seen(), to_width, to_height, filter)),
                      kOneLevel)
                << testing::name_of(format) << ", " << fbs::EnumNameFilter(filter) << ", scale " << scale << ", "
                << width << "x" << height << (contents == Contents::Noise ? ", noise" : "");
          }
        }
      }
    }
  }
}

TEST(Frames, OfEveryMatrixAndRangeAreWithinALevelOfTheReference) {
  Network whole(testing::frame_recipe(fbs::ResizeMode::None, 0, 0, fbs::Filter::Bilinear));
  Network small(testing::frame_recipe(fbs::ResizeMode::Exact, 9, 11, fbs::Filter::Bilinear));
  for (const ferry_frame_format format : {FERRY_FRAME_NV12, FERRY_FRAME_P010, FERRY_FRAME_GRAY, FERRY_FRAME_YUY2}) {
    for (const Contents contents : {Contents::Image, Contents::Noise}) {
      OwnFrame own(format, 64, 40, contents, false);
      for (const ferry_yuv_matrix matrix : {FERRY_MATRIX_BT601, FERRY_MATRIX_BT709, FERRY_MATRIX_BT2020}) {
        for (const ferry_yuv_range range : {FERRY_RANGE_FULL, FERRY_RANGE_LIMITED}) {
          SCOPED_TRACE(testing::name_of(format) + ", matrix " + std::to_string(matrix) + ", range " +
                       std::to_string(range));
          own.frame.matrix = matrix;
          own.frame.range = range;
          EXPECT_LE(apart(whole.input(own.frame), own.seen()), kOneLevel);
          EXPECT_LE(apart(small.input(own.frame), resized(own.seen(), 11, 9, fbs::Filter::Bilinear)), kOneLevel);
        }
      }
    }
  }
}

TEST(Frames, OfKnownColoursAreThoseColours) {
  // BT.601 in full range: luma 76, U 85, V 255 is red (JFIF); limited range: 235, 128, 128 is white and 16 is black.
  Network network(testing::frame_recipe(fbs::ResizeMode::None, 0, 0, fbs::Filter::Bilinear));
  const uint8_t luma[] = {76, 76, 76, 76}, chroma[] = {85, 255}, limited[] = {235, 16, 16, 235}, gray[] = {128, 128};
  ferry_frame frame{};
  frame.struct_size = sizeof(frame);
  frame.format = FERRY_FRAME_NV12;
  frame.width = frame.height = 2;
  frame.planes[0] = {luma, 4, 0, 0};
  frame.planes[1] = {chroma, 2, 0, 0};
  const auto* red = static_cast<const float*>(network.input(frame).data);
  EXPECT_NEAR(red[0], 1, 1.0 / 255);
  EXPECT_NEAR(red[1], 0, 1.0 / 255);
  EXPECT_NEAR(red[2], 0, 1.0 / 255);
  frame.range = FERRY_RANGE_LIMITED;
  frame.planes[0].data = limited;
  frame.planes[1].data = gray;
  const auto* white = static_cast<const float*>(network.input(frame).data);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(white[i], i / 3 == 0 || i / 3 == 3 ? 1.0f : 0.0f);
}

TEST(Frames, AreRotatedClockwiseThenMirrored) {
  Network network(testing::frame_recipe(fbs::ResizeMode::None, 0, 0, fbs::Filter::Bilinear));
  // 1 2 3
  // 4 5 6
  const uint8_t levels[] = {1, 2, 3, 4, 5, 6};
  ferry_frame frame{};
  frame.struct_size = sizeof(frame);
  frame.format = FERRY_FRAME_GRAY;
  frame.width = 3;
  frame.height = 2;
  frame.planes[0] = {levels, 6, 0, 0};
  struct Case {
    int rotation;
    bool mirror;
    int height;
    std::vector<int> seen;
  };
  for (const Case& c : std::vector<Case>{{0, false, 2, {1, 2, 3, 4, 5, 6}},
                                         {90, false, 3, {4, 1, 5, 2, 6, 3}},
                                         {180, false, 2, {6, 5, 4, 3, 2, 1}},
                                         {270, false, 3, {3, 6, 2, 5, 1, 4}},
                                         {0, true, 2, {3, 2, 1, 6, 5, 4}},
                                         {90, true, 3, {1, 4, 2, 5, 3, 6}},
                                         {180, true, 2, {4, 5, 6, 1, 2, 3}},
                                         {270, true, 3, {6, 3, 5, 2, 4, 1}}}) {
    frame.rotation = c.rotation;
    frame.mirror = c.mirror;
    const ferry_tensor input = network.input(frame);
    EXPECT_EQ(input.shape[1], c.height);
    std::vector<int> seen;
    for (int i = 0; i < 6; ++i)
      seen.push_back(static_cast<int>(std::lround(static_cast<const float*>(input.data)[3 * i] * 255)));
    EXPECT_EQ(seen, c.seen) << c.rotation << (c.mirror ? ", mirrored" : "");
    int32_t width = 0, height = 0;
    ASSERT_EQ(ferry_frame_size(&frame, &width, &height), FERRY_OK);
    EXPECT_EQ(width, input.shape[2]);
    EXPECT_EQ(height, input.shape[1]);
  }
}

TEST(Frames, OfAnySideAreRead) {
  for (const ferry_frame_format format : kFormats) {
    Network network(testing::frame_recipe(fbs::ResizeMode::Exact, 5, 6, fbs::Filter::Bilinear));
    for (const auto& [width, height] :
         {std::pair(1, 1), std::pair(2, 1), std::pair(1, 3), std::pair(3, 2), std::pair(513, 3), std::pair(1027, 2)}) {
      OwnFrame own(format, width, height, Contents::Image, false);
      for (const int rotation : {0, 90}) {
        own.frame.rotation = rotation;
        EXPECT_LE(apart(network.input(own.frame), resized(own.seen(), 6, 5, fbs::Filter::Bilinear)), kOneLevel)
            << testing::name_of(format) << ", " << width << "x" << height << ", rotation " << rotation;
      }
    }
  }
}

TEST(Frames, AreCroppedBeforeTheyAreRotated) {
  for (const ferry_frame_format format : kFormats) {
    Network network(testing::frame_recipe(fbs::ResizeMode::Exact, 20, 14, fbs::Filter::Bilinear));
    OwnFrame own(format, 90, 70, Contents::Image, true);
    own.frame.crop_left = 7;  // odd: begins between two chroma samples
    own.frame.crop_top = 11;
    own.frame.crop_width = 61;
    own.frame.crop_height = 33;
    for (int orientation = 0; orientation < 8; ++orientation) {
      own.frame.rotation = orientation / 2 * 90;
      own.frame.mirror = orientation % 2 != 0;
      EXPECT_LE(apart(network.input(own.frame), resized(own.seen(), 14, 20, fbs::Filter::Bilinear)), kOneLevel)
          << testing::name_of(format) << ", orientation " << orientation;
    }
  }
}

TEST(Frames, AreCentreCroppedWithinTheirCrop) {
  for (const fbs::Filter filter : {fbs::Filter::Bilinear, fbs::Filter::Bicubic, fbs::Filter::Box}) {
    Network network(testing::frame_recipe(fbs::ResizeMode::ShortestEdge, 32, 0, filter, 28));
    OwnFrame own(FERRY_FRAME_NV21, 160, 90, Contents::Image, false);
    for (const int rotation : {0, 90, 180, 270}) {
      own.frame.rotation = rotation;
      // 32 * 160 / 90 = 56.9, truncated
      const bool upright = rotation % 180 == 0;
      const int width = upright ? 56 : 32, height = upright ? 32 : 56;
      EXPECT_LE(apart(network.input(own.frame), resized(own.seen(), width, height, filter), (width - 28) / 2,
                      (height - 28) / 2),
                kOneLevel)
          << fbs::EnumNameFilter(filter) << ", rotation " << rotation;
    }
  }
}

// Preprocessing that no network of this file uses, against the steps for an RGB image, which have their own tests.
TEST(Frames, BecomePatchesAndGreyAsImagesDo) {
  fbs::PreprocessT patches = testing::frame_recipe(fbs::ResizeMode::Exact, 24, 36, fbs::Filter::Bicubic);
  patches.patch = 3;
  patches.patch_block = 2;
  patches.patch_frames = 2;
  fbs::PreprocessT gray = testing::frame_recipe(fbs::ResizeMode::Fit, 30, 30, fbs::Filter::Bilinear, 30);
  gray.color = fbs::ColorOrder::Gray;
  fbs::PreprocessT bgr = testing::frame_recipe(fbs::ResizeMode::Cover, 20, 20, fbs::Filter::Lanczos, 20);
  bgr.color = fbs::ColorOrder::BGR;
  for (const fbs::PreprocessT& recipe : {patches, gray, bgr}) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::Preprocess::Pack(builder, &recipe));
    const auto& packed = *flatbuffers::GetRoot<fbs::Preprocess>(builder.GetBufferPointer());
    image::Intake intake;  // shared, so that its cached results must follow
    for (const ferry_frame_format format : {FERRY_FRAME_NV12, FERRY_FRAME_RGBA, FERRY_FRAME_P010, FERRY_FRAME_GRAY}) {
      for (int orientation = 0; orientation < 8; ++orientation) {
        OwnFrame own(format, 75, 50, Contents::Image, false);
        own.frame.rotation = orientation / 2 * 90;
        own.frame.mirror = orientation % 2 != 0;
        const Image seen = own.seen();
        const std::vector<uint8_t> rgb = testing::bytes_of(seen);
        image::Prepared prepared;
        ASSERT_TRUE(image::prepare(packed, {rgb.data(), seen.width, seen.height, 3, 3 * seen.width}, &prepared).ok());
        const size_t elements =
            static_cast<size_t>(prepared.width * prepared.height * prepared.view.channels * recipe.patch_frames);
        std::vector<float> expected(elements), got(elements, 7.0f);
        ASSERT_TRUE(image::normalize(packed, prepared, expected.data()).ok());
        image::Frame frame;
        ASSERT_TRUE(read_frame(own.frame, &frame).ok());
        ASSERT_TRUE(intake.prepare(packed, frame).ok());
        ASSERT_EQ(intake.plan().seen_width, prepared.width);
        intake.write(got.data());
        double worst = 0;
        for (size_t i = 0; i < elements; ++i)
          worst = std::max(worst, std::fabs(double{got[i]} - double{expected[i]}) * 255);
        EXPECT_LE(worst, kOneLevel) << testing::name_of(format) << ", orientation " << orientation;
      }
    }
  }
}

TEST(Frames, ArePaddedWithThePreprocessingsFill) {
  fbs::PreprocessT recipe = testing::frame_recipe(fbs::ResizeMode::Fit, 32, 32, fbs::Filter::Bilinear, 32);
  recipe.fill = {0.25f, 0.5f, 0.75f};
  Network network(recipe);
  OwnFrame own(FERRY_FRAME_NV12, 128, 64, Contents::Image, false);
  for (const int rotation : {0, 90}) {
    own.frame.rotation = rotation;
    const ferry_tensor input = network.input(own.frame);
    const Image seen = resized(own.seen(), rotation == 0 ? 32 : 16, rotation == 0 ? 16 : 32, fbs::Filter::Bilinear);
    const auto* value = static_cast<const float*>(input.data);
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        const int at_x = rotation == 0 ? x : x - 8, at_y = rotation == 0 ? y - 8 : y;
        const bool inside = at_x >= 0 && at_y >= 0 && at_x < seen.width && at_y < seen.height;
        for (int c = 0; c < 3; ++c, ++value) {
          if (inside) {
            ASSERT_NEAR(*value * 255, seen.at(at_x, at_y, c), kOneLevel) << x << "," << y;
          } else {
            ASSERT_EQ(*value, recipe.fill[static_cast<size_t>(c)]) << x << "," << y;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ferry
