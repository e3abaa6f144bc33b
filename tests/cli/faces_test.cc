// UltraFace from .onnx to boxes: the raw export, which computes corners itself, and the simplified one, which needs
// postprocessing; with `ferry run` and with examples/detect_faces.
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/shared.h"
#include "tests/support/cache.h"

namespace ferry::cli_test {
namespace {

#if defined(FERRY_HAS_ONNX)

struct Box {
  double left, top, right, bottom, score = 0;
};

double overlap(const Box& a, const Box& b) {
  const auto area = [](const Box& x) { return std::max(x.right - x.left, 0.0) * std::max(x.bottom - x.top, 0.0); };
  const Box both{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                 std::min(a.bottom, b.bottom)};
  return area(both) / (area(a) + area(b) - area(both));
}

// `expected`: boxes drawn by hand.
void expect_around(const std::vector<Box>& expected, const std::vector<Box>& found) {
  EXPECT_EQ(found.size(), expected.size());
  for (const Box& face : expected)
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const Box& box) { return overlap(face, box) > 0.6; }))
        << face.left << "," << face.top;
}

// The fraction of pixels along a box's upper edge that differ from the image.
double changed_share(const ferry_image& drawn, const ferry_image& image, const Box& box) {
  int changed = 0, all = 0;
  const int y = std::clamp(static_cast<int>(std::lround(box.top)), 0, image.height - 1);
  for (int x = static_cast<int>(box.left) + 1; x < static_cast<int>(box.right); ++x, ++all) {
    const uint8_t *a = drawn.pixels + y * drawn.stride + 3 * x, *b = image.pixels + y * image.stride + 3 * x;
    changed += !std::equal(a, a + 3, b);
  }
  return static_cast<double>(changed) / std::max(all, 1);
}

class Faces : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "../shared is not here";
    convert(GetParam(), {});
  }

  std::string convert(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"convert", shared_dir() / "weights" / "ultraface" / name, "-o", "faces.ferry"};
    words.insert(words.end(), more.begin(), more.end());
    const Result done = ferry(folder_.path(), words);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  }

  static std::string photo(const std::string& name) { return shared_dir() / "photos" / name; }

  std::vector<Box> found(const std::string& image, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run", "faces.ferry", photo(image), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Result run = ferry(folder_.path(), words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::vector<Box> boxes;
    const auto json = nlohmann::json::parse(run.out, nullptr, false);
    if (!json.contains("boxes")) {
      ADD_FAILURE() << run.out;
      return {};
    }
    for (const auto& entry : json["boxes"]) {
      EXPECT_EQ(entry["index"], 0);
      EXPECT_EQ(entry["label"], "face");
      EXPECT_FALSE(entry.contains("landmarks"));
      const auto& box = entry["box"];
      boxes.push_back({box[0], box[1], box[2], box[3], entry["score"]});
    }
    return boxes;
  }

  ScratchFolder folder_;
};

const std::vector<Box> kGroup = {{133, 75, 222, 205}, {256, 50, 348, 172}, {438, 112, 492, 186}, {8, 98, 54, 160}};

TEST_P(Faces, AreFoundInAGroupAndDrawn) {
  const std::vector<Box> boxes = found("face.jpg", {"-o", "boxes.png"});
  expect_around(kGroup, boxes);
  ferry_image drawn, image;
  ASSERT_EQ(ferry_image_load((folder_.path() / "boxes.png").c_str(), &drawn), FERRY_OK);
  ASSERT_EQ(ferry_image_load(photo("face.jpg").c_str(), &image), FERRY_OK);
  ASSERT_EQ(drawn.width, image.width);
  for (const Box& box : boxes) EXPECT_GT(changed_share(drawn, image, box), 0.9);
  ferry_image_free(&drawn);
  ferry_image_free(&image);
}

TEST_P(Faces, AreFoundInAPortrait) { expect_around({{170, 125, 358, 335}}, found("grace_hopper.bmp")); }

TEST_P(Faces, AreNotSeenInABird) {
  EXPECT_TRUE(found("bird.bmp").empty());
  const Result text = ferry(folder_.path(), {"run", "faces.ferry", photo("bird.bmp")});
  EXPECT_EQ(text.out, "nothing found\n") << text.err;
}

TEST_P(Faces, WithoutAFileNothingIsDrawn) {
  found("face.jpg");
  const Result text = ferry(folder_.path(), {"run", "faces.ferry", photo("face.jpg")});
  EXPECT_EQ(lines(text.out).size(), kGroup.size()) << text.out;
  EXPECT_NE(text.out.find("  face\n"), std::string::npos) << text.out;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().extension(), ".png") << entry.path();
}

