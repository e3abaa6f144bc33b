#include "converter/text/llama2c_tokenizer.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "converter/checkpoint/inside.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/pieces.h"
#include "sdk/text/verify_text.h"

namespace ferry {
namespace {

constexpr int kUnknown = 0, kBegin = 1, kEnd = 2, kFirstByte = 3, kBytes = 256;

class Llama2cReader {
 public:
  Llama2cReader(std::string_view bytes, std::string where) : rest_(bytes), where_(std::move(where)) {}

  template <typename T>
  T number(int piece) {
    T value;
    std::memcpy(&value, take(sizeof value, piece).data(), sizeof value);
    return value;
  }
  std::string_view take(size_t bytes, int piece) {
    if (bytes > rest_.size()) fail("%s: it ends inside piece %d, before the vocabulary does", where_.c_str(), piece);
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::string_view rest_;
  std::string where_;
};

}  // namespace

std::unique_ptr<fbs::TokenizerT> read_llama2c_tokenizer(const std::filesystem::path& path, int vocabulary) {
  const std::string where = path.string();
  if (vocabulary < kFirstByte + kBytes || static_cast<uint32_t>(vocabulary) > kMaxPieces)
    fail("%s: a vocabulary of %d, expected %d to %u pieces for a tokenizer of llama2.c", where.c_str(), vocabulary,
         kFirstByte + kBytes, kMaxPieces);
  check_inside(path.parent_path(), path);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("%s: cannot be read", where.c_str());
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Llama2cReader reader(bytes, where);
  const auto longest = reader.number<int32_t>(0);
  if (longest < 1 || static_cast<uint32_t>(longest) > kMaxPieceBytes)
    fail("%s: the longest piece has %d bytes, expected 1 to %u: this is not a tokenizer of llama2.c", where.c_str(),
         longest, kMaxPieceBytes);

  auto table = std::make_unique<fbs::TokenizerT>();
  table->kind = fbs::TokenizerKind::ScoredBpe;
  table->bos = kBegin;
  table->before = {kBegin};
  table->eos = {kBegin, kEnd};  // its stories end with the next one's beginning
  begin_with_space(table.get());
  for (int id = 0; id < vocabulary; ++id) {
    const auto score = reader.number<float>(id);
    const auto size = reader.number<int32_t>(id);
    if (!std::isfinite(score)) fail("%s: the score of piece %d is not a finite number", where.c_str(), id);
    if (size < 0 || size > longest)
      fail("%s: piece %d has %d bytes, expected 0 to %d", where.c_str(), id, size, longest);
    std::string piece(reader.take(static_cast<size_t>(size), id));
    fbs::PieceKind kind = fbs::PieceKind::Normal;
    if (id == kUnknown) {
      kind = fbs::PieceKind::Unknown;
    } else if (id == kBegin || id == kEnd) {
      kind = fbs::PieceKind::Control;
    } else if (const int byte = id - kFirstByte; byte < kBytes) {
      char expected[8];
      std::snprintf(expected, sizeof expected, "<0x%02X>", byte);
      if (piece != expected)
        fail("%s: piece %d is %s, expected '%s'", where.c_str(), id, in_quotes(piece).c_str(), expected);
      kind = fbs::PieceKind::Byte;
    }
    add_piece(table.get(), std::move(piece), score, kind);
  }
  if (reader.left() > 0)
    fail("%s: %zu bytes follow the %d pieces of the network's vocabulary", where.c_str(), reader.left(), vocabulary);
  index_pieces(table.get());
  return table;
}

}  // namespace ferry
