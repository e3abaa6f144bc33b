// Cameras with a simulated driver: formats, borrowed frames, and failures.
#include <gtest/gtest.h>

#include <thread>

#include "examples/camera-linux/sources.h"
#include "tests/camera/fake_camera.h"

namespace camera {
namespace {

using Event = FakeCamera::Event;

class Camera : public ::testing::Test {
 protected:
  void open(const Wanted& wanted = {}) {
    MaybeSource opened = open_camera(fake, "/dev/video7", wanted, [this](const std::string& s) { said.push_back(s); });
    ASSERT_TRUE(opened) << opened.error();
    source = std::move(*opened);
  }
  std::string refusal(const Wanted& wanted = {}) {
    MaybeSource opened = open_camera(fake, "/dev/video7", wanted, {});
    EXPECT_FALSE(opened);
    EXPECT_EQ(fake.open_now, 0);
    EXPECT_EQ(fake.mapped_now, 0);
    return opened.error();
  }
  Shot next() {
    ferry::Result<std::optional<Shot>> shot = source->next(stop.get_token());
    EXPECT_TRUE(shot) << shot.error();
    EXPECT_TRUE(*shot);
    return *shot ? std::move(**shot) : Shot();
  }
  void play(std::initializer_list<Event> events) { fake.script.insert(fake.script.end(), events); }
  std::string chosen() {
    const v4l2_format& f = fake.format;
    const uint32_t code = fake.several() ? f.fmt.pix_mp.pixelformat : f.fmt.pix.pixelformat;
    return fourcc_text(code) + " " + std::to_string(fake.several() ? f.fmt.pix_mp.width : f.fmt.pix.width);
  }