TEST_P(Faces, HeadsAreRecognisedOrNamedOrIgnored) {
  EXPECT_NE(convert(GetParam(), {}).find("detector ultraface, recognised by the outputs"), std::string::npos);
  EXPECT_NE(convert(GetParam(), {"--detect", "ultraface"}).find("detector ultraface: 4420 boxes, 1 class\n"),
            std::string::npos);
  expect_around(kGroup, found("face.jpg"));
  const Result inspected = ferry(folder_.path(), {"inspect", "faces.ferry"});
  EXPECT_NE(inspected.out.find("detection of scores from 0.7, at most 100 boxes, overlapping up to 0.3, 1 labels"),
            std::string::npos)
      << inspected.out;
  const auto json = nlohmann::json::parse(ferry(folder_.path(), {"inspect", "faces.ferry", "--json"}).out);
  EXPECT_EQ(json["postprocess"]["task"], "Detection");
  EXPECT_NEAR(json["postprocess"]["detection"]["threshold"].get<double>(), 0.7, 1e-6);
  EXPECT_EQ(json["provenance"]["options"], nlohmann::json::array({"--detect ultraface"}));
  EXPECT_EQ(convert(GetParam(), {"--detect", "none"}).find("detector"), std::string::npos);
  const auto raw = nlohmann::json::parse(ferry(folder_.path(), {"inspect", "faces.ferry", "--json"}).out);
  EXPECT_EQ(raw["outputs"][0]["name"], "scores");
}

TEST_P(Faces, OptionsSetLabelsAndPreprocessing) {
  folder_.write("names.txt", "nobody\nsomebody\n");
  convert(GetParam(), {"--detect", "ultraface", "--labels", "names.txt", "--filter", "box", "--resize", "letterbox",
                       "--fill", "114"});
  const Result run = ferry(folder_.path(), {"run", "faces.ferry", photo("grace_hopper.bmp")});
  EXPECT_NE(run.out.find("  somebody\n"), std::string::npos) << run.out << run.err;
  const Result inspected = ferry(folder_.path(), {"inspect", "faces.ferry"});
  EXPECT_NE(inspected.out.find("to fit into 240x320 (Box)"), std::string::npos) << inspected.out;
  folder_.write("names.txt", "a\nb\nc\n");
  EXPECT_REFUSED(ferry(folder_.path(), {"convert", shared_dir() / "weights" / "ultraface" / GetParam(), "--detect",
                                        "ultraface", "--labels", "names.txt"}),
                 "names.txt has 3 names, but the network has 1 classes");
}

