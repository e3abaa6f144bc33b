// Invalid frames are refused with a message and not read.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "converter/pack/pack.h"
#include "tests/support/frames.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace ferry {
namespace {

using testing::OwnFrame;

// An enum value out of range, as a C caller may pass it.
template <typename Enum>
void set(Enum* value, int number) {
  std::memcpy(value, &number, sizeof(number));
}

struct Refusal {
  const char* name;
  ferry_frame_format format;
  std::function<void(ferry_frame&)> change;
  const char* sentence;
};

std::vector<Refusal> refusals() {
  return {
      {"no_size", FERRY_FRAME_NV12, [](ferry_frame& f) { f.struct_size = 0; },
       "struct_size is 0: set it to sizeof(ferry_frame)"},
      {"no_format", FERRY_FRAME_NV12, [](ferry_frame& f) { set(&f.format, 0); },
       "frame.format is 0: must be 1 to 9, a ferry_frame_format"},
      {"format_of_the_future", FERRY_FRAME_NV12, [](ferry_frame& f) { set(&f.format, 10); },
       "frame.format is 10: must be 1 to 9, a ferry_frame_format"},
      {"no_width", FERRY_FRAME_RGB, [](ferry_frame& f) { f.width = 0; },
       "a frame of 0x9 pixels: sides must be 1 to 32768, and 268435456 pixels at most"},
      {"negative_height", FERRY_FRAME_RGB, [](ferry_frame& f) { f.height = -9; },
       "a frame of 7x-9 pixels: sides must be 1 to 32768, and 268435456 pixels at most"},
      {"a_huge_side", FERRY_FRAME_NV21, [](ferry_frame& f) { f.width = 1 << 20; },
       "a frame of 1048576x9 pixels: sides must be 1 to 32768, and 268435456 pixels at most"},
      {"a_huge_area", FERRY_FRAME_NV21, [](ferry_frame& f) { f.width = f.height = 32768; },
       "a frame of 32768x32768 pixels: sides must be 1 to 32768, and 268435456 pixels at most"},
      {"no_luma", FERRY_FRAME_NV12, [](ferry_frame& f) { f.planes[0].data = nullptr; },
       "NV12 frame: planes[0].data is NULL"},
      {"no_third_plane", FERRY_FRAME_YUV420, [](ferry_frame& f) { f.planes[2].data = nullptr; },
       "YUV420 frame: planes[2].data is NULL"},
      {"luma_too_short", FERRY_FRAME_NV12, [](ferry_frame& f) { --f.planes[0].size; },
       "NV12 frame: planes[0] has 62 bytes, but 9 rows, 7 bytes apart, for 7x9 pixels take 63"},
      // Chroma of odd sides is rounded up: 4 pairs in 5 rows.
      {"chroma_rounded_down", FERRY_FRAME_NV21, [](ferry_frame& f) { f.planes[1].size = 3 * 4 * 2; },
       "NV21 frame: planes[1] has 24 bytes, but 5 rows, 8 bytes apart, for 7x9 pixels take 40"},
      {"rows_too_far_apart", FERRY_FRAME_RGBA, [](ferry_frame& f) { f.planes[0].row_stride = 2147483647; },
       "RGBA frame: planes[0] has 252 bytes, but 9 rows, 2147483647 bytes apart, for 7x9 pixels take 17179869204"},
      {"rows_that_overlap", FERRY_FRAME_YUY2, [](ferry_frame& f) { f.planes[0].row_stride = 14; },
       "YUY2 frame: planes[0].row_stride is 14, but a row for 7 pixels takes 16 bytes"},
      {"rows_backwards", FERRY_FRAME_GRAY, [](ferry_frame& f) { f.planes[0].row_stride = -7; },
       "GRAY frame: planes[0].row_stride is -7, but a row for 7 pixels takes 7 bytes"},
      {"pixels_that_overlap", FERRY_FRAME_P010, [](ferry_frame& f) { f.planes[1].pixel_stride = 2; },
       "P010 frame: planes[1].pixel_stride is 2: must be 0 or at least 4"},
      {"pixels_backwards", FERRY_FRAME_BGRA, [](ferry_frame& f) { f.planes[0].pixel_stride = -4; },
       "BGRA frame: planes[0].pixel_stride is -4: must be 0 or at least 4"},
      {"pixels_too_far_apart", FERRY_FRAME_GRAY, [](ferry_frame& f) { f.planes[0].pixel_stride = 1 << 30; },
       "GRAY frame: planes[0] has 63 bytes, but 9 rows, 6442450945 bytes apart, for 7x9 pixels take 57982058505"},
      {"pairs_apart", FERRY_FRAME_YUY2, [](ferry_frame& f) { f.planes[0].pixel_stride = 6; },
       "YUY2 frame: planes[0].pixel_stride is 6: must be 0 or 4"},
      {"an_oblique_angle", FERRY_FRAME_NV12, [](ferry_frame& f) { f.rotation = 45; },
       "frame.rotation is 45: must be 0, 90, 180 or 270 degrees clockwise"},
      {"counterclockwise", FERRY_FRAME_NV12, [](ferry_frame& f) { f.rotation = -90; },
       "frame.rotation is -90: must be 0, 90, 180 or 270 degrees clockwise"},
      {"an_unknown_range", FERRY_FRAME_NV12, [](ferry_frame& f) { set(&f.range, 2); },
       "frame.range is 2: must be full (0) or limited (1)"},
      {"an_unknown_matrix", FERRY_FRAME_NV12, [](ferry_frame& f) { set(&f.matrix, -1); },
       "frame.matrix is -1: must be 0 (BT.601) to 2 (BT.2020)"},
      {"a_crop_to_the_right", FERRY_FRAME_NV12,
       [](ferry_frame& f) { f.crop_left = 3, f.crop_width = 5, f.crop_height = 2; },
       "a crop of 5x2 pixels at 3,0 lies outside the frame, which has 7x9"},
      {"a_crop_below", FERRY_FRAME_NV12,
       [](ferry_frame& f) { f.crop_top = 2147483647, f.crop_width = f.crop_height = 2147483647; },
       "a crop of 2147483647x2147483647 pixels at 0,2147483647 lies outside the frame, which has 7x9"},
      {"a_crop_to_the_left", FERRY_FRAME_NV12,
       [](ferry_frame& f) { f.crop_left = -1, f.crop_width = 5, f.crop_height = 2; },
       "a crop of 5x2 pixels at -1,0 lies outside the frame, which has 7x9"},
      {"a_crop_of_nothing", FERRY_FRAME_NV12, [](ferry_frame& f) { f.crop_width = 5; },
       "a crop of 5x0 pixels at 0,0 lies outside the frame, which has 7x9"},
  };
}

class RefusedFrame : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedFrame, GetsAMessage) {
  const Refusal& refusal = GetParam();
  testing::OpenTask task(pack(*testing::small_classifier()));
  OwnFrame own(refusal.format, 7, 9, OwnFrame::Contents::Image, false);
  ferry_session* session = ferry_task_session(task.get());
  ASSERT_EQ(ferry_session_set_frame(session, &own.frame), FERRY_OK) << ferry_last_error();
  refusal.change(own.frame);
  EXPECT_EQ(ferry_session_set_frame(session, &own.frame), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), refusal.sentence);
  int32_t width = 1, height = 1;
  EXPECT_EQ(ferry_frame_size(&own.frame, &width, &height), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(width, 0);
  ferry_request request{};
  request.struct_size = sizeof(request);
  request.frame = &own.frame;
  ferry_answer answer{};
  answer.struct_size = sizeof(answer);
  EXPECT_EQ(ferry_task_run(task.get(), &request, &answer), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), refusal.sentence);
}

INSTANTIATE_TEST_SUITE_P(Frames, RefusedFrame, ::testing::ValuesIn(refusals()),
                         [](const auto& refusal) { return std::string(refusal.param.name); });

}  // namespace
}  // namespace ferry