  FakeCamera fake;
  std::vector<std::string> said;
  std::stop_source stop;
  std::unique_ptr<Source> source;
};

Wanted of_size(int width, int height, double rate = 0) {
  Wanted wanted;
  wanted.width = width;
  wanted.height = height;
  wanted.rate = rate;
  return wanted;
}

TEST_F(Camera, PrefersTheFormatThatIsReadFastest) {
  fake.modes = {{"MJPG", 64, 48}, {"YUYV", 64, 48}, {"NV12", 64, 48}, {"H264", 64, 48}};
  fake.buffer_bytes = 65536;
  open(of_size(64, 48));
  EXPECT_EQ(chosen(), "NV12 64");
  EXPECT_EQ(source->name(), "/dev/video7: 64x48 NV12, 30 frames a second");
  EXPECT_TRUE(source->live());
}

TEST_F(Camera, PrefersTheRequestedSizeToTheFormat) {
  fake.modes = {{"YUYV", 64, 48}, {"MJPG", 128, 96}};
  fake.buffer_bytes = 65536;
  open(of_size(128, 96));
  EXPECT_EQ(chosen(), "MJPG 128");
  open(of_size(64, 48));
  EXPECT_EQ(chosen(), "YUYV 64");
}

TEST_F(Camera, PrefersTheRequestedRateToTheFormat) {
  fake.modes = {{"YUYV", 128, 96, 10}, {"MJPG", 128, 96, 30}};
  fake.buffer_bytes = 65536;
  open(of_size(128, 96));
  EXPECT_EQ(chosen(), "MJPG 128");
  EXPECT_EQ(fake.asked_rate, 30);
  open(of_size(128, 96, 10));
  EXPECT_EQ(chosen(), "YUYV 128");
  EXPECT_EQ(fake.asked_rate, 10);
  fake.modes[0].rate = 0;  // the driver reports no rate: the request is assumed
  open(of_size(128, 96));
  EXPECT_EQ(chosen(), "YUYV 128");
}

TEST_F(Camera, ReportsAnotherSizeIfTheRequestedOneIsMissing) {
  fake.modes = {{"YUYV", 64, 48}};
  fake.buffer_bytes = 65536;
  open(of_size(640, 480));
  EXPECT_EQ(source->name(), "/dev/video7: 64x48 YUYV, 30 frames a second (640x480 was asked for)");
}

TEST_F(Camera, GivesTheFormatThatIsNamed) {
  fake.modes = {{"NV12", 64, 48}, {"AR24", 64, 48}};
  fake.buffer_bytes = 65536;
  Wanted wanted = of_size(64, 48);
  wanted.format = find_format(std::string("bgra"));
  open(wanted);
  EXPECT_EQ(chosen(), "AR24 64");
  source = nullptr;
  wanted.format = find_format(std::string("grey"));
  EXPECT_EQ(refusal(wanted), "/dev/video7: has NV12, AR24; frames may be grey");
}

TEST_F(Camera, HasRowsAndPlanesWhereTheDriverPutsThem) {
  fake.modes = {{"NV12", 8, 4}};
  fake.row_bytes = 32;
  play({Event::Frame});
  open(of_size(8, 4));
  const Shot shot = next();
  EXPECT_EQ(shot.frame.format, FERRY_FRAME_NV12);
  EXPECT_EQ(shot.frame.width, 8);
  EXPECT_EQ(shot.frame.height, 4);
  EXPECT_EQ(shot.frame.planes[0].row_stride, 32);
  EXPECT_EQ(shot.frame.planes[1].data, shot.frame.planes[0].data + 4 * 32);
  EXPECT_EQ(shot.frame.planes[1].size, 2u * 32);
  EXPECT_EQ(shot.frame.planes[1].row_stride, 32);
}

TEST_F(Camera, OfTheApiWithSeveralPlanesWorksAlike) {
  fake.capabilities = V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_STREAMING;
  fake.modes = {{"NV12", 8, 4}};
  play({Event::Frame, Event::Frame});
  open(of_size(8, 4));
  EXPECT_EQ(*next().frame.planes[0].data, 0);
  EXPECT_EQ(*next().frame.planes[0].data, 1);
}

TEST_F(Camera, ReportsItsColours) {
  struct Case {
    uint32_t colorspace, encoding, quantization;
    ferry_yuv_range range;
    ferry_yuv_matrix matrix;
  };
  // The defaults are those of the kernel's documentation, "Defining Colorspaces".
  for (const Case& c : {Case{V4L2_COLORSPACE_SMPTE170M, 0, 0, FERRY_RANGE_LIMITED, FERRY_MATRIX_BT601},
                        {V4L2_COLORSPACE_REC709, 0, 0, FERRY_RANGE_LIMITED, FERRY_MATRIX_BT709},
                        {V4L2_COLORSPACE_BT2020, 0, 0, FERRY_RANGE_LIMITED, FERRY_MATRIX_BT2020},
                        {V4L2_COLORSPACE_JPEG, 0, 0, FERRY_RANGE_FULL, FERRY_MATRIX_BT601},
                        {V4L2_COLORSPACE_SRGB, 0, 0, FERRY_RANGE_LIMITED, FERRY_MATRIX_BT601},
                        {0, 0, 0, FERRY_RANGE_LIMITED, FERRY_MATRIX_BT601},
                        {V4L2_COLORSPACE_SRGB, V4L2_YCBCR_ENC_709, V4L2_QUANTIZATION_FULL_RANGE, FERRY_RANGE_FULL,
                         FERRY_MATRIX_BT709}}) {
    fake.colorspace = c.colorspace;
    fake.encoding = c.encoding;
    fake.quantization = c.quantization;
    play({Event::Frame});
    open(of_size(8, 4));
    const Shot shot = next();
    EXPECT_EQ(shot.frame.range, c.range) << c.colorspace;
    EXPECT_EQ(shot.frame.matrix, c.matrix) << c.colorspace;
  }
}

TEST_F(Camera, JpegsArePassedOnUnchanged) {
  fake.modes = {{"MJPG", 8, 4}};
  fake.contents = {1, 2, 3, 4};
  play({Event::Frame});
  open(of_size(8, 4));
  const Shot shot = next();
  EXPECT_EQ(std::vector<uint8_t>(shot.jpeg.begin(), shot.jpeg.end()), fake.contents);
}

TEST_F(Camera, DoesNotOverwriteBorrowedFrames) {
  open(of_size(8, 4));
  std::deque<Shot> held;  // two, because one is processed and one is queued
  for (int i = 0; i < 50; ++i) {
    play({Event::Frame});
    held.push_back(next());
    if (held.size() > 2) held.pop_front();
    for (size_t h = 0; h < held.size(); ++h)
      EXPECT_EQ(*held[h].frame.planes[0].data, i + 1 - static_cast<int>(held.size()) + static_cast<int>(h));
  }
}

TEST_F(Camera, CountsFramesThatTheDriverLost) {
  open(of_size(8, 4));
  play({Event::Frame, Event::Frame});
  EXPECT_EQ(next().number, 0);
  fake.lost = 3;
  EXPECT_EQ(next().number, 4);
}

TEST_F(Camera, OfADriverThatDoesNotCountIsCountedHere) {
  fake.counts = false;
  open(of_size(8, 4));
  play({Event::Frame, Event::Frame, Event::Frame});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next().number, i);
}

TEST_F(Camera, DamagedFramesAreDroppedAndCounted) {
  open(of_size(8, 4));
  play({Event::Frame, Event::Damaged, Event::Short, Event::Frame});
  EXPECT_EQ(next().number, 0);
  const Shot shot = next();
  EXPECT_EQ(shot.number, 3);
  EXPECT_EQ(*shot.frame.planes[0].data, 3);
  EXPECT_TRUE(said.empty());
}

TEST_F(Camera, ThatStallsIsReportedAndOpenedAgain) {
  open(of_size(8, 4));
  play({Event::Frame, Event::Nothing, Event::Frame});
  next();
  EXPECT_EQ(next().number, 1);  // a pause is no stall
  EXPECT_TRUE(said.empty());
  for (int i = 0; i < 20; ++i) play({Event::Nothing});
  play({Event::Frame});
  EXPECT_EQ(next().number, 2);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "/dev/video7 gave no frame for 2 s; it is opened again as soon as it can be");
  EXPECT_TRUE(said[1].starts_with("/dev/video7 is back after ")) << said[1];
  EXPECT_EQ(fake.opens, 2);
  EXPECT_EQ(fake.open_now, 1);
}