// RetinaFace as insightface publishes it (npm's retinaface), on photographs.
TEST(RetinaFace, FindsFacesWithTheirPoints) {
  const auto package = cached_dir("npm/retinaface-0.0.6");
  if (package.empty() || shared_dir().empty())
    GTEST_SKIP() << "retinaface is not in the cache, or ../shared is not here";
  const ScratchFolder folder;
  const Result done = ferry(folder.path(), {"convert", package / "mnet.25_v2.onnx", "-o", "faces.ferry"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("detector retinaface, recognised"), std::string::npos) << done.out;
  const Result run = ferry(folder.path(), {"run", "faces.ferry", shared_dir() / "photos" / "face.jpg", "--json"});
  const auto json = nlohmann::json::parse(run.out, nullptr, false);
  ASSERT_TRUE(json.contains("boxes")) << run.err;
  std::vector<Box> boxes;
  for (const auto& entry : json["boxes"])
    boxes.push_back({entry["box"][0], entry["box"][1], entry["box"][2], entry["box"][3], entry["score"]});
  expect_around(kGroup, boxes);
  // Landmarks of the man in the middle, by eye: eyes, nose, corners of the mouth.
  constexpr std::array<std::array<double, 2>, 5> kSeen = {{{279, 97}, {321, 96}, {301, 121}, {285, 141}, {322, 138}}};
  for (const auto& entry : json["boxes"]) {
    ASSERT_EQ(entry["landmarks"].size(), kSeen.size());
    if (std::fabs(entry["box"][0].get<double>() - 256) > 10) continue;
    for (size_t p = 0; p < kSeen.size(); ++p)
      for (size_t axis = 0; axis < 2; ++axis)
        EXPECT_NEAR(entry["landmarks"][p][axis].get<double>(), kSeen[p][axis], 6) << p;
  }
}

INSTANTIATE_TEST_SUITE_P(UltraFace, Faces, ::testing::Values("version-RFB-320.onnx", "version-RFB-320_simplified.onnx"),
                         [](const auto& file) {
                           return std::string(file.param).find("simplified") == std::string::npos ? "raw"
                                                                                                  : "simplified";
                         });

class BothFaces : public Faces {};

// The postprocessing computes the part that the simplified export lacks, like the raw one.
TEST_P(BothFaces, AgreeToAFractionOfAPixel) {
  for (const char* image : {"face.jpg", "grace_hopper.bmp"}) {
    convert(GetParam(), {});
    const std::vector<Box> raw = found(image);
    convert("version-RFB-320_simplified.onnx", {});
    const std::vector<Box> simplified = found(image);
    ASSERT_EQ(raw.size(), simplified.size());
    for (size_t i = 0; i < raw.size(); ++i) {
      EXPECT_NEAR(raw[i].left, simplified[i].left, 0.01);
      EXPECT_NEAR(raw[i].top, simplified[i].top, 0.01);
      EXPECT_NEAR(raw[i].right, simplified[i].right, 0.01);
      EXPECT_NEAR(raw[i].bottom, simplified[i].bottom, 0.01);
      EXPECT_NEAR(raw[i].score, simplified[i].score, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(UltraFace, BothFaces, ::testing::Values("version-RFB-320.onnx"),
                         [](const auto&) { return "raw"; });

TEST_P(BothFaces, NamedHeadsAreRefusedIfTheyDoNotMatch) {
  const std::string net = shared_dir() / "weights" / "ultraface" / GetParam();
  const auto conversion = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"convert", net, "-o", "other.ferry"};
    all.insert(all.end(), words.begin(), words.end());
    return ferry(folder_.path(), all);
  };
  EXPECT_REFUSED(conversion({"--detect", "ultrafase"}), "(did you mean ultraface?)");
  EXPECT_REFUSED(conversion({"--detect", "yunet"}), "--detect yunet: boxes: there is no output 'bbox_8'");
  EXPECT_REFUSED(conversion({"--detect", "missing.json"}), "--detect missing.json: cannot be read");
  EXPECT_REFUSED(conversion({"--detect", "ultraface", "--dynamic", "input:0"}), "--detect ultraface with --dynamic");
  EXPECT_REFUSED(conversion({"--detect", "none", "--labels", "names.txt"}), "--labels");
  EXPECT_REFUSED(conversion({"--mean", "a"}), "--mean a: expected numbers");
  folder_.write("bad.json", "{\"scores\": ");
  EXPECT_REFUSED(conversion({"--detect", "bad.json"}), "bad.json");
  const std::string heads = R"({"scores": {"outputs": "scores", "background": 0}, "boxes": {"outputs": "boxes",
      "form": "corners", "unit": "share"}, "threshold": 0.7, "overlap": 0.3, "labels": ["face"])";
  folder_.write("heads.json", heads + "}");
  EXPECT_REFUSED(conversion({"--detect", "heads.json"}), "heads.json: the preprocessing is unknown");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "other.ferry"));
  // With options, or with its own image, the same file is valid.
  convert(GetParam(), {"--detect", "heads.json", "--mean", "127", "--std", "128"});
  expect_around(kGroup, found("face.jpg"));
  const auto json = nlohmann::json::parse(ferry(folder_.path(), {"inspect", "faces.ferry", "--json"}).out);
  EXPECT_EQ(json["provenance"]["options"], nlohmann::json::array({"--detect heads.json", "--mean 127", "--std 128"}));
  folder_.write("heads.json", heads + R"(, "image": {"mean": 127, "std": 128}})");
  convert(GetParam(), {"--detect", (folder_.path() / "heads.json").string()});
  expect_around(kGroup, found("face.jpg"));
}

#if defined(FERRY_DETECT_FACES)
TEST_P(Faces, AreFoundByAnApp) {
  const Result run = run_program(FERRY_DETECT_FACES, folder_.path(), {"faces.ferry", photo("face.jpg"), "app.png"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::vector<Box> boxes;
  for (const std::string& line : lines(run.out)) {
    Box box{};
    ASSERT_EQ(std::sscanf(line.c_str(), "%*f%% %lf,%lf to %lf,%lf", &box.left, &box.top, &box.right, &box.bottom), 4);
    boxes.push_back(box);
  }
  expect_around(kGroup, boxes);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "app.png"));
  EXPECT_REFUSED(run_program(FERRY_DETECT_FACES, folder_.path(), {"faces.ferry", "absent.jpg", "app.png"}),
                 "detect_faces: ");
}
#endif

#endif

}  // namespace
}  // namespace ferry::cli_test
