// tokenizer.model: results equal SentencePiece's (tests/data/sentencepiece/make.py), and refusals.
#include "converter/text/huggingface/sentencepiece.h"

#include <gtest/gtest.h>

#include <flatbuffers/flatbuffers.h>
#include <fstream>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/verify_text.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

class SentencePieceModel : public ::testing::TestWithParam<const char*> {};

TEST_P(SentencePieceModel, MatchesTheLibrary) {
  const fs::path folder = source_folder() / "tests/data/sentencepiece";
  const auto table = read_sentencepiece(folder, std::string(GetParam()) + ".model");
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::CreateTokenizer(builder, table.get()));
  const auto& read = *flatbuffers::GetRoot<fbs::Tokenizer>(builder.GetBufferPointer());
  const Status status = verify_tokenizer(read);
  ASSERT_TRUE(status.ok()) << status.message();
  std::unique_ptr<Tokenizer> tokenizer;
  ASSERT_TRUE(Tokenizer::create(read, &tokenizer).ok());
  std::ifstream file(folder / (std::string(GetParam()) + ".json"));
  const nlohmann::json rows = nlohmann::json::parse(file);
  ASSERT_GE(rows.size(), 29u);
  for (const nlohmann::json& row : rows) {
    SCOPED_TRACE(row["text"]);
    std::vector<int32_t> ids;
    EXPECT_TRUE(tokenizer->encode(row["text"].get<std::string>(), {.special = false}, &ids).ok());
    EXPECT_EQ(ids, row["ids"].get<std::vector<int32_t>>());
    // For the unknown piece SentencePiece writes " \u2047 ", Ferry U+FFFD.
    if (std::find(ids.begin(), ids.end(), read.unknown()) != ids.end()) continue;
    TextDecoder decoder(*tokenizer);
    std::string text;
    for (const int32_t id : ids) decoder.append(id, &text);
    decoder.finish(&text);
    EXPECT_EQ(text, row["decoded"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(OfTheLibrary, SentencePieceModel, ::testing::Values("bytes", "folded"),
                         [](const auto& test) { return std::string(test.param); });

// The refusal of a model of one piece with a charsmap of these trie units and texts.
std::string sentencepiece_refusal(const std::vector<uint32_t>& units, const std::string& texts) {
  const auto field = [](int number, const std::string& bytes) {
    std::string out(1, static_cast<char>(number << 3 | 2));
    for (size_t size = bytes.size();; size >>= 7) {
      out += static_cast<char>((size & 0x7F) | (size > 0x7F ? 0x80 : 0));
      if (size <= 0x7F) break;
    }
    return out + bytes;
  };
  const auto bytes = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::string map(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  map.append(reinterpret_cast<const char*>(units.data()), bytes);
  const ScratchFolder scratch;
  const fs::path path = scratch.path() / "tokenizer.model";
  std::ofstream(path, std::ios::binary) << field(1, field(1, "a")) + field(3, field(2, map + texts));
  try {
    read_sentencepiece(path.parent_path(), path.filename());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// A few kilobytes may not expand to gigabytes: all keys of two bytes, each with one long text.
TEST(SentencePieceCharsmap, KeysAndTextsHaveABound) {
  constexpr uint32_t kLeaf = 1u << 8;
  constexpr uint32_t kFirst = 256, kSecond = 512, kLast = 768;  // positions of the nodes of zero, one and two bytes
  std::vector<uint32_t> units(1024);
  units[0] = kFirst << 10;
  for (uint32_t byte = 1; byte < 256; ++byte) {
    units[kFirst ^ byte] = byte | kLeaf | (kFirst ^ byte ^ kSecond) << 10;
    units[kSecond ^ byte] = byte | kLeaf | (kSecond ^ byte ^ kLast) << 10;
  }
  units[kSecond] = units[kLast] = 1u << 31;  // text 0
  EXPECT_EQ(sentencepiece_refusal(units, std::string(1, '\0')), "");
  EXPECT_NE(sentencepiece_refusal(units, std::string(5000, 'x') + '\0')
                .find("its charsmap has keys and texts of more than 67108864"),
            std::string::npos);
  units[kSecond] = 1u << 31 | 77;
  EXPECT_NE(sentencepiece_refusal(units, "xyz").find("its charsmap refers to text 77 of 3 bytes"), std::string::npos);
  EXPECT_NE(sentencepiece_refusal({}, "").find("its charsmap of 4 bytes has no array"), std::string::npos);
}

}  // namespace
}  // namespace ferry::testing
