// llama2.c's tokenizer files: valid ones are read, all others refused.
#include "converter/text/llama2c_tokenizer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "converter/error.h"
#include "converter/text/text_files.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

constexpr int kVocabulary = 262;

void put(std::string& bytes, auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }

void put_piece(std::string& bytes, float score, const std::string& piece) {
  put(bytes, score);
  put(bytes, static_cast<int32_t>(piece.size()));
  bytes += piece;
}

// As llama2.c's tokenizer.py writes it: 262 pieces, the last ones " t", "he" and "\n".
std::string file_bytes() {
  std::string bytes;
  put(bytes, int32_t{6});
  for (const char* piece : {"<unk>", "\n<s>\n", "\n</s>\n"}) put_piece(bytes, 0, piece);
  for (int byte = 0; byte < 256; ++byte) {
    char piece[8];
    std::snprintf(piece, sizeof piece, "<0x%02X>", byte);
    put_piece(bytes, 0, piece);
  }
  put_piece(bytes, -0.0f, " t");
  put_piece(bytes, -1, "he");
  put_piece(bytes, -2, "\n");
  return bytes;
}

std::string llama2c_refusal(const std::string& bytes, int vocabulary = kVocabulary) {
  const ScratchFolder folder;
  try {
    read_llama2c_tokenizer(folder.write("tokenizer.bin", bytes), vocabulary);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Llama2cTokenizer, IsReadPieceByPiece) {
  const ScratchFolder folder;
  const auto table = read_llama2c_tokenizer(folder.write("tokenizer.bin", file_bytes()), kVocabulary);
  ASSERT_EQ(table->pieces.size(), 262u);
  EXPECT_EQ(table->kinds[0], fbs::PieceKind::Unknown);
  EXPECT_EQ(table->kinds[1], fbs::PieceKind::Control);
  EXPECT_EQ(table->kinds[3 + 0x41], fbs::PieceKind::Byte);
  EXPECT_EQ(table->pieces[3 + 0x41], "<0x41>");
  EXPECT_EQ(table->pieces[3], "<0x00>");
  EXPECT_EQ(table->bytes[0x41], 3 + 0x41);
  EXPECT_EQ(table->pieces[259], " t");
  EXPECT_EQ(table->scores[260], -1);
  EXPECT_EQ(table->bos, 1);
  EXPECT_EQ(table->before, std::vector<int>{1});
  EXPECT_EQ(table->normalizer.size(), 1u);
}

TEST(Llama2cTokenizer, LiesBesideTheCheckpoint) {
  std::vector<std::string> notes;
  const ScratchFolder folder;
  EXPECT_EQ(text_in(folder.path(), kVocabulary, &notes), nullptr);
  folder.write("tokenizer.bin", "another one");
  EXPECT_THROW(text_in(folder.path(), kVocabulary, &notes), Error);
  folder.write("tok262.bin", file_bytes());
  EXPECT_NE(text_in(folder.path(), kVocabulary, &notes), nullptr);
}

TEST(Llama2cTokenizer, AnyOtherFileIsRefusedWithAMessage) {
  const std::string good = file_bytes();
  EXPECT_EQ(llama2c_refusal(good), "");
  EXPECT_NE(llama2c_refusal(good, 261).find("9 bytes follow the 261 pieces"), std::string::npos)
      << llama2c_refusal(good, 261);
  EXPECT_NE(llama2c_refusal(good, 263).find("it ends inside piece 262"), std::string::npos)
      << llama2c_refusal(good, 263);
  EXPECT_NE(llama2c_refusal(good, 100).find("a vocabulary of 100"), std::string::npos);
  EXPECT_NE(llama2c_refusal(good, -1).find("a vocabulary of -1"), std::string::npos);
  for (size_t size = 0; size < good.size(); size += size < 64 ? 1 : 61)
    EXPECT_NE(llama2c_refusal(good.substr(0, size)), "") << size;

  const auto with = [&good](size_t at, auto value) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return bytes;
  };
  EXPECT_NE(llama2c_refusal(with(0, int32_t{-1})).find("the longest piece has -1 bytes"), std::string::npos);
  EXPECT_NE(llama2c_refusal(with(0, int32_t{1 << 30})).find("the longest piece"), std::string::npos);
  EXPECT_NE(llama2c_refusal(with(4, std::numeric_limits<float>::infinity())).find("the score of piece 0"),
            std::string::npos);
  EXPECT_NE(llama2c_refusal(with(8, int32_t{-5})).find("piece 0 has -5 bytes"), std::string::npos);
  EXPECT_NE(llama2c_refusal(with(8, INT32_MAX)).find("piece 0 has 2147483647 bytes"), std::string::npos);
  std::string bytes = good;
  bytes.replace(bytes.find("<0x41>"), 6, "<0x42>");
  EXPECT_NE(llama2c_refusal(bytes).find("expected '<0x41>'"), std::string::npos) << llama2c_refusal(bytes);
}

}  // namespace
}  // namespace ferry
