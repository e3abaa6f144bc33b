// Folders as people publish them: where texts begin and end, tokenizers longer than the vocabulary, what a conversion
// says of missing and unusable files.
#if defined(FERRY_HAS_CONVERTER)
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/shared.h"

namespace ferry::cli_test {
namespace {

class PublishedText : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "shared is absent";
    cases_ = shared_dir() / "cases";
  }
  Result convert(const std::string& folder) {
    return ferry(folder_.path(), {"convert", (cases_ / folder).string(), "-o", "m.ferry"});
  }
  nlohmann::json expected(const std::string& name) const {
    return nlohmann::json::parse(std::ifstream(cases_ / name / "expected.json"));
  }

  std::filesystem::path cases_;
  ScratchFolder folder_;
};

TEST_F(PublishedText, BeginsAndEndsAsTransformersHasIt) {
  for (const char* name : {"ends-in-generation-config", "one-token-beyond-the-vocabulary"}) {
    const Result made = convert(std::string(name) + "/model");
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const nlohmann::json right = expected(name);
    std::string prompt;
    for (const int id : right["prompt"]) prompt += (prompt.empty() ? "" : ",") + std::to_string(id);
    const Result run = ferry(folder_.path(), {"run", "m.ferry", "--tokens", prompt, "--max-tokens", "32", "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    nlohmann::json tokens = nlohmann::json::parse(run.out)["tokens"];
    if (tokens.back() == 82) tokens.erase(tokens.size() - 1);  // the end itself
    EXPECT_EQ(tokens, right["greedy"]) << name;
  }
  EXPECT_REFUSED(ferry(folder_.path(), {"run", "m.ferry", "--tokens", "1,256"}), "token 256");
  ASSERT_EQ(convert("ends-in-generation-config-chat/folder").exit_code, 0);
  EXPECT_EQ(ferry(folder_.path(), {"chat", "m.ferry", "--temperature", "0", "--max-tokens", "12"}, "Hi\n").out, "OK\n");
  ASSERT_EQ(convert("tokenizer-longer-than-vocabulary/folder").exit_code, 0);
  const Result four = ferry(folder_.path(), {"run", "m.ferry", "--tokens", "65,66", "--max-tokens", "4", "--json"});
  EXPECT_EQ(nlohmann::json::parse(four.out)["tokens"].size(), 4u) << four.err;
  const std::string name = "bos-by-tokenizer-config";
  for (const char* which : {"with", "without"})
    EXPECT_EQ(nlohmann::json::parse(ferry(cases_ / name, {"tokenize", which, "texts.json", "--special"}).out),
              expected(name)[which]);
}

TEST_F(PublishedText, TheConversionSaysWhatIsMissing) {
  const Result ids_only = convert("silent-no-tokenizer/folder");
  EXPECT_EQ(ids_only.exit_code, 0) << ids_only.err;
  EXPECT_NE(ids_only.out.find("vocab.json, merges.txt: not read"), std::string::npos) << ids_only.out;
  const Result unusable = convert("unparseable-template/folder");
  EXPECT_EQ(unusable.exit_code, 0) << unusable.err;
  EXPECT_NE(unusable.out.find("the chat template cannot be used: line 1"), std::string::npos) << unusable.out;
  std::filesystem::copy(cases_ / "unknown-model-type" / "folder", folder_.path() / "unknown");
  nlohmann::json config = nlohmann::json::parse(std::ifstream(folder_.path() / "unknown" / "config.json"));
  config["model_type"] = "gemma99";
  folder_.write("unknown/config.json", config.dump());
  EXPECT_REFUSED(convert((folder_.path() / "unknown").string()),
                 "says model_type \"gemma99\", which Ferry does not know");
}

}  // namespace
}  // namespace ferry::cli_test
#endif  // FERRY_HAS_CONVERTER
