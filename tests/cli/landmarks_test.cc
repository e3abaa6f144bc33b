// MediaPipe's two networks as one blob, from the files to points on photographs.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/converter/checkpoint_fixtures.h"
#include "tests/shared.h"
#include "tests/support/cache.h"

#if defined(FERRY_HAS_CONVERTER)

namespace ferry::cli_test {
namespace {

using Json = nlohmann::json;

constexpr const char *kMesh = "npm/face-mesh-0.4.1657299874", *kPose = "npm/pose-0.5.1675469404";
constexpr const char *kDetector = "face_detection_short_range.tflite", *kPoints = "face_landmark.tflite";

class Landmarks : public ::testing::Test {
 protected:
  // The package's folder; empty, with the test skipped, if something is missing.
  std::filesystem::path package(const char* name) {
    const auto found = cached_dir(name);
    if (found.empty() || shared_dir().empty()) skipped_ = true;
    return skipped_ ? std::filesystem::path() : found;
  }
  void convert(const std::vector<std::string>& words) {
    std::vector<std::string> all = {"convert"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"-o", "points.ferry"});
    const Result done = ferry(folder_.path(), all);
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  Json run(const char* photo) {
    const Result done = ferry(folder_.path(), {"run", "points.ferry", shared_dir() / "photos" / photo, "--json"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return Json::parse(done.out, nullptr, false);
  }
  // The points of make_landmarks.py, of which every `step`-th is recorded, within a hundredth of the object's size. The
  // first network sees an image that another program resized.
  static void expect_reference(const Json& answer, const char* key, size_t step) {
    std::ifstream file(source_folder() / "tests" / "data" / "tflite" / "landmarks.json");
    const Json expected = Json::parse(file)[key];
    ASSERT_TRUE(answer.contains("boxes"));
    ASSERT_EQ(answer["boxes"].size(), expected.size());
    for (const Json& object : expected) {
      double nearest = 1e9;
      for (const Json& box : answer["boxes"]) {
        double worst = 0, size = 0;
        for (size_t axis = 0; axis < 2; ++axis) {
          double low = 1e9, high = -1e9;  // the points of a body may lie far outside of the photograph
          for (size_t i = 0; i < object["points"].size(); ++i) {
            const double expected_place = object["points"][i][axis];
            worst = std::max(worst, std::abs(box["landmarks"][i * step][axis].get<double>() - expected_place));
            low = std::min(low, expected_place);
            high = std::max(high, expected_place);
          }
          size = std::max(size, high - low);
        }
        nearest = std::min(nearest, worst / size);
      }
      EXPECT_LE(nearest, 0.01);
    }
  }

  ScratchFolder folder_;
  bool skipped_ = false;
};

TEST_F(Landmarks, OfFacesAreThoseOfTheReference) {
  const auto mesh = package(kMesh);
  if (skipped_) GTEST_SKIP() << "face-mesh is not in the cache (scripts/fetch-npm), or ../shared is not here";
  convert({mesh / kDetector, "--landmarks", mesh / kPoints});
  const Json answer = run("face.jpg");
  expect_reference(answer, "face.jpg", 8);
  EXPECT_EQ(answer["boxes"][0]["label"], "face");
  EXPECT_FALSE(answer.contains("landmark_names"));
  const Result drawn =
      ferry(folder_.path(), {"run", "points.ferry", shared_dir() / "photos" / "face.jpg", "-o", "points.png"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "points.png"));
  const Result shown = ferry(folder_.path(), {"inspect", "points.ferry"});
  EXPECT_NE(shown.out.find("landmarks by graph points, objects from 0.5"), std::string::npos) << shown.out;
}

// Lips and eyes are refined, and irises added.
TEST_F(Landmarks, OfFacesWithAttentionAreThoseOfTheReference) {
  const auto mesh = package(kMesh);
  if (skipped_) GTEST_SKIP() << "face-mesh is not in the cache (scripts/fetch-npm), or ../shared is not here";
  convert({mesh / kDetector, "--landmarks", mesh / "face_landmark_with_attention.tflite"});
  const Json answer = run("face.jpg");
  expect_reference(answer, "attention", 8);
  EXPECT_EQ(answer["boxes"][0]["landmarks"].size(), 478u);
}

TEST_F(Landmarks, OfBodiesAreThoseOfTheReference) {
  const auto pose = package(kPose);
  if (skipped_) GTEST_SKIP() << "pose is not in the cache (scripts/fetch-npm), or ../shared is not here";
  convert({pose / "pose_detection.tflite", "--landmarks", pose / "pose_landmark_lite.tflite"});
  const Json answer = run("grace_hopper.bmp");
  expect_reference(answer, "grace_hopper.bmp", 1);
  EXPECT_EQ(answer["landmark_names"][11], "left shoulder");
  const Json& scores = answer["boxes"][0]["landmark_scores"];
  EXPECT_GT(scores[0].get<double>(), 0.9);   // the nose
  EXPECT_LT(scores[27].get<double>(), 0.5);  // an ankle, outside of the photograph
}

TEST_F(Landmarks, OfATaskArchiveAreTheSame) {
  const auto mesh = package(kMesh);
  if (skipped_) GTEST_SKIP() << "face-mesh is not in the cache (scripts/fetch-npm), or ../shared is not here";
  // The odd name makes the networks begin at odd addresses.
  folder_.write("face.task", stored_zip({{"notes", "odd"},
                                         {"face_detector.tflite", read_text(mesh / kDetector)},
                                         {"face_landmarks_detector.tflite", read_text(mesh / kPoints)}}));
  convert({"face.task"});
  expect_reference(run("face.jpg"), "face.jpg", 8);
}

TEST_F(Landmarks, ErrorsAreSentences) {
  const auto mesh = package(kMesh);
  if (skipped_) GTEST_SKIP() << "face-mesh is not in the cache (scripts/fetch-npm), or ../shared is not here";
  const auto convert_with = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"convert"};
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {"-o", "none.ferry"});
    return ferry(folder_.path(), all);
  };
  EXPECT_REFUSED(convert_with({mesh / kDetector, "--landmarks", mesh / kDetector}),
                 "expected points of 1404 or 1434 elements, as of the network after blazeface, and 1 of one element");
  EXPECT_REFUSED(convert_with({mesh / kPoints, "--landmarks", mesh / kPoints}),
                 "the boxes of the first network must be known");
  folder_.write("notes.txt", "nothing");
  EXPECT_REFUSED(convert_with({mesh / kDetector, "--landmarks", "notes.txt"}), "notes.txt is no .tflite file");
  folder_.write("half.task", stored_zip({{"face_detector.tflite", read_text(mesh / kDetector)}}));
  EXPECT_REFUSED(convert_with({"half.task"}), "half.task has face_detector.tflite: expected");
  folder_.write("text.task", stored_zip({{"a_detector.tflite", "x"}, {"a_landmarks_detector.tflite", "y"}}));
  EXPECT_REFUSED(convert_with({"text.task"}), "text.task is no .tflite file");
  EXPECT_REFUSED(convert_with({"half.task", "--landmarks", mesh / kPoints}), "--landmarks: half.task has its own");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "none.ferry"));
}

}  // namespace
}  // namespace ferry::cli_test

#endif  // FERRY_HAS_CONVERTER
