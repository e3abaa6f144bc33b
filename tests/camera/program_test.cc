// The program: its lines equal those of `ferry run --json`, it drops frames if slow, and it ends properly.
#include <ferry/image.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/camera/blobs.h"
#include "tests/camera/running.h"
#include "tests/cli/command.h"
#include "tests/shared.h"

namespace camera {
namespace {

using ferry::cli_test::lines;
using ferry::cli_test::Result;
using Json = nlohmann::json;

constexpr int kWide = 210, kHigh = 190;

// Red in the middle, with a green left and a blue right half, which tests/support's recogniser reads as "gb".
std::vector<uint8_t> image_bytes(int shift) {
  std::vector<uint8_t> bytes;
  for (int y = 0; y < kHigh; ++y) {
    for (int x = 0; x < kWide; ++x) {
      const bool text = std::abs(x - 103 - shift) < 60 && std::abs(y - 92) < 9;
      bytes.push_back(text ? 255 : 0);
      bytes.push_back(text && x < 133 + shift ? 230 : 0);
      bytes.push_back(text && x >= 133 + shift ? 230 : 0);
    }
  }
  return bytes;
}

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(at("images"));
    save("images/a.png", 0);
    save("images/b.png", 5);
    save("mask.png", 0);
    std::string raw;
    for (const int shift : {0, 5, 9}) {
      const std::vector<uint8_t> bytes = image_bytes(shift);
      raw.append(bytes.begin(), bytes.end());
    }
    folder_.write("frames.rgb", raw);
  }
  std::string at(const std::string& name) const { return folder_.path() / name; }
  void save(const std::string& name, int shift) {
    std::vector<uint8_t> bytes = image_bytes(shift);
    const ferry_image image = {bytes.data(), kWide, kHigh, 3 * kWide, false};
    ASSERT_EQ(ferry_image_save_png(&image, at(name).c_str()), FERRY_OK);
  }
  Result camera(std::vector<std::string> words, bool page = false) {
    if (!page) words.push_back("--no-page");
    return ferry::cli_test::run_program(FERRY_CAMERA_LINUX, folder_.path(), words);
  }
  std::vector<std::string> raw_words(const std::string& model) {
    return {model, "--raw", at("frames.rgb"), "--size", "210x190", "--format", "rgb24"};
  }
  static std::vector<Json> parsed(const std::string& text) {
    std::vector<Json> list;
    for (const std::string& line : lines(text)) {
      list.push_back(Json::parse(line, nullptr, false));
      EXPECT_FALSE(list.back().is_discarded()) << line;
    }
    return list;
  }

  ferry::ScratchFolder folder_;
};

// Without the fields that `ferry run` lacks.
Json answer_of(Json line) {
  for (const char* own : {"frame", "captured", "answered", "latency_ms", "dropped", "size"}) {
    EXPECT_TRUE(line.contains(own)) << own;
    line.erase(own);
  }
  return line;
}

// The output of `ferry run --json` for both images.
std::vector<Json> expected_of(const Blob& blob, const std::filesystem::path& folder) {
  std::vector<std::vector<std::string>> calls = {{"images/a.png", "images/b.png"}};
  if (!blob.prompts.empty()) calls = {{"images/a.png"}, {"images/b.png"}};  // a mask belongs to one image
  std::vector<Json> answers;
  for (const std::vector<std::string>& images : calls) {
    std::vector<std::string> words = {"run", blob.path, "--json"};
    for (const std::string& image : images) words.push_back(folder / image);
    words.insert(words.end(), blob.prompts.begin(), blob.prompts.end());
    const Result run = ferry::cli_test::ferry(folder, words);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    for (const std::string& line : lines(run.out)) {
      answers.push_back(Json::parse(line));
      answers.back().erase("file");
    }
  }
  return answers;
}

