// Frames in GPU-readable memory, against the steps for an RGB image.
#include "tests/gpu/gpu_frames.h"

namespace ferry::testing {
namespace {

TEST_F(GpuFrames, OfEveryFormatAndOrientationAreWithinALevelOfTheReference) {
  on_each([](const std::string& gpu) {
    for (const fbs::Filter filter : {fbs::Filter::Bilinear, fbs::Filter::Bicubic}) {
      const fbs::PreprocessT recipe = frame_recipe(fbs::ResizeMode::Exact, 24, 40, filter);
      const FrameNetwork network(recipe, gpu);
      for (const ferry_frame_format format : kFrameFormats) {
        for (const bool gaps : {false, true}) {
          OwnFrame own(format, 131, 77, gaps ? FrameContents::Noise : FrameContents::Image, gaps);
          FrameBlock block(own.frame);
          ASSERT_TRUE(block.import(network.get()));
          for (int orientation = 0; orientation < 8; ++orientation) {
            own.frame.rotation = block.frame.rotation = orientation / 2 * 90;
            own.frame.mirror = block.frame.mirror = orientation % 2 != 0;
            EXPECT_LE(levels_apart(network.of(block.frame), expected_of(own, recipe)), kOneLevel)
                << name_of(format) << ", " << fbs::EnumNameFilter(filter) << ", orientation " << orientation
                << (gaps ? ", gaps and noise" : "");
          }
        }
      }
    }
  });
}

TEST_F(GpuFrames, OfEveryMatrixRangeAndCropAreWithinALevelOfTheReference) {
  on_each([](const std::string& gpu) {
    const fbs::PreprocessT recipe = frame_recipe(fbs::ResizeMode::None, 0, 0, fbs::Filter::Bilinear);
    const FrameNetwork network(recipe, gpu);
    for (const ferry_frame_format format : {FERRY_FRAME_NV12, FERRY_FRAME_P010, FERRY_FRAME_GRAY}) {
      for (const ferry_yuv_matrix matrix : {FERRY_MATRIX_BT601, FERRY_MATRIX_BT709, FERRY_MATRIX_BT2020}) {
        for (const ferry_yuv_range range : {FERRY_RANGE_FULL, FERRY_RANGE_LIMITED}) {
          OwnFrame own(format, 64, 40, FrameContents::Noise, false);
          own.frame.matrix = matrix;
          own.frame.range = range;
          own.frame.rotation = 90;
          own.frame.crop_left = 7;  // odd: begins between two chroma samples
          own.frame.crop_top = 11;
          own.frame.crop_width = 45;
          own.frame.crop_height = 23;
          FrameBlock block(own.frame);
          ASSERT_TRUE(block.import(network.get()));
          EXPECT_LE(levels_apart(network.of(block.frame), expected_of(own, recipe)), kOneLevel)
              << name_of(format) << ", matrix " << matrix << ", range " << range;
        }
      }
    }
  });
}

TEST_F(GpuFrames, SupportEveryKindOfPreprocessing) {
  fbs::PreprocessT patches = frame_recipe(fbs::ResizeMode::PixelBudget, 0, 0, fbs::Filter::Bicubic);
  patches.multiple_of = 6;
  patches.max_pixels = 900;
  patches.patch = 3;
  patches.patch_block = 2;
  patches.patch_frames = 2;
  fbs::PreprocessT gray = frame_recipe(fbs::ResizeMode::Fit, 30, 30, fbs::Filter::Bilinear, 30);
  gray.color = fbs::ColorOrder::Gray;
  fbs::PreprocessT bgr = frame_recipe(fbs::ResizeMode::Cover, 20, 20, fbs::Filter::Lanczos, 20);
  bgr.color = fbs::ColorOrder::BGR;
  bgr.mean = {0.1f, 0.2f, 0.3f};
  bgr.std = {0.5f, 0.5f, 0.5f};
  fbs::PreprocessT filled = frame_recipe(fbs::ResizeMode::Fit, 32, 32, fbs::Filter::Nearest, 32);
  filled.fill = {0.25f, 0.5f, 0.75f};
  const fbs::PreprocessT cropped = frame_recipe(fbs::ResizeMode::ShortestEdge, 32, 0, fbs::Filter::Box, 28);
  on_each([&](const std::string& gpu) {
    for (const fbs::PreprocessT& recipe : {patches, gray, bgr, filled, cropped}) {
      const FrameNetwork network(recipe, gpu);
      for (const ferry_frame_format format : {FERRY_FRAME_NV12, FERRY_FRAME_RGBA, FERRY_FRAME_GRAY}) {
        OwnFrame own(format, 75, 50, FrameContents::Image, false);
        FrameBlock block(own.frame);
        ASSERT_TRUE(block.import(network.get()));
        for (int orientation = 0; orientation < 8; ++orientation) {
          own.frame.rotation = block.frame.rotation = orientation / 2 * 90;
          own.frame.mirror = block.frame.mirror = orientation % 2 != 0;
          EXPECT_LE(levels_apart(network.of(block.frame), expected_of(own, recipe), recipe.std.empty() ? 1 : 0.5),
                    kOneLevel)
              << name_of(format) << ", " << EnumNameResizeMode(recipe.resize_mode) << ", orientation " << orientation;
        }
      }
    }
  });
}

// A camera's buffers in rotation, more of them than are cached, each rewritten; and frames of the app in between.
TEST_F(GpuFrames, RotateThroughManyBuffers) {
  on_each([](const std::string& gpu) {
    const fbs::PreprocessT recipe = frame_recipe(fbs::ResizeMode::Exact, 24, 40, fbs::Filter::Bilinear);
    const FrameNetwork network(recipe, gpu);
    std::vector<std::unique_ptr<OwnFrame>> frames;
    std::vector<std::unique_ptr<FrameBlock>> blocks;
    for (int i = 0; i < 11; ++i) {
      frames.push_back(std::make_unique<OwnFrame>(FERRY_FRAME_NV12, 64 + i / 4, 48, FrameContents::Image, false));
      blocks.push_back(std::make_unique<FrameBlock>(frames.back()->frame));
      ASSERT_TRUE(blocks.back()->import(network.get()));
    }
    for (int turn = 0; turn < 2; ++turn) {
      for (size_t i = 0; i < blocks.size(); ++i) {
        const FrameValues right = expected_of(*frames[i], recipe);
        EXPECT_LE(levels_apart(network.of(blocks[i]->frame), right), kOneLevel) << "frame " << i;
        if (i % 5 != 4) continue;
        EXPECT_LE(levels_apart(network.of(frames[i]->frame), right), kOneLevel) << "in the app's memory";
      }
    }
    auto* luma = static_cast<uint8_t*>(blocks[0]->source().address) + blocks[0]->frame.gpu_offsets[0];
    std::fill_n(luma, blocks[0]->frame.planes[0].size, uint8_t{0});
    const FrameValues dark = network.of(blocks[0]->frame);
    EXPECT_LT(*std::max_element(dark.begin(), dark.end()), 0.6f);

    // A closed buffer stays until no session needs it; a resize replaces the frame by zeros.
    ferry_gpu_memory_close(std::exchange(blocks[0]->imported, nullptr));
    EXPECT_EQ(network.run(), dark);
    const int32_t shape[] = {1, 8, 8, 3};
    ASSERT_OK(ferry_session_resize(network.get(), 0, shape, 4));
    EXPECT_EQ(network.run(), FrameValues(8 * 8 * 3, 0.0f));
  });
}

}  // namespace
}  // namespace ferry::testing
