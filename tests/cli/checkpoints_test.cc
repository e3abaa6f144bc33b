// Checkpoints as people save them, in files of shared/cases with the values of their frameworks.
#if defined(FERRY_HAS_CONVERTER)
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/checkpoint.h"
#include "tests/cli/command.h"
#include "tests/shared.h"

namespace ferry::cli_test {
namespace {

class SavedCheckpoints : public ::testing::Test {
 protected:
  // The folder of a case.
  std::filesystem::path files(const char* name) const { return shared_dir() / "cases" / name; }
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "no folder of shared data";
  }
  std::string convert(const std::filesystem::path& checkpoint, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"convert", checkpoint.string(), "-o", "m.ferry"});
    const Result done = ferry(folder_.path(), options);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return done.out;
  }

  ScratchFolder folder_;
};

TEST_F(SavedCheckpoints, OfLanguageModelsGenerateTheSameTokens) {
  const std::pair<const char*, const char*> kCases[] = {
      {"names-without-model", "46 keys are read with the prefix 'model.', which the checkpoint leaves out"},
      {"rotary-buffers-in-the-checkpoint", ""}};
  for (const auto& [name, note] : kCases) {
    EXPECT_NE(convert(files(name) / "model").find(note), std::string::npos) << name;
    const nlohmann::json expected = nlohmann::json::parse(read_text(files(name) / "expected.json"));
    std::string tokens;
    for (const int token : expected["prompt"]) tokens += (tokens.empty() ? "" : ",") + std::to_string(token);
    const Result said = ferry(folder_.path(), {"run", "m.ferry", "--tokens", tokens, "--max-tokens", "32", "--json"});
    ASSERT_EQ(said.exit_code, 0) << name << said.err;
    EXPECT_EQ(nlohmann::json::parse(said.out)["tokens"], expected["greedy"]) << name;
  }
  EXPECT_NE(convert(files("rotary-buffers-in-the-checkpoint") / "model", {"--dry-run"})
                .find("keys that cannot change an output: inv_freq (4)"),
            std::string::npos);
}

TEST_F(SavedCheckpoints, OfWrappedModulesHaveTheSameOutputsInEveryFormat) {
  const auto folder = files("wrapper-prefixes-in-safetensors");
  const auto expected = open_checkpoint(folder / "expected.safetensors");
  for (const char* file : {"compiled.pth", "compiled.safetensors", "parallel.safetensors"}) {
    EXPECT_NE(convert(folder / file, {"--input-size", "16x16"}).find("72 keys are read without '"), std::string::npos);
    const Result done = ferry(
        folder_.path(), {"run", "m.ferry", "--tensors", folder / "inputs.safetensors", "--save", "out.safetensors"});
    ASSERT_EQ(done.exit_code, 0) << file << done.err;
    const auto out = open_checkpoint(folder_.path() / "out.safetensors");
    for (const auto& [name, tensor] : expected->tensors()) {
      const std::vector<float> right = tensor.to_floats(), found = out->tensors().at(name).to_floats();
      ASSERT_EQ(found.size(), right.size()) << file;
      for (size_t i = 0; i < right.size(); ++i)
        ASSERT_NEAR(found[i], right[i], 1e-4 + 1e-3 * std::fabs(right[i])) << file << ", " << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace ferry::cli_test
#endif  // FERRY_HAS_CONVERTER
