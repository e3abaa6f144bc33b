// Text to token ids and back: SentencePiece's BPE merges, arbitrary bytes, characters split over tokens; and a message
// for every fault of a tokenizer in a blob.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <limits>

#include "converter/text/llama2c_tokenizer.h"
#include "converter/text/pieces.h"
#include "sdk/model/model.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/utf8.h"
#include "sdk/text/verify_text.h"
#include "tests/shared.h"

namespace ferry::testing {
namespace {

using Ids = std::vector<int32_t>;
using Kind = fbs::PieceKind;

// A table as stored in a blob, and its tokenizer.
class Made {
 public:
  explicit Made(const fbs::TokenizerT& table) {
    builder_.Finish(fbs::CreateTokenizer(builder_, &table));
    const Status status = verify_tokenizer(this->table());
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(Tokenizer::create(this->table(), &tokenizer_).ok());
  }
  const fbs::Tokenizer& table() const { return *flatbuffers::GetRoot<fbs::Tokenizer>(builder_.GetBufferPointer()); }
  const Tokenizer& operator*() const { return *tokenizer_; }

  Ids encode(std::string_view text, Tokenizer::Options options = {}) const {
    Ids ids;
    const Status status = tokenizer_->encode(text, options, &ids);
    EXPECT_TRUE(status.ok()) << status.message();
    return ids;
  }
  std::string decode(const Ids& ids) const {
    TextDecoder decoder(*tokenizer_);
    std::string text;
    for (const int32_t id : ids) decoder.append(id, &text);
    decoder.finish(&text);
    return text;
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

void add(fbs::TokenizerT& table, const std::string& piece, double score = 0, Kind kind = Kind::Normal) {
  add_piece(&table, piece, score, kind);
}

std::string byte_piece(int byte) {
  char piece[8];
  std::snprintf(piece, sizeof piece, "<0x%02X>", byte);
  return piece;
}

// Ids 0 to 2 as in llama2.c, 3 to 258 bytes, then the pieces with decreasing scores.
fbs::TokenizerT table_of(const std::vector<std::string>& pieces) {
  fbs::TokenizerT table;
  add(table, "<unk>", 0, Kind::Unknown);
  add(table, "<s>", 0, Kind::Control);
  add(table, "</s>", 0, Kind::Control);
  for (int byte = 0; byte < 256; ++byte) add(table, byte_piece(byte), 0, Kind::Byte);
  for (const std::string& piece : pieces) add(table, piece, -static_cast<double>(table.pieces.size()));
  index_pieces(&table);
  table.bos = 1;
  table.before = {1};
  table.eos = {2};
  return table;
}

constexpr Tokenizer::Options kNothing = {.special = false, .beginning = false};

TEST(TokenizerTest, JoinsThePairWithTheHighestScoreFirst) {
  const Made t(table_of({"bc", "ab", "a", "b", "c", "abc"}));
  EXPECT_EQ(t.encode("abc", kNothing), (Ids{264}));  // a bc, then abc
  EXPECT_EQ(t.encode("abab", kNothing), (Ids{260, 260}));
  EXPECT_EQ(t.encode("ababc", kNothing), (Ids{260, 264}));
}

TEST(TokenizerTest, OfEqualPairsTheLeftmostIsJoined) {
  const Made t(table_of({"aa", "a"}));
  EXPECT_EQ(t.encode("aaaaa", kNothing), (Ids{259, 259, 260}));
}

TEST(TokenizerTest, MergesMayStartFromUnknownCharacters) {
  // SentencePiece merges characters before it checks which of them are pieces.
  const Made t(table_of({"xy"}));
  EXPECT_EQ(t.encode("xy", kNothing), (Ids{259}));
  EXPECT_EQ(t.encode("yx", kNothing), (Ids{3 + 'y', 3 + 'x'}));
}

TEST(TokenizerTest, BeginsWithBosAndASpaceWhereTheTableSaysSo) {
  fbs::TokenizerT table = table_of({"a", " a", " "});
  EXPECT_EQ(Made(table).encode("a"), (Ids{1, 259}));
  begin_with_space(&table);
  const Made t(table);
  EXPECT_EQ(t.encode("a"), (Ids{1, 260}));
  EXPECT_EQ(t.encode("a", kNothing), (Ids{259}));
  EXPECT_EQ(t.encode(""), (Ids{1}));
  EXPECT_EQ(t.decode({1, 260, 260}), "a a");
}

TEST(TokenizerTest, ControlPiecesAreNoText) {
  const Made t(table_of({"<", "s", ">", "<s", "<s>"}));
  EXPECT_EQ(t.encode("<s>", kNothing), (Ids{263}));
  EXPECT_EQ(t.decode({1, 259, 2}), "<");
  EXPECT_TRUE((*t).ends_text(2));
  EXPECT_FALSE((*t).ends_text(1));
}

TEST(TokenizerTest, TakesAnyBytes) {
  const Made t(table_of({"a", "\xC3\xA9"}));
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  const Ids ids = t.encode(text, kNothing);
  EXPECT_EQ(ids.size(), 256u);
  EXPECT_EQ(ids['a'], 259);
  EXPECT_EQ(ids[0xFF], 3 + 0xFF);
  EXPECT_EQ(t.encode("\xC3\xA9\xC3", kNothing), (Ids{260, 3 + 0xC3}));
}

TEST(TokenizerTest, UnknownCharactersGiveOneUnknownEach) {
  fbs::TokenizerT table;
  add(table, "a");
  add(table, "?", 0, Kind::Unknown);
  index_pieces(&table);
  const Made t(table);
  EXPECT_EQ(t.encode("a\xE2\x82\xAC"
                     "a"),
            (Ids{0, 1, 0}));
  EXPECT_EQ(t.decode({0, 1, 0}),
            "a\xEF\xBF\xBD"
            "a");

  table.kinds[1] = Kind::Control;
  table.unknown = -1;
  const Made without(table);
  Ids ids;
  const Status status = (*without).encode("b", {}, &ids);
  EXPECT_EQ(status.code(), FERRY_UNSUPPORTED);
  EXPECT_NE(status.message().find("0x62"), std::string::npos) << status.message();
}

TEST(TokenizerTest, ALongTextTakesNLogN) {
  // Every merge creates two new pairs: searching the whole text for each would take hours.
  std::vector<std::string> pieces;
  for (size_t length = 256; length > 0; length /= 2) pieces.push_back(std::string(length, 'a'));
  const Made t(table_of(pieces));
  const std::string text(1 << 20, 'a');
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(t.encode(text, kNothing), Ids(4096, 259));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  Ids ids;
  EXPECT_EQ((*t).encode(std::string(Tokenizer::kMaxTextBytes + 1, 'a'), {}, &ids).code(), FERRY_INVALID_ARGUMENT);
}

TEST(TextDecoderTest, GivesWholeCharactersOnly) {
  const Made t(table_of({"\xE2\x82\xAC", "x"}));
  TextDecoder decoder(*t);
  std::string text;
  for (const int byte : {0xF0, 0x9F, 0x99}) decoder.append(3 + byte, &text);
  EXPECT_EQ(text, "");
  decoder.append(3 + 0x82, &text);
  EXPECT_EQ(text, "\xF0\x9F\x99\x82");
  decoder.append(259, &text);
  EXPECT_EQ(text, "\xF0\x9F\x99\x82\xE2\x82\xAC");
  decoder.append(3 + 0xE2, &text);
  decoder.append(260, &text);  // completes the pending character
  EXPECT_EQ(text, "\xF0\x9F\x99\x82\xE2\x82\xAC\xEF\xBF\xBDx");
  decoder.append(3 + 0xE2, &text);
  decoder.append(3 + 0x82, &text);
  decoder.finish(&text);
  EXPECT_EQ(text, "\xF0\x9F\x99\x82\xE2\x82\xAC\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8Test, DistinguishesValidFromIllFormed) {
  const std::pair<std::string_view, int> cases[] = {
      {"a", 1},
      {"\xC3\xA9!", 2},
      {"\xE2\x82\xAC", 3},
      {"\xF0\x9F\x99\x82", 4},
      {"\xE2\x82", kIncomplete},
      {"\xF0\x9F\x99", kIncomplete},
      {"\xC3", kIncomplete},
      {"\x80", kIllFormed},
      {"\xC0\xAF", kIllFormed},          // overlong
      {"\xE0\x80\xAF", kIllFormed},      // overlong
      {"\xED\xA0\x80", kIllFormed},      // a surrogate
      {"\xF4\x90\x80\x80", kIllFormed},  // above U+10FFFF
      {"\xF5", kIllFormed},
      {"\xE2\x28", kIllFormed},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(character_bytes(text), bytes) << ::testing::PrintToString(text);
}

// ---- the real one: ids as run.c of llama2.c (commit 350e04f) gives them

TEST(Stories260kTokenizerTest, EncodesAsLlama2c) {
  const auto file = shared_dir() / "weights/stories260k/tok512.bin";
  if (shared_dir().empty()) GTEST_SKIP() << "shared is absent";
  const Made t(*read_llama2c_tokenizer(file, 512));
  const std::pair<std::string, Ids> cases[] = {
      {"Once upon a time", {1, 403, 407, 261, 378}},
      {"Hello, world!", {1, 346, 306, 414, 432, 263, 304, 341, 443}},
      {"", {1}},
      {"  two  spaces", {1, 410, 410, 259, 424, 414, 410, 262, 427, 412, 331, 419}},
      {"na\xC3\xAFve caf\xC3\xA9 \xE2\x80\x94 10\xE2\x82\xAC \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E \xF0\x9F\x99\x82",
       {1,   297, 412, 198, 178, 360, 280, 412, 431, 485, 410, 481, 410, 475, 477, 503,
        410, 233, 154, 168, 233, 159, 175, 235, 173, 161, 410, 243, 162, 156, 133}},
      {"line one\nline two\tTab", {1, 278, 271, 411, 353, 411, 13, 421, 271, 411, 259, 424, 414, 12, 434, 412, 430}},
      {"Lily and Tom's dog said: \"Wow!\"",
       {1, 317, 269, 274, 287, 439, 419, 400, 428, 336, 467, 313, 448, 327, 443, 436}},
      {"the then there", {1, 265, 265, 416, 383}},
      {"\xFF\xFE bad \xE2\x82 end", {1, 410, 258, 257, 268, 380, 410, 229, 133, 344, 264}},
  };
  for (const auto& [text, ids] : cases) {
    EXPECT_EQ(t.encode(text), ids) << text;
    if (text[0] != '\xFF') {
      EXPECT_EQ(t.decode(ids), text);
    }
  }
}

// ---- what a blob may not say

struct Fault {
  const char* name;
  std::function<void(fbs::TokenizerT&)> plant;
  ferry_status code;
  const char* words;
};

// The only step of these tables' program.
fbs::PatternT& step(fbs::TokenizerT& table) { return *table.normalizer[0]->kind.AsReplace()->pattern; }

TEST(VerifyTokenizerTest, ReportsFaults) {
  const Fault faults[] = {
      {"no pieces", [](auto& t) { t.pieces.clear(), t.scores.clear(), t.kinds.clear(); }, FERRY_CORRUPT, "0 pieces"},
      {"scores", [](auto& t) { t.scores.pop_back(); }, FERRY_CORRUPT, "260 scores for 261 pieces"},
      {"kinds", [](auto& t) { t.kinds.pop_back(); }, FERRY_CORRUPT, "260 kinds for 261 pieces"},
      {"kind", [](auto& t) { t.kinds[5] = static_cast<Kind>(9); }, FERRY_UNSUPPORTED, "the kind 9 of piece 5"},
      {"tokenizer", [](auto& t) { t.kind = static_cast<fbs::TokenizerKind>(7); }, FERRY_UNSUPPORTED, "its kind 7"},
      {"long piece", [](auto& t) { t.pieces[260].assign(4097, 'a'); }, FERRY_CORRUPT, "piece 260 has 4097 bytes"},
      {"byte of two", [](auto& t) { t.pieces[3] = "ab"; }, FERRY_CORRUPT, "piece 3 stands for a byte"},
      {"byte of none", [](auto& t) { t.pieces[3] = ""; }, FERRY_CORRUPT, "has 0 bytes, expected 6"},
      {"bytes", [](auto& t) { t.bytes.pop_back(); }, FERRY_CORRUPT, "the pieces of 255 bytes, expected 256"},
      {"byte", [](auto& t) { t.bytes[7] = 261; }, FERRY_CORRUPT, "the piece of a byte is 261"},
      {"order", [](auto& t) { t.order[0] = 261; }, FERRY_CORRUPT, "order is 261"},
      {"unknown", [](auto& t) { t.unknown = 261; }, FERRY_CORRUPT, "unknown is 261"},
      {"before", [](auto& t) { t.before = {-1}; }, FERRY_CORRUPT, "before 0 is -1"},
      {"after", [](auto& t) { t.after = {261}; }, FERRY_CORRUPT, "after 0 is 261"},
      {"jump",
       [](auto& t) {
         step(t).program[0] = {fbs::PatternOp::Jump, false, 2, 0};
       },
       FERRY_CORRUPT, "goes on behind its 2"},
      {"split",
       [](auto& t) {
         step(t).program[0] = {fbs::PatternOp::Split, false, 0, 9};
       },
       FERRY_CORRUPT, "goes on behind its 2"},
      {"no end",
       [](auto& t) {
         step(t).program[1] = {fbs::PatternOp::Class, false, 0, 0};
       },
       FERRY_CORRUPT, "goes on behind its 2"},
      {"class",
       [](auto& t) {
         step(t).program[0] = {fbs::PatternOp::Class, false, 1, 0};
       },
       FERRY_CORRUPT, "names class 1 of 1"},
      {"operation",
       [](auto& t) {
         step(t).program[0] = {static_cast<fbs::PatternOp>(99), false, 0, 0};
       },
       FERRY_UNSUPPORTED, "operation 99"},
      {"no program", [](auto& t) { step(t).program.clear(); }, FERRY_CORRUPT, "has 0 instructions"},
      {"set", [](auto& t) { step(t).classes[0]->ascii.pop_back(); }, FERRY_CORRUPT, "class 0 of the normalizer"},
      {"strip", [](auto& t) { t.decoder->strip.clear(); }, FERRY_CORRUPT, "loses 1 times nothing"},
      {"merges",
       [](auto& t) {
         t.merges = {{1, 0}};
       },
       FERRY_CORRUPT, "1 merges and ends of 0 pieces"},
      {"merge ends",
       [](auto& t) {
         t.merges = {{1, 0}}, t.merge_ends.assign(261, 2);
       },
       FERRY_CORRUPT, "end at 2"},
      {"rank",
       [](auto& t) {
         t.merges = {{1, 5}}, t.merge_ends.assign(261, 1);
       },
       FERRY_CORRUPT, "has rank 5 of 0"},
      {"score", [](auto& t) { t.scores[7] = std::numeric_limits<float>::quiet_NaN(); }, FERRY_CORRUPT,
       "the score of piece 7"},
      {"bos", [](auto& t) { t.bos = 261; }, FERRY_CORRUPT, "bos is 261"},
      {"bos below", [](auto& t) { t.bos = -2; }, FERRY_CORRUPT, "bos is -2"},
      {"eos",
       [](auto& t) {
         t.eos = {2, -1};
       },
       FERRY_CORRUPT, "eos 1 is -1"},
      {"ends", [](auto& t) { t.eos.assign(257, 2); }, FERRY_CORRUPT, "257 ids end a text"},
  };
  for (const Fault& fault : faults) {
    fbs::TokenizerT table = table_of({"a", "b"});
    begin_with_space(&table);
    fault.plant(table);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::CreateTokenizer(builder, &table));
    const Status status = verify_tokenizer(*flatbuffers::GetRoot<fbs::Tokenizer>(builder.GetBufferPointer()));
    EXPECT_EQ(status.code(), fault.code) << fault.name << ": " << status.message();
    EXPECT_NE(status.message().find(fault.words), std::string::npos) << fault.name << ": " << status.message();
  }
}

TEST(VerifyTokenizerTest, ListsThatAreAbsentAreEmpty) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::CreateTokenizer(builder));
  EXPECT_EQ(verify_tokenizer(*flatbuffers::GetRoot<fbs::Tokenizer>(builder.GetBufferPointer())).code(), FERRY_CORRUPT);
}

// The same table with its scores moved by four bytes; no builder writes that.
TEST(TokenizerTest, UnalignedScoresAreRefused) {
  const fbs::TokenizerT table = table_of({"a"});
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::CreateTokenizer(builder, &table));
  std::vector<double> memory((builder.GetSize() + 8 * table.scores.size()) / 8 + 4);
  auto* bytes = reinterpret_cast<uint8_t*>(memory.data());
  std::memcpy(bytes, builder.GetBufferPointer(), builder.GetSize());
  const auto& moved = *flatbuffers::GetRoot<fbs::Tokenizer>(bytes);
  const auto* list = reinterpret_cast<const uint8_t*>(moved.scores());
  ASSERT_EQ(reinterpret_cast<uintptr_t>(moved.scores()->Data()) % 8, 0u);
  const size_t place = (builder.GetSize() + 7) / 8 * 8;  // of the length; elements start at 4 modulo 8
  std::memcpy(bytes + place, list, 4 + 8 * table.scores.size());
  const auto& fields = reinterpret_cast<const flatbuffers::Table&>(moved);
  const auto field =
      reinterpret_cast<const uint8_t*>(&moved) - bytes + fields.GetOptionalFieldOffset(fbs::Tokenizer::VT_SCORES);
  const auto offset = static_cast<uint32_t>(place - static_cast<size_t>(field));
  std::memcpy(bytes + field, &offset, sizeof offset);
  flatbuffers::Verifier verifier(bytes, 8 * memory.size());
  ASSERT_TRUE(verifier.VerifyBuffer<fbs::Tokenizer>(nullptr)) << "flatbuffers sees nothing wrong";
  const Status status = verify_tokenizer(moved);
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_EQ(status.message(), "tokenizer: its scores do not lie at a multiple of 8 bytes");
}

}  // namespace
}  // namespace ferry::testing
