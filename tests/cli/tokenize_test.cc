// ferry tokenize: texts to ids and back, from a folder, and refusals.
#if defined(FERRY_HAS_CONVERTER)  // which compiles a folder's tokenizer
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace ferry::cli_test {
namespace {

using nlohmann::json;

TEST(Tokenize, TextsToIdsAndBack) {
  const ScratchFolder folder;
  const json fixture = json::parse(std::ifstream(source_folder() / "tests/data/tokenizers/bert.json"));
  folder.write("tokenizer.json", fixture["tokenizer"].dump());
  json texts = json::array(), ids = json::array(), special = json::array(), decoded = json::array(),
       skipped = json::array();
  for (const json& entry : fixture["texts"]) {
    texts.push_back(entry["text"]);
    ids.push_back(entry["ids"]);
    special.push_back(entry["ids_special"]);
    decoded.push_back(entry["decoded"]);
    skipped.push_back(entry["decoded_skip"]);
  }
  folder.write("texts.json", texts.dump());
  folder.write("ids.json", ids.dump());
  folder.write("special.json", special.dump());
  const auto run = [&folder](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"tokenize", "."});
    const Result result = ferry(folder.path(), arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out);
  };
  EXPECT_EQ(run({"texts.json"}), ids);
  EXPECT_EQ(run({"texts.json", "--special"}), special);
  EXPECT_EQ(run({"ids.json", "--decode"}), decoded);
  EXPECT_EQ(run({"special.json", "--decode", "--skip-special"}), skipped);
}

TEST(Tokenize, UnreadableInputsAreNamed) {
  const ScratchFolder folder;
  folder.write("texts.json", "[]");
  const auto refusal = [&folder](const std::vector<std::string>& arguments) {
    const Result result = ferry(folder.path(), arguments);
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_NE(refusal({"tokenize", ".", "texts.json"}).find("there is no tokenizer.json"), std::string::npos);
  const json fixture = json::parse(std::ifstream(source_folder() / "tests/data/tokenizers/bert.json"));
  folder.write("tokenizer.json", fixture["tokenizer"].dump());
  EXPECT_NE(refusal({"tokenize", ".", "none.json"}).find("none.json: cannot be read"), std::string::npos);
  folder.write("bad.json", "{}");
  EXPECT_NE(refusal({"tokenize", ".", "bad.json"}).find("it is not a JSON array"), std::string::npos);
  folder.write("bad.json", "[1]");
  EXPECT_NE(refusal({"tokenize", ".", "bad.json"}).find("entry 0 is not a text"), std::string::npos);
  folder.write("bad.json", "[[1000000]]");
  EXPECT_NE(refusal({"tokenize", ".", "bad.json", "--decode"}).find("none of the tokenizer's ids"), std::string::npos);
}

}  // namespace
}  // namespace ferry::cli_test

#endif  // FERRY_HAS_CONVERTER
