// The examples that users copy work: those of the public headers and of examples/.
#include "tests/runtime/examples.h"

#include <ferry/image.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/runtime/networks.h"
#include "tests/support/language_model.h"
#include "tests/support/paths.h"
#include "tests/support/task_networks.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

// Runs in a temporary folder with the files that the examples name.
class Examples : public ::testing::Test {
 protected:
  void SetUp() override {
    former_ = fs::current_path();
    folder_ = fs::temp_directory_path() / ("ferry-examples-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    fs::current_path(folder_);
    const auto classifier = pack(*small_classifier());
    write_file("resnet50.ferry", classifier);
    write_file("squeezenet.ferry", classifier);
    write_file("upscaler.ferry", pack(*small_upscaler()));
    std::vector<uint8_t> pixels(20 * 15 * 3);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 7);
    const ferry_image image{pixels.data(), 20, 15, 60, false};
    ASSERT_OK(ferry_image_save_png(&image, "photo.png"));
    ASSERT_OK(ferry_image_save_png(&image, "photo.jpg"));  // the decoder ignores the suffix
  }
  void TearDown() override {
    fs::current_path(former_);
    fs::remove_all(folder_);
  }

  // Runs a program's main() and captures its output.
  int run(int (*program)(int, char**), std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = program(static_cast<int>(arguments.size()), argv.data());
    out_ = ::testing::internal::GetCapturedStdout();
    error_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  fs::path former_, folder_;
  std::string out_, error_;
};

TEST_F(Examples, OfFerryHRuns) { EXPECT_EQ(ferry_h_example(), 0); }

TEST_F(Examples, OfFerryHppRuns) { EXPECT_EQ(ferry_hpp_example(), 0); }

TEST_F(Examples, OfImageHRuns) {
  Opened opened(*small_classifier());
  SessionPtr session = make_session(opened.model, 1);
  EXPECT_EQ(image_h_example(session.get()), 0);
}

TEST_F(Examples, OfTaskHRuns) {
  Opened opened(*colour_as_depth(8, 8, 1, fbs::PreprocessT()));
  EXPECT_EQ(task_h_example(opened.model), 0);
  EXPECT_TRUE(fs::exists("depth.png"));
}

TEST_F(Examples, OfTextHRuns) {
  // Its text ends when the model's context is full; the example then fails with that message.
  const Opened opened(*small_language_model());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = text_h_example(opened.model);
  ::testing::internal::GetCapturedStdout();
  const std::string error = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(code == 0 || error.find("the model's maximum") != error.npos) << error;
}

TEST_F(Examples, OfTextHppRuns) {
  write_file("stories.ferry", pack(*small_language_model()));
  ::testing::internal::CaptureStderr();
  const int code = text_hpp_example();
  const std::string error = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(code == 0 || error.find("the model's maximum") != error.npos) << error;
}

TEST_F(Examples, InHeadersHaveAtMostFifteenLines) {
  for (const char* header : {"ferry.h", "image.h", "task.h", "text.h", "ferry.hpp", "text.hpp"}) {
    std::ifstream file(build_folder() / "header_examples" / (std::string(header) + ".inc"));
    if (!file) GTEST_SKIP() << "the build folder is not at hand";
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    EXPECT_GE(lines, 5) << header;
    EXPECT_LE(lines, 15) << header;
  }
}

TEST_F(Examples, ClassifyPrintsTheBestClassesOfEachImage) {
  EXPECT_EQ(run(classify_main, {"classify", "squeezenet.ferry", "photo.png", "photo.jpg"}), 0) << error_;
  int lines = 0;
  std::istringstream stream(out_);
  for (std::string line; std::getline(stream, line);) ++lines;
  EXPECT_EQ(lines, 2 * (1 + 5)) << out_;
  EXPECT_NE(out_.find("%"), std::string::npos);
  EXPECT_NE(out_.find(" ferry\n"), std::string::npos) << "one of the five labels";
}

TEST_F(Examples, ClassifyReportsErrors) {
  EXPECT_EQ(run(classify_main, {"classify", "squeezenet.ferry"}), 2);
  EXPECT_EQ(error_, "usage: classify MODEL.ferry IMAGE...\n");
  EXPECT_EQ(run(classify_main, {"classify", "absent.ferry", "photo.png"}), 2);
  EXPECT_NE(error_.find("absent.ferry"), std::string::npos) << error_;
  EXPECT_EQ(run(classify_main, {"classify", "squeezenet.ferry", "absent.png"}), 2);
  EXPECT_NE(error_.find("absent.png"), std::string::npos) << error_;
}

TEST_F(Examples, SegmentWritesAMaskForEachPoint) {
  write_file("prompted.ferry", pack(*colour_masks()));
  std::ofstream("points") << "3,4\nnothing\n-15,10\n";
  ASSERT_NE(std::freopen("points", "r", stdin), nullptr);
  EXPECT_EQ(run(segment_main, {"segment", "prompted.ferry", "photo.png", "cut"}), 0) << error_;
  EXPECT_NE(out_.find("cut_2.png: quality 0."), std::string::npos) << out_;
  EXPECT_EQ(error_, "segment: expected X,Y or -X,Y\n");
  EXPECT_TRUE(fs::exists("cut_1.png") && fs::exists("cut_2.png") && !fs::exists("cut_3.png"));
  EXPECT_EQ(run(segment_main, {"segment", "squeezenet.ferry"}), 2);
  EXPECT_EQ(error_, "usage: segment MODEL.ferry IMAGE OUTPUT\n");
}

TEST_F(Examples, ChatAnswersUntilTheModelIsFull) {
  write_file("model.ferry", pack(*small_language_model()));
  std::ofstream("said") << "hi\n";
  ASSERT_NE(std::freopen("said", "r", stdin), nullptr);
  const int code = run(chat_main, {"chat", "model.ferry"});
  EXPECT_TRUE(code == 0 || error_.find("the model's maximum") != error_.npos) << error_;
  EXPECT_GT(out_.size(), 1u);
  EXPECT_EQ(run(chat_main, {"chat", "squeezenet.ferry"}), 2);
  EXPECT_NE(error_.find("has no tokenizer"), std::string::npos) << error_;
  EXPECT_EQ(run(chat_main, {"chat"}), 2);
}

TEST_F(Examples, UpscaleWritesALargerImage) {
  EXPECT_EQ(run(upscale_main, {"upscale", "upscaler.ferry", "photo.png", "large.png"}), 0) << error_;
  EXPECT_NE(out_.find("20x15 -> 40x30"), std::string::npos) << out_;
  ferry_image large;
  ASSERT_OK(ferry_image_load("large.png", &large));
  EXPECT_EQ(large.width, 40);
  EXPECT_EQ(large.height, 30);
  ferry_image_free(&large);
}

TEST_F(Examples, CutoutWritesAlphaOrReplacesTheBackground) {
  write_file("matting.ferry", pack(*red_in_front()));
  EXPECT_EQ(run(cutout_main, {"cutout", "matting.ferry", "photo.png", "cut.png"}), 0) << error_;
  EXPECT_EQ(run(cutout_main, {"cutout", "matting.ferry", "photo.png", "new.png", "photo.jpg"}), 0) << error_;
  ferry_image made;
  ASSERT_OK(ferry_image_load("new.png", &made));
  EXPECT_EQ(made.width, 20);
  ferry_image_free(&made);
  EXPECT_EQ(run(cutout_main, {"cutout", "squeezenet.ferry", "photo.png", "no.png"}), 2);
  EXPECT_EQ(error_, "cutout: this answer is not a mask\n");
  EXPECT_FALSE(fs::exists("no.png"));
}

TEST_F(Examples, UpscaleReportsErrors) {
  EXPECT_EQ(run(upscale_main, {"upscale"}), 2);
  EXPECT_EQ(error_, "usage: upscale MODEL.ferry IMAGE OUTPUT.png\n");
  EXPECT_EQ(run(upscale_main, {"upscale", "photo.png", "photo.png", "large.png"}), 2);
  EXPECT_NE(error_.find("photo.png"), std::string::npos) << error_;
  EXPECT_FALSE(fs::exists("large.png"));
}

}  // namespace
}  // namespace ferry::testing

void write_classifier(const char* path) { ferry::write_file(path, ferry::pack(*ferry::testing::small_classifier())); }
