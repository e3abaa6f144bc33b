// Frames of every kind through a blob, in this process; and the loop around a camera.
#include "examples/camera-linux/recogniser.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "examples/camera-linux/run.h"
#include "tests/camera/blobs.h"
#include "tests/camera/fake_camera.h"
#include "tests/support/scratch_folder.h"

namespace camera {
namespace {

constexpr int kWide = 96, kHigh = 48;

// A green bar on black, which tests/support's recogniser reads as "g"; twice as far from the right as from the left.
Pixels bar() {
  Pixels image(kWide, kHigh);
  for (int y = 16; y < 32; ++y)
    for (int x = 16; x < 64; ++x) image.at(x, y)[0] = 255, image.at(x, y)[1] = 230;
  return image;
}

class Recognising : public ::testing::Test {
 protected:
  void SetUp() override {
    ferry::Result<std::string> encoded = encode_jpeg(bar());
    ASSERT_TRUE(encoded);
    jpeg.assign(encoded->begin(), encoded->end());
    folder.write("bar.jpg", *encoded);
  }
  std::unique_ptr<Recogniser> open(const std::string& path) {
    ferry::Result<std::unique_ptr<Recogniser>> opened = Recogniser::open(path, {}, {});
    EXPECT_TRUE(opened) << opened.error();
    return std::move(*opened);
  }
  std::string named(const std::string& name) {
    folder.write("mask.png", "");
    for (const Blob& blob : write_blobs(folder.path()))
      if (blob.path.ends_with("/" + name + ".ferry")) return blob.path;
    return "";
  }
  Shot packed(int rotation) const {
    Shot shot;
    shot.jpeg = jpeg;
    shot.frame.rotation = rotation;
    return shot;
  }

