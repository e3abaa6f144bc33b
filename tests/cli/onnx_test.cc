// ferry convert and ferry inspect with ONNX files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

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

// A fixture of the exported module (tests/conformance/make_taps.py) covers the values that leave its modules.
TEST_F(Onnx, ValuesAreTappedByModuleNodeAndName) {
  const std::filesystem::path folder = source_folder() / "tests/data/onnx/taps";
  const std::string net = (folder / "model.onnx").string(), fixture = (folder / "fixture").string();
  Result done = run({"convert", net, "--keep-taps", "-o", "all.ferry"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  done = run({"parity", "all.ferry", fixture, "--json", "all.json"});
  ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  std::set<std::string> compared;
  const auto report = nlohmann::json::parse(read_text(folder_.path() / "all.json"));
  for (const auto& row : report["rows"]) compared.insert(row["name"]);
  for (const char* name : {"logits", "tap/layer1", "tap/layer1.0", "tap/layer1.0.conv1", "tap/layer1.0.act",
                           "tap/layer1.1.conv2", "tap/norm"})
    EXPECT_TRUE(compared.contains(name)) << name;
  EXPECT_FALSE(compared.contains("tap/stem"));  // the exporter folds the norm into it

  done = run({"convert", net, "--tap", "/layer1/layer1.0/conv1/Conv", "--tap", "/layer1/layer1.1", "--tap", "logits",
              "-o", "some.ferry"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const auto blob = nlohmann::json::parse(run({"inspect", "some.ferry", "--json"}).out);
  std::set<std::string> taps;
  for (const auto& tap : blob["taps"]) taps.insert(tap["name"]);
  EXPECT_TRUE(taps.contains("/layer1/layer1.0/conv1/Conv"));
  EXPECT_TRUE(taps.contains("/layer1/layer1.0/conv1/Conv_output_0"));
  EXPECT_TRUE(taps.contains("/layer1/layer1.1"));

  EXPECT_REFUSED(run({"convert", net, "--tap", "/layer1/layer1.0/conv1/Con", "-o", "n.ferry"}),
                 "no value, node or module of model.onnx is called so (did you mean /layer1/layer1.0/conv1/Conv?)");
  EXPECT_REFUSED(run({"convert", net, "--tap", "/layer1/layer1.0/act/Erf", "-o", "n.ferry"}),
                 "fused with others into one operator, so it cannot be tapped; the nearest value that can is "
                 "'/layer1/layer1.0/act/Mul_1_output_0'");
  EXPECT_REFUSED(run({"convert", net, "--tap", "/Shape_output_0", "-o", "n.ferry"}), "known at conversion");

  done = run({"convert", net, "--certify", fixture, "-o", "certified.ferry"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(run({"verify", "certified.ferry"}).exit_code, 0);
}

// Decoders with a cache continue token ids as ONNX Runtime does (tests/conformance/make_decoders.py), and transformers
// and PyTorch (export_decoders.py, export_flat_caches.py).
TEST_F(Onnx, DecodersWithACacheContinueTexts) {
  const std::filesystem::path language = source_folder() / "tests/data/onnx/language";
  for (const char* name :
       {"rotary_inside", "rotary_outside", "norms_of_heads", "llama", "llama_quantised", "llama_merged",
        "attention_operators", "mistral", "gpt2", "gpt_neox", "opt", "one_token", "flat", "flat_turned"}) {
    SCOPED_TRACE(name);
    const Result done = run({"convert", (language / name / "model.onnx").string(), "-o", "net.ferry"});
    ASSERT_EQ(done.exit_code, 0) << done.err;
    const auto expected = nlohmann::json::parse(read_text(language / name / "generate.json"));
    // The long prompt is longer than a run.
    for (const std::string begin : {"", "long_"}) {
      if (!expected.contains(begin + "prompt")) continue;
      std::string prompt;
      for (const int id : expected[begin + "prompt"]) prompt += (prompt.empty() ? "" : ",") + std::to_string(id);
      const auto tokens = expected[begin + "tokens"];
      const Result text =
          run({"run", "net.ferry", "--tokens", prompt, "--max-tokens", std::to_string(tokens.size()), "--json"});
      ASSERT_EQ(text.exit_code, 0) << text.err;
      EXPECT_EQ(nlohmann::json::parse(text.out)["tokens"], tokens);
    }
  }
  const std::string gpt2 = (language / "gpt2" / "model.onnx").string();
  EXPECT_REFUSED(run({"convert", gpt2, "-o", "net.ferry", "--max-length", "65"}), "have 64 positions");
  const std::string last = (language / "rotary_inside" / "model.onnx").string();
  EXPECT_REFUSED(run({"convert", last, "-o", "net.ferry", "--max-length", "49"}), "have 48 positions");
  EXPECT_REFUSED(run({"convert", last, "-o", "net.ferry", "--mean", "0.5"}), "not for a language model");
  EXPECT_REFUSED(run({"convert", kNet, "-o", "net.ferry", "--max-length", "9"}), "no language model with a cache");
}

TEST_F(Onnx, ADryRunSaysWhatWouldBeBuiltAndWritesNothing) {
  const Result dry = run({"convert", kNet, "-o", "net.ferry", "--dry-run"});
  ASSERT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "net.ferry"));
  const Result done = run({"convert", kNet, "-o", "net.ferry"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  // The same network, size and counts, except for the time; ports as in the blob.
  const std::string begin = "net.ferry: ", dry_begin = "net.ferry, not written: ";
  ASSERT_EQ(done.out.find(begin), 0u) << done.out;
  ASSERT_EQ(dry.out.find(dry_begin), 0u) << dry.out;
  const std::string summary = done.out.substr(begin.size(), done.out.find(", in ") - begin.size());
  EXPECT_EQ(dry.out.substr(dry_begin.size(), summary.size()), summary);
  const std::string blob = run({"inspect", "net.ferry"}).out;
  size_t ports = 0;
  for (const std::string& line : lines(dry.out)) {
    if (!line.starts_with("input") && !line.starts_with("output")) continue;
    EXPECT_NE(blob.find(line + "\n"), std::string::npos) << line << "\n" << blob;
    ++ports;
  }
  EXPECT_GE(ports, 2u);
  EXPECT_EQ(run({"convert", kNet, "--shape", "input=1x3x16", "--dry-run"}).exit_code, 2);
  EXPECT_REFUSED(run({"convert", kNet, "--certify", "f", "--dry-run"}), "not with --certify");
}

TEST_F(Onnx, InspectListsOperatorsAndRefusals) {
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

TEST_F(Onnx, BadUsageHasOneMessage) {
  EXPECT_REFUSED(run({"convert", kNet, "--report", "xml"}), "--report");
  EXPECT_REFUSED(run({"convert", kNet, "--shape", "input"}), "expected an input's name and its sizes");
  EXPECT_REFUSED(run({"convert", kNet, "--no-recognise", "gleu"}), "no pattern is called 'gleu'");
  EXPECT_REFUSED(run({"convert", kNet, "--model", "resnet50"}), "is for checkpoints");
  EXPECT_REFUSED(run({"convert", kNet, "--like", "resnet5"}),
                 "--like resnet5: no model has this name (did you mean resnet50?)");
  EXPECT_REFUSED(run({"convert", kNet, "--like", "resnet50", "--std", "1"}), "as --mean and the others do");
  EXPECT_REFUSED(run({"convert", kNet, "--read", kNet}), "--read and --characters");
  EXPECT_REFUSED(run({"convert", kNet, "--characters", "keys.txt"}), "--read and --characters");
  EXPECT_REFUSED(run({"convert", kNet, "--read", "missing.onnx", "--characters", "keys.txt"}), "missing.onnx");
  folder_.write("net.pth", "of any content");
  EXPECT_REFUSED(run({"convert", kNet, "--read", "net.pth", "--characters", "keys.txt"}),
                 "net.pth is not an ONNX file");
  folder_.write("bad.onnx", "no protobuf at all");
  EXPECT_REFUSED(run({"convert", "bad.onnx"}), "bad.onnx");
  EXPECT_REFUSED(run({"inspect", "bad.onnx"}), "bad.onnx");
  EXPECT_REFUSED(run({"inspect", "missing.onnx"}), "missing.onnx");
}

#endif

}  // namespace
}  // namespace ferry::cli_test
