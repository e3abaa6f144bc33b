// Which ids end a text, by the configuration files beside a checkpoint; what tokenizer classes add to a text. The
// expectations are those of transformers' generate() and of the fast tokenizers of transformers 4.57.
#include "converter/text/ends.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "converter/text/huggingface/tokenizer.h"
#include "converter/text/text_files.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

using nlohmann::json;
using Ids = std::vector<int>;

constexpr const char* kTokenizer = R"({"added_tokens": [{"content": "<s>", "special": true},
  {"content": "</s>", "special": true}], "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0, "b": 1}}})";

struct EndsCase {
  const char* name;
  const char* generation;  // generation_config.json; null: there is none
  const char* config;      // config.json
  Ids ends;
  const char* note = "";  // in the notes
};

class EndsTest : public ::testing::TestWithParam<EndsCase> {};

TEST_P(EndsTest, AreThoseOfGenerate) {
  const EndsCase& c = GetParam();
  const ScratchFolder folder;
  if (c.generation != nullptr) folder.write("generation_config.json", std::string_view(c.generation));
  fbs::TextT text;
  std::vector<std::string> notes;
  add_ends(folder.path(), json::parse(c.config), 100, &text, &notes);
  EXPECT_EQ(text.ends, c.ends);
  std::string all;
  for (const std::string& note : notes) all += note + "\n";
  EXPECT_EQ(all.empty(), *c.note == '\0') << all;
  EXPECT_NE(all.find(c.note), std::string::npos) << all;
}

INSTANTIATE_TEST_SUITE_P(
    Files, EndsTest,
    ::testing::Values(
        EndsCase{"a_number", R"({"eos_token_id": 82})", R"({"eos_token_id": 5})", {82}},
        EndsCase{"a_list", R"({"eos_token_id": [7, 5, 7]})", "{}", {7, 5}},
        EndsCase{"null", R"({"eos_token_id": null})", R"({"eos_token_id": 5})", {}},
        EndsCase{"minus_one", R"({"eos_token_id": -1})", R"({"eos_token_id": 5})", {}},
        EndsCase{"minus_one_in_a_list", R"({"eos_token_id": [-1, 9]})", "{}", {9}},
        EndsCase{"an_empty_list", R"({"eos_token_id": []})", R"({"eos_token_id": 5})", {}},
        EndsCase{"padding_ends_nothing", R"({"eos_token_id": 3, "pad_token_id": 4})", "{}", {3}},
        EndsCase{"beyond_the_vocabulary", R"({"eos_token_id": [3, 100]})", "{}", {3}, "token 100"},
        EndsCase{"far_beyond", R"({"eos_token_id": 18446744073709551615})", "{}", {}, "never generated"},
        EndsCase{"silent", R"({"do_sample": true})", R"({"eos_token_id": 5})", {}, "config.json has 5"},
        EndsCase{"config", nullptr, R"({"eos_token_id": [5, 6]})", {5, 6}},
        EndsCase{"config_minus_one", nullptr, R"({"eos_token_id": -1})", {}},
        EndsCase{"text_config", nullptr, R"({"text_config": {"eos_token_id": 8}})", {8}},
        EndsCase{
            "outer_before_text_config", nullptr, R"({"eos_token_id": 5, "text_config": {"eos_token_id": 8}})", {5}},
        EndsCase{
            "null_before_text_config", nullptr, R"({"eos_token_id": null, "text_config": {"eos_token_id": 8}})", {8}},
        EndsCase{"nothing", nullptr, "{}", {}}),
    [](const auto& which) { return std::string(which.param.name); });

TEST(Ends, OfDamagedFilesAreRefused) {
  for (const char* generation : {"{", "[]", R"({"eos_token_id": "82"})", R"({"eos_token_id": 1.5})",
                                 R"({"eos_token_id": [1, null]})", R"({"eos_token_id": true})"}) {
    const ScratchFolder folder;
    folder.write("generation_config.json", std::string_view(generation));
    fbs::TextT text;
    std::vector<std::string> notes;
    EXPECT_THROW(add_ends(folder.path(), json::object(), 100, &text, &notes), Error) << generation;
  }
}