TEST_F(Camera, ThatIsUnpluggedComesBack) {
  open(of_size(8, 4));
  play({Event::Frame, Event::Unplug, Event::Frame});
  Shot held = next();
  fake.opens_to_fail = 1;
  const Shot after = next();
  EXPECT_EQ(after.number, 1);
  ASSERT_EQ(said.size(), 2u);  // reported once, not per attempt
  EXPECT_EQ(said[0], "/dev/video7 was unplugged; it is opened again as soon as it can be");
  EXPECT_EQ(fake.opens, 3);
  // Borrowed frames stay readable, and keep their device open until they are released.
  EXPECT_EQ(*held.frame.planes[0].data, 0);
  EXPECT_EQ(fake.open_now, 2);
  held = {};
  EXPECT_EQ(fake.open_now, 1);
  EXPECT_EQ(fake.mapped_now, 4);
}

TEST_F(Camera, WhoseDriverFailsIsOpenedAgain) {
  open(of_size(8, 4));
  play({Event::Fault, Event::Frame});
  next();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "/dev/video7 gives no more frames: Input/output error; it is opened again as soon as it can be");
  play({Event::WrongIndex, Event::Frame});
  next();
  ASSERT_EQ(said.size(), 4u);
  EXPECT_TRUE(said[2].starts_with("/dev/video7 gives buffers that it does not have: ")) << said[2];
}

TEST_F(Camera, WithNothingButDamagedFramesIsOpenedAgain) {
  open(of_size(8, 4));
  for (int i = 0; i < 100; ++i) play({Event::Damaged});
  play({Event::Frame});
  EXPECT_EQ(next().number, 100);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_TRUE(said[0].starts_with("/dev/video7 gave 100 damaged frames in a row")) << said[0];
}

TEST_F(Camera, EndsOnRequest) {
  open(of_size(8, 4));
  stop.request_stop();
  ferry::Result<std::optional<Shot>> shot = source->next(stop.get_token());
  ASSERT_TRUE(shot);
  EXPECT_FALSE(*shot);
  source = nullptr;
  EXPECT_EQ(fake.open_now, 0);
  EXPECT_EQ(fake.mapped_now, 0);
}

TEST_F(Camera, CanBeEndedWhileDisconnected) {
  open(of_size(8, 4));
  play({Event::Unplug});
  fake.opens_to_fail = 1000;
  std::jthread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  ferry::Result<std::optional<Shot>> shot = source->next(stop.get_token());
  ASSERT_TRUE(shot);
  EXPECT_FALSE(*shot);
}

TEST_F(Camera, OtherDevicesAreRefused) {
  fake.capabilities = 0;
  EXPECT_EQ(refusal(), "/dev/video7: is no camera: it knows nothing of V4L2");
  fake.capabilities = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_STREAMING;
  EXPECT_EQ(refusal(), "/dev/video7: is no camera: Toy camera does not stream images by this device");
  fake.capabilities = V4L2_CAP_VIDEO_CAPTURE;
  EXPECT_EQ(refusal(), "/dev/video7: is no camera: Toy camera does not stream images by this device");
}

TEST_F(Camera, InaccessibleDevicesAreRefused) {
  fake.open_error = ENOENT;
  EXPECT_EQ(refusal(), "/dev/video7: cannot be opened: No such file or directory");
  fake.open_error = EACCES;
  EXPECT_EQ(refusal(), "/dev/video7: cannot be opened: Permission denied");
  fake.open_error = EBUSY;
  EXPECT_EQ(refusal(), "/dev/video7: is in use by another program");
}

TEST_F(Camera, InconsistentDriversAreRefused) {
  fake.buffers = 2;
  EXPECT_EQ(refusal(of_size(8, 4)), "/dev/video7: gives 2 buffers, at least 3 are needed");
  fake.buffers = 4;
  fake.buffer_bytes = 63;
  EXPECT_EQ(refusal(of_size(8, 4)),
            "/dev/video7: its buffers have 63 bytes, a frame of 8x4 YUYV, 30 frames a second has 64");
  fake.modes = {{"YUYV", 8, 0}};
  EXPECT_EQ(refusal(of_size(8, 4)), "/dev/video7: answered with 8x0 in YUYV when it was asked for yuyv");
  fake.modes = {{"YUYV", 0x80000008, 4}};
  EXPECT_EQ(refusal(of_size(8, 4)), "/dev/video7: answered with 2147483656x4 in YUYV when it was asked for yuyv");
  fake.modes = {};
  EXPECT_EQ(
      refusal(of_size(8, 4)),
      "/dev/video7: has no formats; frames may be nv12, nv21, yu12, yv12, yuyv, p010, rgb24, bgra, rgba, grey, mjpg");
}

}  // namespace
}  // namespace camera
