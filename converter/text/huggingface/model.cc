// The models of a tokenizer.json: BPE, Unigram, WordPiece and WordLevel.
#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/parts.h"
#include "sdk/text/verify_text.h"

namespace ferry::huggingface {
namespace {

using nlohmann::json;

// Penalty of an unknown character below the worst piece (the library's K_UNK_PENALTY).
constexpr double kUnknownPenalty = 10;

int id_of(const Ids& ids, std::string_view piece) {
  const auto found = ids.find(piece);
  return found == ids.end() ? -1 : found->second;
}

// The ids of the pieces "<0x00>" to "<0xFF>".
std::vector<int> bytes_of(const Ids& ids) {
  std::vector<int> bytes;
  for (int byte = 0; byte < 256; ++byte) {
    char piece[8];
    std::snprintf(piece, sizeof piece, "<0x%02X>", byte);
    bytes.push_back(id_of(ids, piece));
  }
  return bytes;
}

class ModelCompiler {
 public:
  ModelCompiler(const TokenizerJson& file, bool bytewise, const std::string& where, fbs::TokenizerT* table, Ids* ids)
      : file_(file), model_(file.rest["model"]), bytewise_(bytewise), where_(where), table_(*table), ids_(*ids) {}

  void run() {
    std::string type = text_of(model_, "type", where_);
    if (type.empty())  // files before types were named
      type = file_.has_merges                             ? "BPE"
             : file_.scored                               ? "Unigram"
             : absent(model_, "max_input_chars_per_word") ? "WordLevel"
                                                          : "WordPiece";
    if (file_.scored != (type == "Unigram"))
      fail("%s: the vocabulary of a %s is %s", where_.c_str(), type.c_str(),
           file_.scored ? "a list with scores" : "an object of ids");
    if (bytewise_ && type != "BPE") fail("%s: ByteLevel with a %s is not supported", where_.c_str(), type.c_str());
    read_pieces();
    if (type == "BPE")
      bpe();
    else if (type == "Unigram")
      unigram();
    else if (type == "WordPiece" || type == "WordLevel")
      words(type == "WordPiece");
    else
      fail("%s: the model %s is not supported", where_.c_str(), in_quotes(type).c_str());
    sort_pieces();
  }

 private:
  void read_pieces() {
    ids_.reserve(file_.pieces.size());
    for (size_t i = 0; i < file_.pieces.size(); ++i) {
      const auto& [piece, number] = file_.pieces[i];
      const double id = file_.scored ? static_cast<double>(i) : number;
      if (!(id >= 0 && id < kMaxPieces) || id != std::floor(id))
        fail("%s: the id of %s is %g, expected 0 to %u", where_.c_str(), in_quotes(piece).c_str(), id, kMaxPieces - 1);
      if (piece.size() > kMaxPieceBytes)
        fail("%s: the piece %s has %zu bytes, at most %u are allowed", where_.c_str(), in_quotes(piece).c_str(),
             piece.size(), kMaxPieceBytes);
      const auto index = static_cast<size_t>(id);
      if (index >= table_.pieces.size()) {
        table_.pieces.resize(index + 1);
        table_.kinds.resize(index + 1, fbs::PieceKind::Absent);
      }
      table_.pieces[index] = piece;
      table_.kinds[index] = fbs::PieceKind::Normal;
      ids_[piece] = static_cast<int>(index);
    }
    if (table_.pieces.empty()) fail("%s: its vocabulary is empty", where_.c_str());
  }

  // Sorts pieces for encoding; in bytes if the text is.
  void sort_pieces() {
    if (bytewise_) {
      Ids kept;
      for (std::string& piece : table_.pieces) reachable_.push_back(to_bytes(&piece));
    }
    for (const auto& [piece, id] : ids_) {
      const auto index = static_cast<size_t>(id);
      if (!piece.empty() && (!bytewise_ || reachable_[index])) table_.order.push_back(static_cast<uint32_t>(id));
    }
    std::sort(table_.order.begin(), table_.order.end(),
              [this](uint32_t a, uint32_t b) { return table_.pieces[a] < table_.pieces[b]; });
  }

  int unknown() const {
    const std::string token = text_of(model_, "unk_token", where_);
    return token.empty() ? -1 : id_of(ids_, token);
  }