TEST_F(Program, AnswersLikeFerryRunForEveryTask) {
  for (const Blob& blob : write_blobs(folder_.path())) {
    SCOPED_TRACE(blob.path);
    const std::vector<Json> expected = expected_of(blob, folder_.path());
    ASSERT_EQ(expected.size(), 2u);

    std::vector<std::string> words = {blob.path, "--images", at("images")};
    words.insert(words.end(), blob.prompts.begin(), blob.prompts.end());
    Result result = camera(words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::vector<Json> got = parsed(result.out);
    ASSERT_EQ(got.size(), 2u) << result.out;
    EXPECT_NE(result.out.find(blob.field), std::string::npos) << result.out;
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(answer_of(got[i]), expected[i]);
      EXPECT_EQ(got[i]["frame"], i);
      EXPECT_EQ(got[i]["dropped"], 0);
      EXPECT_EQ(got[i]["size"], Json({kWide, kHigh}));
    }

    // A raw frame's levels are within one of the image's.
    words = raw_words(blob.path);
    words.insert(words.end(), blob.prompts.begin(), blob.prompts.end());
    result = camera(words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    got = parsed(result.out);
    ASSERT_EQ(got.size(), 3u) << result.out;
    const Json flat = answer_of(got[1]).flatten(), other = expected[1].flatten();
    for (const auto& [key, value] : flat.items()) {
      ASSERT_TRUE(other.contains(key)) << key;
      if (value.is_number()) {
        EXPECT_NEAR(value.get<double>(), other[key].get<double>(), 0.02 * std::fabs(other[key].get<double>()) + 0.02)
            << key;
      } else {
        EXPECT_EQ(value, other[key]) << key;
      }
    }
  }
}

TEST_F(Program, ReportsTimesOfFramesAndAnswers) {
  const double before = static_cast<double>(time(nullptr));
  const Result result = camera(raw_words(write_detector(folder_.path())));
  const std::vector<Json> got = parsed(result.out);
  ASSERT_EQ(got.size(), 3u);
  double last = before - 1;
  for (const Json& line : got) {
    const double captured = line["captured"], answered = line["answered"], latency = line["latency_ms"];
    EXPECT_GE(captured, last);
    EXPECT_NEAR(1000 * (answered - captured), latency, 0.01);
    EXPECT_LT(answered, before + 100);
    last = answered - 0.00001;
  }
  EXPECT_NE(result.err.find("answered 3 of 3 frames"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("ms (50th percentile), "), std::string::npos) << result.err;
}

TEST_F(Program, EndsAfterTheRequestedFrames) {
  std::vector<std::string> words = raw_words(write_detector(folder_.path()));
  words.insert(words.end(), {"--loop", "--frames", "7"});
  const Result result = camera(words);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(parsed(result.out).size(), 7u);
}

TEST_F(Program, EndsCleanlyOnRequest) {
  std::vector<std::string> words = raw_words(write_detector(folder_.path()));
  words.insert(words.end(), {"--loop", "--fps", "50", "--no-page"});
  for (const int signal : {SIGINT, SIGTERM}) {
    Running program(words);
    ASSERT_TRUE(program.says("\"frame\":2,")) << program.err();
    EXPECT_EQ(program.end(signal), 0) << program.err();
    EXPECT_NE(program.err().find("from frame to answer"), std::string::npos) << program.err();
    for (const Json& line : parsed(program.out())) EXPECT_TRUE(line.contains("boxes"));
  }
}

TEST_F(Program, OneImageThatCannotBeReadIsSkipped) {
  folder_.write("images/aa.jpg", "no image");
  const Result result = camera({write_detector(folder_.path()), "--images", at("images")});
  EXPECT_EQ(result.exit_code, 0);
  const std::vector<Json> got = parsed(result.out);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[1]["frame"], 2);
  EXPECT_EQ(got[1]["dropped"], 1);
  EXPECT_NE(result.err.find("camera-linux: frame 1: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("aa.jpg"), std::string::npos) << result.err;
}

TEST_F(Program, FailsWithoutAReadableImage) {
  std::filesystem::remove_all(at("images"));
  folder_.write("images/a.jpg", "no image");
  const std::string model = write_detector(folder_.path());
  Result result = camera({model, "--images", at("images")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("of no frame anything could be made"), std::string::npos) << result.err;
  result = camera({model, "--images", at("images"), "--loop"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("nothing could be made of 100 frames in a row"), std::string::npos) << result.err;
}

TEST_F(Program, AFullDiskEndsItWithAMessage) {
  const std::string command = std::string(FERRY_CAMERA_LINUX) + " " + write_detector(folder_.path()) + " --images " +
                              at("images") + " --no-page >/dev/full 2>" + at("err");
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(ferry::read_text(at("err")).find("the answer cannot be written: No space left on device"),
            std::string::npos);
}

TEST_F(Program, InvalidOptionsAreRefused) {
  const std::string model = write_detector(folder_.path()), text = write_language_model(folder_.path());
  EXPECT_REFUSED(camera({}), "which model?");
  EXPECT_REFUSED(camera({model, model}), "one model is enough");
  EXPECT_REFUSED(camera({"absent.ferry"}), "absent.ferry");
  EXPECT_REFUSED(camera({text, "--images", at("images")}), "has no image task: it is for");
  EXPECT_REFUSED(camera({model, "--speed"}), "--speed: no such option (--help lists them)");
  EXPECT_REFUSED(camera({model, "-xy"}), "-x: no such option");
  EXPECT_REFUSED(camera({model, "--size"}, true), "--size: a value is missing");
  EXPECT_REFUSED(camera({model, "--raw", "x", "--images", "y"}), "three sources: give one of them");
  for (const char* size : {"640", "0x480", "640x0", "-1x5", "640x480x3", "20000x20", "axb", "1e9x1", "1.5x2"})
    EXPECT_REFUSED(camera({model, "--size", size}), std::string("--size ") + size + ": expected W");
  EXPECT_REFUSED(camera({model, "--format", "h264"}), "--format h264: expected one of nv12, ");
  EXPECT_REFUSED(camera({model, "--fps", "0"}), "--fps 0: expected frames a second");
  EXPECT_REFUSED(camera({model, "--rotate", "45"}), "--rotate 45: expected 0, 90, 180 or 270");
  EXPECT_REFUSED(camera({model, "--port", "70000"}), "--port 70000: expected 0 to 65535");
  EXPECT_REFUSED(camera({model, "--point", "5"}), "--point 5: expected X,Y in pixels");
  EXPECT_REFUSED(camera({model, "--point", "5,5"}), "--point is for models with prompts");
  EXPECT_REFUSED(camera({model, "--mask", "mask.png"}), "--mask is for inpainting models");
  EXPECT_REFUSED(camera({model, "--raw", at("frames.rgb")}), "give --size and --format");
  EXPECT_REFUSED(camera({model, "--raw", at("frames.rgb"), "--size", "211x190", "--format", "rgb24"}),
                 "which is no whole number of frames: one of 211x190 in rgb24 has 120270");
  EXPECT_REFUSED(camera({model, "--device", "/dev/null"}), "/dev/null: is no camera: it knows nothing of V4L2");
  EXPECT_REFUSED(camera({model, "--device", at("absent")}), "cannot be opened: No such file or directory");
  EXPECT_REFUSED(camera({model, "--images", at("images"), "--bind", "1.2.3.4.5"}, true), "the page cannot be served");
}

TEST_F(Program, HelpNamesEveryOption) {
  const Result result = camera({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* word : {"--device", "--raw",     "--images", "--size",   "--format", "--fps",  "--loop",
                           "--rotate", "--mirror",  "--range",  "--matrix", "--frames", "--top",  "--point",
                           "--mask",   "--threads", "--cores",  "--gpu",    "--port",   "--bind", "--no-page"})
    EXPECT_TRUE(std::regex_search(result.out, std::regex(std::string("\\n  ") + word + "\\b"))) << word;
}

// UltraFace with published weights, on a photograph in camera formats.
TEST_F(Program, FindsFacesInFramesAsInImages) {
  if (ferry::shared_dir().empty()) GTEST_SKIP() << "../shared is not here";
  const std::string photo = ferry::shared_dir() / "photos" / "face.jpg";
  ASSERT_EQ(
      ferry::cli_test::ferry(folder_.path(), {"convert", ferry::shared_dir() / "weights/ultraface/version-RFB-320.onnx",
                                              "-o", "faces.ferry"})
          .exit_code,
      0);
  const Json expected =
      Json::parse(ferry::cli_test::ferry(folder_.path(), {"run", "faces.ferry", photo, "--json"}).out)["boxes"];
  ASSERT_EQ(expected.size(), 4u);

  // NV12 by BT.601's definition in limited range; chroma is the mean of 2x2 pixels.
  ferry_image image;
  ASSERT_EQ(ferry_image_load(photo.c_str(), &image), FERRY_OK);
  const int width = image.width / 2 * 2, height = image.height / 2 * 2;
  std::string luma, chroma;
  const auto level = [](double value) { return static_cast<char>(std::lround(value)); };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const uint8_t* p = image.pixels + y * image.stride + 3 * x;
      luma += level(16 + 219 * (0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]) / 255);
      if (y % 2 != 0 || x % 2 != 0) continue;
      double rgb[3];
      for (int c = 0; c < 3; ++c) rgb[c] = (p[c] + p[c + 3] + p[image.stride + c] + p[image.stride + c + 3]) / 4.0;
      const double mean = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
      chroma += level(128 + 224 * (rgb[2] - mean) / 1.772 / 255);
      chroma += level(128 + 224 * (rgb[0] - mean) / 1.402 / 255);
    }
  }
  ferry_image_free(&image);
  folder_.write("face.nv12", luma + chroma);
  const Result result = camera({at("faces.ferry"), "--raw", at("face.nv12"), "--format", "nv12", "--size",
                                std::to_string(width) + "x" + std::to_string(height)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json boxes = parsed(result.out)[0]["boxes"];
  ASSERT_EQ(boxes.size(), expected.size()) << result.out;
  for (size_t i = 0; i < boxes.size(); ++i)
    for (size_t side = 0; side < 4; ++side)
      EXPECT_NEAR(boxes[i]["box"][side].get<double>(), expected[i]["box"][side].get<double>(), 2) << i;
}

}  // namespace
}  // namespace camera