// The tokenizer's eos_token, 3, beside what the files say.
TEST(Ends, TheTokenizersCountsIfNoFileHasOneAndInChats) {
  struct {
    const char *generation, *chat;
    Ids ends;
  } const kCases[] = {{nullptr, "", {3}},
                      {R"({"eos_token_id": 1})", "", {1}},
                      {R"({"eos_token_id": 1})", "{{ messages }}", {1, 3}},
                      {R"({"eos_token_id": -1})", "{{ messages }}", {}}};
  for (const auto& c : kCases) {
    const ScratchFolder folder;
    folder.write("tokenizer.json", std::string_view(kTokenizer));
    folder.write("tokenizer_config.json", json{{"eos_token", "</s>"}, {"chat_template", c.chat}}.dump());
    if (c.generation != nullptr) folder.write("generation_config.json", std::string_view(c.generation));
    std::vector<std::string> notes;
    const fbs::TextT text = text_of_model(folder.path(), json::object(), 3, &notes);
    Ids all = text.tokenizer->eos;
    all.insert(all.end(), text.ends.begin(), text.ends.end());
    Ids expected = c.ends;  // 3 is a piece, but beyond the three logits
    std::erase(expected, 3);
    EXPECT_EQ(all, expected);
    std::vector<std::string> none;
    EXPECT_EQ(text_of_model(folder.path(), json::object(), 4, &none).tokenizer->eos, c.ends);
  }
}

// Ids of "a" with special tokens: <s> is 2, </s> is 3.
TEST(TokenizerClass, DecidesWhatIsAddedToATexts) {
  const json begin = json::parse(R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}},
    {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [2]}}})");
  struct {
    const char* config;
    bool template_begins;
    Ids before, after;
  } const kCases[] = {
      {R"({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": true})", false, {2}, {}},
      {R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false, "add_eos_token": true})", true, {}, {3}},
      {R"({"tokenizer_class": "LlamaTokenizerFast"})", false, {2}, {}},
      {R"({"tokenizer_class": "LlamaTokenizer", "backend": "tokenizers"})", false, {}, {}},
      {R"({"tokenizer_class": "GemmaTokenizerFast", "bos_token": {"content": "<s>"}})", false, {2}, {}},
      {R"({"tokenizer_class": "GPTNeoXTokenizerFast", "bos_token": "<s>"})", true, {}, {}},
      {R"({"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": true, "bos_token": "<s>"})", false, {}, {}},
      {R"({"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": false, "bos_token": "<s>"})", true, {2}, {}},
      {R"({"tokenizer_class": "Qwen2Tokenizer", "add_bos_token": false})", true, {2}, {}},
      {R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": null, "add_bos_token": true})", true, {}, {}}};
  for (const auto& c : kCases) {
    const ScratchFolder folder;
    json tokenizer = json::parse(kTokenizer);
    if (c.template_begins) tokenizer["post_processor"] = begin;
    folder.write("tokenizer_config.json", std::string_view(c.config));
    std::vector<std::string> notes;
    folder.write("tokenizer.json", tokenizer.dump());
    const auto table = read_huggingface_tokenizer(folder.path(), "tokenizer.json", &notes);
    EXPECT_EQ(table->before, c.before) << c.config;
    EXPECT_EQ(table->after, c.after) << c.config;
  }
}

TEST(TextOfModel, NotesWhatIsMissingOrUnusable) {
  const ScratchFolder folder;
  folder.write("vocab.json", std::string_view("{}"));
  folder.write("chat_template.jinja", std::string_view("{% if %}x"));
  std::vector<std::string> notes;
  text_of_model(folder.path(), json::object(), 10, &notes);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("accepts token ids only (vocab.json: not read"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("the chat template cannot be used: line 1"), std::string::npos) << notes[1];
}

}  // namespace
}  // namespace ferry
