// ferry convert and ferry inspect with ONNX files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/support/paths.h"

namespace ferry::cli_test {
namespace {

#if defined(FERRY_HAS_ONNX)

const std::string kNet = (source_folder() / "tests/data/onnx/cnn/model.onnx").string();

class Onnx : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }
  ScratchFolder folder_;
};

TEST_F(Onnx, ConvertsAndRuns) {
  const Result done = run({"convert", kNet, "--shape", "input=1x3x16x16", "-o", "net.ferry"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Result blob = run({"inspect", "net.ferry", "--json"});
  const auto j = nlohmann::json::parse(blob.out);
  EXPECT_EQ(j["inputs"][0]["name"], "input");
  EXPECT_EQ(j["inputs"][0]["source_shape"], (std::vector<int>{1, 3, 16, 16}));
  EXPECT_EQ(j["provenance"]["framework"], "pytorch");
}

TEST_F(Onnx, InspectTellsOperatorsAndWhatWouldBeRefused) {
  const Result text = run({"inspect", kNet});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("nothing: `ferry convert` takes it"), std::string::npos) << text.out;
  const auto j = nlohmann::json::parse(run({"inspect", kNet, "--json"}).out);
  EXPECT_EQ(j["operators"]["ConvTranspose"], 1);
  EXPECT_GT(j["macs"], 0);
  EXPECT_EQ(j["refused"].size(), 0u);
  const auto refused = nlohmann::json::parse(run({"inspect", kNet, "--shape", "input=1x3x17x16", "--json"}).out);
  ASSERT_EQ(refused["refused"].size(), 1u);
  EXPECT_FALSE(refused.contains("macs"));
}

TEST_F(Onnx, ReasonsComeAsTextOrJson) {
  const std::vector<std::string> words = {"convert", kNet, "--shape", "input=1x3x17x16"};
  const Result text = run(words);
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_NE(text.err.find("--shape gives dimension 2 as 17, the file as 16"), std::string::npos) << text.err;
  std::vector<std::string> with_report = words;
  with_report.insert(with_report.end(), {"--report", "json"});
  const Result json = run(with_report);
  EXPECT_EQ(json.exit_code, 2);
  const auto j = nlohmann::json::parse(json.out);
  ASSERT_EQ(j["reasons"].size(), 1u);
  EXPECT_EQ(j["reasons"][0]["node"], "input");
}

TEST_F(Onnx, BadUsageIsOneSentence) {
  EXPECT_REFUSED(run({"convert", kNet, "--report", "xml"}), "--report");
  EXPECT_REFUSED(run({"convert", kNet, "--shape", "input"}), "expected an input's name and its sizes");
  EXPECT_REFUSED(run({"convert", kNet, "--no-recognise", "gleu"}), "no recogniser is called 'gleu'");
  EXPECT_REFUSED(run({"convert", kNet, "--model", "resnet50"}), "is for checkpoints");
  EXPECT_REFUSED(run({"convert", kNet, "--read", kNet}), "--read and --characters");
  EXPECT_REFUSED(run({"convert", kNet, "--characters", "keys.txt"}), "--read and --characters");
  EXPECT_REFUSED(run({"convert", kNet, "--read", "missing.onnx", "--characters", "keys.txt"}), "missing.onnx");
  EXPECT_REFUSED(run({"convert", kNet, "--read", "net.pth", "--characters", "keys.txt"}), "net.pth is none");
  folder_.write("bad.onnx", "no protobuf at all");
  EXPECT_REFUSED(run({"convert", "bad.onnx"}), "bad.onnx");
  EXPECT_REFUSED(run({"inspect", "bad.onnx"}), "bad.onnx");
  EXPECT_REFUSED(run({"inspect", "missing.onnx"}), "missing.onnx");
}

#endif

}  // namespace
}  // namespace ferry::cli_test
