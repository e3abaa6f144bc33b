// examples/detect_faces with UltraFace, from .onnx to boxes: the raw export, which computes corners itself, and the
// simplified one, which leaves that to the program.
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/cli/command.h"
#include "tests/shared.h"

namespace ferry::cli_test {
namespace {

#if defined(FERRY_HAS_ONNX) && defined(FERRY_DETECT_FACES)

struct Box {
  int left, top, right, bottom;
};

double overlap(const Box& a, const Box& b) {
  const auto area = [](const Box& x) { return std::max(x.right - x.left, 0) * std::max(x.bottom - x.top, 0); };
  const Box both{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                 std::min(a.bottom, b.bottom)};
  return static_cast<double>(area(both)) / (area(a) + area(b) - area(both));
}

// The line of drawn pixels along a box's upper edge.
bool is_drawn(const ferry_image& picture, const Box& box) {
  for (int x = box.left + 1; x < box.right; ++x) {
    const uint8_t* pixel = picture.pixels + box.top * picture.stride + 3 * x;
    if (pixel[0] != 40 || pixel[1] != 230 || pixel[2] != 60) return false;
  }
  return true;
}

class Faces : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "../shared is not here";
    const std::string name = GetParam() ? "version-RFB-320_simplified.onnx" : "version-RFB-320.onnx";
    const Result done =
        ferry(folder_.path(), {"convert", shared_dir() / "weights" / "ultraface" / name, "-o", "faces.ferry"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }

  Result detect(const std::string& picture) {
    std::vector<std::string> words = {"faces.ferry", shared_dir() / "photos" / picture, "boxes.png"};
    if (GetParam()) words.insert(words.begin(), "--offsets");
    return run_program(FERRY_DETECT_FACES, folder_.path(), words);
  }

  // `expected`: drawn around the faces by hand.
  void expect_faces(const std::string& picture, const std::vector<Box>& expected) {
    const Result run = detect(picture);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    std::vector<Box> found;
    for (const std::string& line : lines(run.out)) {
      Box box{};
      ASSERT_EQ(std::sscanf(line.c_str(), "%*f%% %d,%d to %d,%d", &box.left, &box.top, &box.right, &box.bottom), 4);
      found.push_back(box);
    }
    EXPECT_EQ(found.size(), expected.size()) << run.out;
    for (const Box& face : expected)
      EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Box& box) { return overlap(face, box) > 0.6; }))
          << face.left << "," << face.top << "\n"
          << run.out;
    ferry_image drawn;
    ASSERT_EQ(ferry_image_load((folder_.path() / "boxes.png").c_str(), &drawn), FERRY_OK);
    for (const Box& box : found) EXPECT_TRUE(is_drawn(drawn, box)) << box.left << "," << box.top;
    ferry_image_free(&drawn);
  }

  ScratchFolder folder_;
};

TEST_P(Faces, AreFoundInAGroup) {
  expect_faces("face.jpg", {{133, 75, 222, 205}, {256, 50, 348, 172}, {438, 112, 492, 186}, {8, 98, 54, 160}});
}

TEST_P(Faces, AreFoundInAPortrait) { expect_faces("grace_hopper.bmp", {{170, 125, 358, 335}}); }

TEST_P(Faces, AreNotSeenInABird) { expect_faces("bird.bmp", {}); }

TEST_P(Faces, OfNoPictureAreOneSentence) { EXPECT_REFUSED(detect("absent.jpg"), "detect_faces: "); }

INSTANTIATE_TEST_SUITE_P(UltraFace, Faces, ::testing::Bool(),
                         [](const auto& simplified) { return simplified.param ? "simplified" : "raw"; });

#endif

}  // namespace
}  // namespace ferry::cli_test