  void bpe() {
    table_.kind = fbs::TokenizerKind::MergedBpe;
    table_.bytewise = bytewise_;
    if (!absent(model_, "dropout") && model_["dropout"] != 0)
      fail("%s: a BPE with dropout is not deterministic, which is not supported", where_.c_str());
    table_.unknown = unknown();
    table_.fuse_unknown = flag_of(model_, "fuse_unk", where_);
    table_.whole_words = flag_of(model_, "ignore_merges", where_);
    table_.continuing = text_of(model_, "continuing_subword_prefix", where_);
    table_.word_end = text_of(model_, "end_of_word_suffix", where_);
    if (flag_of(model_, "byte_fallback", where_)) {
      table_.bytes = bytes_of(ids_);
      if (bytewise_) fail("%s: byte_fallback behind ByteLevel is not supported", where_.c_str());
    }
    const size_t prefix = table_.continuing.size();
    if (bytewise_ && !(to_bytes(&table_.continuing) && to_bytes(&table_.word_end)))
      fail("%s: its continuing_subword_prefix or end_of_word_suffix has characters outside of ByteLevel's alphabet",
           where_.c_str());
    merges(prefix);
  }

  void merges(size_t prefix) {
    if (file_.merges.size() > kMaxMerges)
      fail("%s: %zu merges, at most %u are allowed", where_.c_str(), file_.merges.size(), kMaxMerges);
    struct Entry {
      uint32_t left, right, rank;
    };
    std::vector<Entry> entries;
    entries.reserve(file_.merges.size());
    std::string joined;
    for (uint32_t rank = 0; rank < file_.merges.size(); ++rank) {
      const auto& [left, right] = file_.merges[rank];
      if (right.size() < prefix)
        fail("%s: merge %u: %s is shorter than continuing_subword_prefix", where_.c_str(), rank,
             in_quotes(right).c_str());
      joined.assign(left).append(right, prefix);
      const int ids[] = {id_of(ids_, left), id_of(ids_, right), id_of(ids_, joined)};
      for (size_t i = 0; i < 3; ++i)
        if (ids[i] < 0)
          fail("%s: merge %u: %s is not in the vocabulary", where_.c_str(), rank,
               in_quotes(i == 0   ? left
                         : i == 1 ? right
                                  : joined)
                   .c_str());
      entries.push_back({static_cast<uint32_t>(ids[0]), static_cast<uint32_t>(ids[1]), rank});
      table_.merged.push_back(static_cast<uint32_t>(ids[2]));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.left, a.right, a.rank) < std::tie(b.left, b.right, b.rank);
    });
    table_.merge_ends.assign(table_.pieces.size(), 0);
    for (size_t i = 0; i < entries.size(); ++i) {
      // Of duplicate pairs, the last one applies.
      if (i + 1 < entries.size() && entries[i].left == entries[i + 1].left && entries[i].right == entries[i + 1].right)
        continue;
      table_.merges.emplace_back(entries[i].right, entries[i].rank);
      table_.merge_ends[entries[i].left] = static_cast<uint32_t>(table_.merges.size());
    }
    for (size_t i = 1; i < table_.merge_ends.size(); ++i)
      table_.merge_ends[i] = std::max(table_.merge_ends[i], table_.merge_ends[i - 1]);
  }

  void unigram() {
    table_.kind = fbs::TokenizerKind::Unigram;
    double worst = std::numeric_limits<double>::infinity();
    for (const auto& [piece, score] : file_.pieces) {
      if (!std::isfinite(score)) fail("%s: the score of %s is not a number", where_.c_str(), in_quotes(piece).c_str());
      table_.scores.push_back(score);
      worst = std::min(worst, score);
    }
    table_.unknown =
        static_cast<int>(number_of(model_, "unk_id", where_, 0, static_cast<int64_t>(table_.pieces.size()) - 1, -1));
    table_.unknown_score = worst - kUnknownPenalty;
    if (flag_of(model_, "byte_fallback", where_)) table_.bytes = bytes_of(ids_);
  }

  void words(bool pieces) {
    table_.kind = fbs::TokenizerKind::WordPiece;
    table_.unknown = unknown();
    table_.whole_words = !pieces;
    if (!pieces) return;
    table_.continuing = text_of(model_, "continuing_subword_prefix", where_, "##");
    table_.max_word = static_cast<uint32_t>(number_of(model_, "max_input_chars_per_word", where_, 0, UINT32_MAX, 100));
  }

  const TokenizerJson& file_;
  const json& model_;
  bool bytewise_;
  const std::string& where_;
  fbs::TokenizerT& table_;
  Ids& ids_;
  std::vector<bool> reachable_;
};

}  // namespace

void add_model(const TokenizerJson& file, bool bytewise, const std::string& where, fbs::TokenizerT* table, Ids* ids) {
  ModelCompiler(file, bytewise, where, table, ids).run();
}

}  // namespace ferry::huggingface