  ferry::ScratchFolder folder;
  std::vector<uint8_t> jpeg;
};

TEST_F(Recognising, JpegsAreReadAndDrawnUpright) {
  const auto reader = open(named("lines"));
  for (const int rotation : {0, 180, 0}) {
    ferry::Status seen = reader->see(packed(rotation));
    ASSERT_TRUE(seen) << seen.error();
    EXPECT_EQ(reader->width(), kWide);
    EXPECT_EQ(reader->height(), kHigh);
    ASSERT_EQ(reader->answer().line_count, 1u);
    EXPECT_STREQ(reader->answer().lines[0].text, "g");
    EXPECT_NEAR(reader->answer().lines[0].corners[0], rotation == 0 ? 16 : 32, 3);
    ferry::Result<Pixels> drawn = reader->image();
    ASSERT_TRUE(drawn) << drawn.error();
    ASSERT_EQ(drawn->width, kWide);
    EXPECT_NEAR(drawn->at(rotation == 0 ? 40 : 56, 24)[1], 230, 10);
    EXPECT_NEAR(drawn->at(rotation == 0 ? 80 : 8, 24)[1], 0, 10);
  }
}

TEST_F(Recognising, OnTheirSideTheyHaveTheOtherSize) {
  const auto depth = open(named("depth"));
  ASSERT_TRUE(depth->see(packed(90)));
  EXPECT_EQ(depth->width(), kHigh);
  EXPECT_EQ(depth->height(), kWide);
  ferry::Result<Pixels> drawn = depth->image();
  ASSERT_TRUE(drawn) << drawn.error();
  EXPECT_EQ(drawn->width, 2 * kHigh);
  EXPECT_EQ(drawn->height, kWide);
}

TEST_F(Recognising, AFileAndAFrameFollowEachOther) {
  const auto upscaler = open(named("upscaled"));
  Shot file;
  file.file = folder.path() / "bar.jpg";
  for (const Shot& shot : {packed(0), file, packed(270)}) {
    ferry::Status seen = upscaler->see(shot);
    ASSERT_TRUE(seen) << seen.error();
    ferry::Result<Pixels> shown = upscaler->image();
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->width, 2 * upscaler->width());
    EXPECT_EQ(upscaler->width(), shot.frame.rotation == 270 ? kHigh : kWide);
  }
}

TEST_F(Recognising, AnInvalidImageFailsAndTheNextOneDoesNot) {
  const auto detector = open(write_detector(folder.path()));
  Shot cut = packed(0);
  cut.jpeg = cut.jpeg.first(cut.jpeg.size() / 2);
  EXPECT_TRUE(detector->see(cut).error().starts_with("not a whole JPEG: "));
  Shot nothing;
  nothing.file = folder.path() / "absent.jpg";
  EXPECT_NE(detector->see(nothing).error().find("absent.jpg"), std::string::npos);
  EXPECT_FALSE(detector->see(Shot()));  // a frame without a format
  EXPECT_TRUE(detector->see(packed(0)));
}

// The loop in this process, with a simulated camera.
class Watching : public Recognising {
 protected:
  void prepare(int frames) {
    options.model = write_detector(folder.path());
    options.path = "/dev/video7";
    options.page = false;
    options.frames = frames;
    options.wanted.width = 8;
    options.wanted.height = 4;
  }
  int watch(int frames) {
    prepare(frames);
    std::FILE *out_file = std::tmpfile(), *err_file = std::tmpfile();
    const int code = run(options, stop.get_token(), out_file, err_file, fake);
    out = text_of(out_file);
    err = text_of(err_file);
    return code;
  }
  static std::string text_of(std::FILE* file) {
    std::string text(static_cast<size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
    return text;
  }

  Options options;
  FakeCamera fake;
  std::stop_source stop;
  std::string out, err;
};

TEST_F(Watching, ACameraThatComesBackIsAnsweredAgain) {
  fake.script = {FakeCamera::Event::Unplug, FakeCamera::Event::Frame};
  EXPECT_EQ(watch(1), 0);
  const nlohmann::json line = nlohmann::json::parse(out, nullptr, false);
  ASSERT_FALSE(line.is_discarded()) << out;
  EXPECT_EQ(line["size"], nlohmann::json({8, 4}));
  EXPECT_EQ(line["boxes"].size(), 1u);
  EXPECT_LT(line["latency_ms"].get<double>(), 60000);
  EXPECT_NE(err.find("/dev/video7 was unplugged"), std::string::npos) << err;
  EXPECT_NE(err.find("/dev/video7 is back after"), std::string::npos) << err;
  EXPECT_EQ(fake.open_now, 0);
  EXPECT_EQ(fake.mapped_now, 0);
}

TEST_F(Watching, TruncatedJpegsAreDroppedUpToALimit) {
  fake.modes = {{"MJPG", 8, 4}};
  fake.contents = {jpeg.begin(), jpeg.end() - 2};
  fake.endless = true;
  EXPECT_EQ(watch(1), 2);
  EXPECT_EQ(out, "");
  EXPECT_NE(err.find("not a whole JPEG"), std::string::npos) << err;
  EXPECT_EQ(err.find("not a whole JPEG"), err.rfind("not a whole JPEG")) << "said more than once";
  EXPECT_NE(err.find("nothing could be made of 100 frames in a row"), std::string::npos) << err;
}

// Each answer takes as long as ten frames of the camera.
TEST_F(Watching, ASlowAnswerDropsFramesAndTheNextUsesTheNewest) {
  struct SlowOutput {
    FakeCamera& fake;
    std::string text;
    std::vector<int> delivered;  // frames delivered when each line was written
  } reader{fake, "", {}};
  const cookie_io_functions_t slow = {.read = nullptr,
                                      .write =
                                          [](void* to, const char* data, size_t size) {
                                            auto* self = static_cast<SlowOutput*>(to);
                                            self->text.append(data, size);
                                            const int until = self->fake.delivered() + 10;
                                            while (self->fake.delivered() < until) std::this_thread::yield();
                                            self->delivered.push_back(self->fake.delivered());
                                            return static_cast<ssize_t>(size);
                                          },
                                      .seek = nullptr,
                                      .close = nullptr};
  std::FILE* out_file = fopencookie(&reader, "w", slow);
  std::FILE* err_file = std::tmpfile();
  prepare(20);
  fake.endless = true;
  EXPECT_EQ(run(options, stop.get_token(), out_file, err_file, fake), 0);
  std::fclose(out_file);
  std::fclose(err_file);
  ASSERT_EQ(reader.delivered.size(), 20u);
  std::istringstream lines(reader.text);
  std::string line;
  for (size_t i = 0; std::getline(lines, line); ++i) {
    const nlohmann::json answer = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(answer.is_discarded()) << line;
    const int64_t frame = answer["frame"];
    EXPECT_EQ(frame, static_cast<int64_t>(i) + answer["dropped"].get<int64_t>());
    // All except the frame that was in transit when the previous answer was taken.
    if (i > 0) {
      EXPECT_GE(frame, reader.delivered[i - 1] - 2);
    }
  }
}

TEST_F(Watching, EndsWhileNoFrameComes) {
  std::jthread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop.request_stop();
  });
  EXPECT_EQ(watch(0), 0);
  EXPECT_EQ(out, "");
  EXPECT_EQ(fake.open_now, 0);
}

}  // namespace
}  // namespace camera
