// Published shapes are converted, opened and run: whole networks, and of the largest language models the first layers,
// with their own widths, vocabularies and experts. The weights are zeros in holes; published_runs.py has random ones.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "sdk/image/codec.h"
#include "tests/cli/command.h"
#include "tests/support/published_shapes.h"

namespace ferry::cli_test {
namespace {

struct PublishedRun {
  const char* name;
  int layers = 0;  // of a language model; 0: all
  std::vector<std::string> options{};
  std::vector<std::string> run = {"--tokens", "1,2", "--max-tokens", "2", "--json"};
};

std::ostream& operator<<(std::ostream& out, const PublishedRun& published) { return out << published.name; }

std::string name_of(const ::testing::TestParamInfo<PublishedRun>& tested) {
  std::string name = tested.param.name;
  for (char& c : name)
    if (c == '-' || c == '.') c = '_';
  return name;
}

const std::vector<std::string> kInt4 = {"--weights", "i4"}, kInt8 = {"--weights", "i8"};
const std::vector<std::string> kImage = {"image.png", "--top", "1", "--json"};

const PublishedRun kSmall[] = {
    {"smollm2-135m", 0, kInt4},
    {"efficientnet-b7", 0, {"--weights", "f16"}, kImage},
};

[[maybe_unused]] const PublishedRun kLarge[] = {
    {"llama-3.1-8b", 1, {"--weights", "i4", "--max-length", "131072"}},
    {"mistral-7b-v0.3", 2, kInt4},
    {"qwen2.5-0.5b", 0, kInt4},
    {"qwen3-0.6b", 0, kInt4},
    {"smollm3-3b", 4, kInt4},
    {"phi-4-mini", 2, kInt4},
    {"gemma-2-2b", 2, {"--weights", "i4", "--max-length", "8192"}},
    {"gemma-3-4b", 6, {"--weights", "i4", "--max-length", "131072"}},
    {"mixtral-8x7b", 1, kInt4},
    {"qwen3-30b-a3b", 1, kInt4},
    {"qwen3-next-80b-a3b", 1, kInt4},
    {"gpt-oss-20b", 1, kInt4},
    {"qwen3-vl-2b", 2, kInt4},
    {"vit-huge-patch14", 0, kInt8, kImage},
    {"convnext-xxlarge", 0, kInt8, kImage},
    {"dinov2-giant", 0, {"--weights", "i8", "--input-size", "224x224"}, kImage},
    {"sam-vit-huge", 0, kInt8, {"image.png", "--point", "100,100", "--json", "-o", "mask.png"}},
};

void expect_run(const PublishedRun& published) {
  const ScratchFolder folder;
  const std::filesystem::path checkpoint = folder.path() / "checkpoint";
  std::filesystem::create_directory(checkpoint);
  testing::make_published_checkpoint(published.name, checkpoint, published.layers);
  std::vector<uint8_t> pixels(3 * 400 * 300);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 7 % 251);
  ASSERT_TRUE(image::save_png({pixels.data(), 400, 300, 3, 3 * 400}, (folder.path() / "image.png").c_str()).ok());
  std::vector<std::string> convert = {"convert", "checkpoint", "-o", "model.ferry"};
  convert.insert(convert.end(), published.options.begin(), published.options.end());
  const Result converted = ferry(folder.path(), convert);
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  std::vector<std::string> run = {"run", "model.ferry", "--no-cache"};
  run.insert(run.end(), published.run.begin(), published.run.end());
  const Result ran = ferry(folder.path(), run);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const nlohmann::json answer = nlohmann::json::parse(ran.out);
  if (published.run.front() == "--tokens") {
    EXPECT_EQ(answer["tokens"].size(), 2u) << ran.out;
  }
}

class PublishedRuns : public ::testing::TestWithParam<PublishedRun> {};
TEST_P(PublishedRuns, AreConvertedAndRun) { expect_run(GetParam()); }
INSTANTIATE_TEST_SUITE_P(PublishedRuns, PublishedRuns, ::testing::ValuesIn(kSmall), name_of);

#if !defined(FERRY_SANITIZED)  // minutes, on paths that the others take
class LargePublishedRuns : public PublishedRuns {};
TEST_P(LargePublishedRuns, AreConvertedAndRun) { expect_run(GetParam()); }
INSTANTIATE_TEST_SUITE_P(LargePublishedRuns, LargePublishedRuns, ::testing::ValuesIn(kLarge), name_of);
#endif

// Of so many entries, the last of which is an added token. "ab" is a merge; all else is made up.
std::string tokenizer_of(int entries) {
  std::string vocabulary = R"({"<pad>": 0, "<eos>": 1, "<bos>": 2, "<unk>": 3, "a": 4, "b": 5, "c": 6, "ab": 7)";
  for (int i = 8; i < entries - 1; ++i) vocabulary += ", \"piece" + std::to_string(i) + "\": " + std::to_string(i);
  const auto special = [](int id, const char* content) {
    return nlohmann::json{{"id", id},        {"content", content}, {"special", true},    {"single_word", false},
                          {"lstrip", false}, {"rstrip", false},    {"normalized", false}};
  };
  const nlohmann::json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const nlohmann::json begin = {{"SpecialToken", {{"id", "<bos>"}, {"type_id", 0}}}};
  const nlohmann::json all = {
      {"version", "1.0"},
      {"added_tokens",
       {special(0, "<pad>"), special(1, "<eos>"), special(2, "<bos>"), special(3, "<unk>"),
        special(entries - 1, "<image_soft_token>")}},
      {"normalizer", nullptr},
      {"pre_tokenizer", nullptr},
      {"post_processor",
       {{"type", "TemplateProcessing"},
        {"single", {begin, text}},
        {"pair", {begin, text}},
        {"special_tokens", {{"<bos>", {{"id", "<bos>"}, {"ids", {2}}, {"tokens", {"<bos>"}}}}}}}},
      {"decoder", {{"type", "Fuse"}}},
      {"model",
       {{"type", "BPE"},
        {"unk_token", "<unk>"},
        {"fuse_unk", true},
        {"vocab", "VOCABULARY"},
        {"merges", nlohmann::json::array({nlohmann::json::array({"a", "b"})})}}}};
  std::string written = all.dump();
  const std::string_view place = "\"VOCABULARY\"";
  return written.replace(written.find(place), place.size(), vocabulary + "}");
}

// Gemma 3's tokenizer has the token of an image, for which the text models' embeddings have no row.
TEST(PublishedTokenizer, MayHaveAnEntryMoreThanTheEmbedding) {
  const ScratchFolder folder;
  const std::filesystem::path checkpoint = folder.path() / "gemma";
  std::filesystem::create_directory(checkpoint);
  testing::make_published_checkpoint("gemma-3-270m", checkpoint);
  std::ofstream(checkpoint / "tokenizer.json") << tokenizer_of(262145);
  const Result converted = ferry(folder.path(), {"convert", "gemma", "-o", "gemma.ferry", "--weights", "i4"});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  const auto run = [&](const char* prompt) {
    return ferry(folder.path(),
                 {"run", "gemma.ferry", "--no-cache", "--prompt", prompt, "--max-tokens", "2", "--json"});
  };
  const nlohmann::json answer = nlohmann::json::parse(run("abc").out);
  EXPECT_EQ(answer["prompt"], (std::vector<int>{2, 7, 6}));
  EXPECT_EQ(answer["tokens"].size(), 2u);
  const Result refused = run("abc<image_soft_token>");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("token 262144 ('<image_soft_token>') is not in the model's vocabulary of 262144"),
            std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace ferry::cli_test
