// Raw files and folders: order and timing of frames, and refusals.
#include "examples/camera-linux/sources.h"

#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"

namespace camera {
namespace {

Wanted raw(int width, int height, const char* format) {
  Wanted wanted;
  wanted.width = width;
  wanted.height = height;
  wanted.format = find_format(std::string(format));
  return wanted;
}

class Files : public ::testing::Test {
 protected:
  std::string file(const std::string& name, std::string_view bytes) { return folder.write(name, bytes); }
  std::optional<Shot> next(Source& source) {
    ferry::Result<std::optional<Shot>> shot = source.next(stop.get_token());
    EXPECT_TRUE(shot) << shot.error();
    return std::move(*shot);
  }
  std::vector<std::string> names(Source& source, int most) {
    std::vector<std::string> list;
    while (static_cast<int>(list.size()) < most) {
      const std::optional<Shot> shot = next(source);
      if (!shot) break;
      EXPECT_EQ(shot->number, static_cast<int64_t>(list.size()));
      list.push_back(std::filesystem::path(shot->file).filename());
    }
    return list;
  }

  ferry::ScratchFolder folder;
  std::stop_source stop;
};

// The sizes of a frame by the formats' definitions: 3x3 pixels, with chroma rounded up.
TEST_F(Files, EveryFormatHasItsSize) {
  const std::pair<const char*, size_t> kSizes[] = {
      {"nv12", 9 + 2 * 4}, {"nv21", 9 + 2 * 4}, {"yu12", 9 + 4 + 4}, {"yv12", 9 + 4 + 4}, {"yuyv", 3 * 8},
      {"p010", 18 + 16},   {"rgb24", 27},       {"bgra", 36},        {"rgba", 36},        {"grey", 9}};
  for (const auto& [format, bytes] : kSizes) {
    const std::string path = file("frames", std::string(2 * bytes, 'x'));
    MaybeSource source = open_raw_file(path, raw(3, 3, format));
    ASSERT_TRUE(source) << format << ": " << source.error();
    int frames = 0;
    while (std::optional<Shot> shot = next(**source)) {
      int32_t width = 0, height = 0;
      EXPECT_EQ(ferry_frame_size(&shot->frame, &width, &height), FERRY_OK) << ferry_last_error();
      EXPECT_EQ(width, 3);
      ++frames;
    }
    EXPECT_EQ(frames, 2) << format;
  }
}

TEST_F(Files, FramesFollowEachOtherAndBeginAgain) {
  const std::string path = file("frames", "abcdef");
  Wanted wanted = raw(2, 1, "grey");
  wanted.rotation = 90;
  wanted.mirror = true;
  wanted.range = FERRY_RANGE_FULL;
  wanted.matrix = FERRY_MATRIX_BT709;
  for (const bool loop : {false, true}) {
    wanted.loop = loop;
    MaybeSource source = open_raw_file(path, wanted);
    ASSERT_TRUE(source) << source.error();
    EXPECT_FALSE((*source)->live());
    std::string seen;
    while (seen.size() < 8) {
      const std::optional<Shot> shot = next(**source);
      if (!shot) break;
      EXPECT_EQ(shot->number, static_cast<int64_t>(seen.size()));
      EXPECT_EQ(shot->frame.rotation, 90);
      EXPECT_TRUE(shot->frame.mirror);
      EXPECT_EQ(shot->frame.range, FERRY_RANGE_FULL);
      EXPECT_EQ(shot->frame.matrix, FERRY_MATRIX_BT709);
      seen += static_cast<char>(*shot->frame.planes[0].data);
    }
    EXPECT_EQ(seen, loop ? "aceaceac" : "ace");
  }
}

TEST_F(Files, AHeldFrameStaysUnchanged) {
  MaybeSource source = open_raw_file(file("frames", "abcdef"), raw(1, 1, "grey"));
  ASSERT_TRUE(source);
  const std::optional<Shot> first = next(**source), second = next(**source), third = next(**source);
  EXPECT_EQ(*first->frame.planes[0].data, 'a');
  EXPECT_EQ(*second->frame.planes[0].data, 'b');
  EXPECT_EQ(*third->frame.planes[0].data, 'c');
}

TEST_F(Files, VAndUChangePlacesInYv12) {
  const std::string path = file("frames", "yyyyab");
  for (const auto& [format, u] : {std::pair("yu12", 'a'), {"yv12", 'b'}}) {
    MaybeSource source = open_raw_file(path, raw(2, 2, format));
    ASSERT_TRUE(source);
    const std::optional<Shot> shot = next(**source);
    EXPECT_EQ(*shot->frame.planes[1].data, u) << format;
  }
}

TEST_F(Files, WithARateComeAtThatRate) {
  Wanted wanted = raw(1, 1, "grey");
  wanted.rate = 50;
  MaybeSource source = open_raw_file(file("frames", "abcd"), wanted);
  ASSERT_TRUE(source);
  EXPECT_TRUE((*source)->live());
  const Clock::time_point begin = Clock::now();
  std::optional<Shot> last;
  for (int i = 0; i < 4; ++i) last = next(**source);
  EXPECT_GE(last->captured - begin, std::chrono::milliseconds(60));  // three intervals; a busy machine takes longer
}

TEST_F(Files, OfAFolderComeByName) {
  for (const char* name : {"b.PNG", "a.jpg", "c.bmp", "d.txt", "e.jpeg"}) file(name, "x");
  std::filesystem::create_directory(folder.path() / "f.jpg");
  MaybeSource source = open_folder(folder.path(), {});
  ASSERT_TRUE(source) << source.error();
  EXPECT_EQ(names(**source, 9), (std::vector<std::string>{"a.jpg", "b.PNG", "c.bmp", "e.jpeg"}));
  Wanted wanted;
  wanted.loop = true;
  source = open_folder(folder.path(), wanted);
  EXPECT_EQ(names(**source, 5), (std::vector<std::string>{"a.jpg", "b.PNG", "c.bmp", "e.jpeg", "a.jpg"}));
}

TEST_F(Files, InvalidFilesAreRefused) {
  const auto refusal = [](const std::string& path, const Wanted& wanted) {
    MaybeSource source = open_raw_file(path, wanted);
    EXPECT_FALSE(source);
    return source.error().substr(source.error().find(": ") + 2);
  };
  EXPECT_EQ(refusal(file("short", std::string(25, 'x')), raw(4, 4, "nv12")),
            "has 25 bytes, which is no whole number of frames: one of 4x4 in nv12 has 24");
  EXPECT_EQ(refusal(file("empty", ""), raw(4, 4, "nv12")), "is empty");
  EXPECT_EQ(refusal(folder.path() / "absent", raw(4, 4, "nv12")), "cannot be opened: No such file or directory");
  EXPECT_EQ(refusal(folder.path(), raw(4, 4, "nv12")), "is no file");
  EXPECT_EQ(refusal("/dev/zero", raw(4, 4, "nv12")), "is no file");
  EXPECT_EQ(refusal(file("x", "x"), {}), "a raw file does not say what it is: give --size and --format");
  EXPECT_EQ(refusal(file("x", "x"), raw(4, 4, "mjpg")),
            "--format mjpg is for cameras; raw files are nv12, nv21, yu12, yv12, yuyv, p010, rgb24, bgra, rgba, grey");
  // The maximum size, whose bytes still fit the counter.
  EXPECT_EQ(refusal(file("x", "x"), raw(kMaxSide, kMaxSide, "p010")),
            "has 1 bytes, which is no whole number of frames: one of 16384x16384 in p010 has 805306368");
}

TEST_F(Files, TruncatedFilesEndWithAMessage) {
  const std::string path = file("frames", "abcd");
  MaybeSource source = open_raw_file(path, raw(1, 1, "grey"));
  ASSERT_TRUE(source);
  next(**source);
  std::filesystem::resize_file(path, 1);
  EXPECT_EQ((*source)->next(stop.get_token()).error(), path + ": became shorter while it was read");
}

TEST_F(Files, FoldersWithoutImagesAreRefused) {
  const std::string path = folder.path();
  EXPECT_EQ(open_folder(path, {}).error(), path + ": has no images (.jpg, .jpeg, .png, .bmp)");
  EXPECT_EQ(open_folder(path + "/absent", {}).error(), path + "/absent: cannot be read: No such file or directory");
  EXPECT_NE(open_folder(path, raw(2, 2, "grey")).error().find("images say themselves what they are"),
            std::string::npos);
}

}  // namespace
}  // namespace camera
