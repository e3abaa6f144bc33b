#include "converter/text/huggingface/sentencepiece.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/charsmap.h"
#include "converter/text/huggingface/parts.h"
#include "converter/text/huggingface/regex.h"
#include "converter/text/huggingface/tokenizer_class.h"
#include "converter/text/pieces.h"
#include "sdk/text/verify_text.h"

namespace ferry {
namespace {

// Penalty of an unknown character below the worst piece (unigram_model.cc: kUnkPenalty).
constexpr double kUnknownPenalty = 10;
constexpr const char* kSpace = "\xE2\x96\x81";

// Reads a Protocol Buffers message field by field.
class Message {
 public:
  Message(std::string_view message, const std::string& where) : rest_(message), where_(where) {}

  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field = key >> 3;
    switch (key & 7) {
      case 0: number = varint(); return true;
      case 1: bytes = take(8); return true;
      case 2: bytes = take(varint()); return true;
      case 5: bytes = take(4); return true;
      default: fail("%s: it is not a SentencePiece model: a field of an unknown kind", where_.c_str());
    }
  }
  float as_float() const {
    float value = 0;
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  uint64_t field = 0, number = 0;
  std::string_view bytes;

 private:
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) fail("%s: it is not a SentencePiece model, or cut off", where_.c_str());
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    fail("%s: it is not a SentencePiece model: a number of more than 64 bits", where_.c_str());
  }

  std::string_view rest_;
  const std::string& where_;
};

struct Options {
  uint64_t kind = 1;  // TrainerSpec.model_type
  bool space = true, remove_spaces = true, escape = true, space_behind = false;
  int64_t begin = 1, end = 2;
  std::string charsmap;
};

// ModelProto field 1, a piece; types are those of SentencePiece.Type.
void read_piece(Message message, fbs::TokenizerT* table, const std::string& where) {
  std::string text;
  float score = 0;
  uint64_t type = 1;
  while (message.next()) {
    if (message.field == 1) text = message.bytes;
    if (message.field == 2) score = message.as_float();
    if (message.field == 3) type = message.number;
  }
  const fbs::PieceKind kinds[] = {fbs::PieceKind::Normal,  fbs::PieceKind::Normal,  fbs::PieceKind::Unknown,
                                  fbs::PieceKind::Control, fbs::PieceKind::Control, fbs::PieceKind::Absent,
                                  fbs::PieceKind::Byte};
  const size_t id = table->pieces.size();
  if (type >= std::size(kinds) || !std::isfinite(score) || text.size() > kMaxPieceBytes || id >= kMaxPieces ||
      (type == 6 && text.size() != 6))
    fail("%s: piece %zu, %s, has an unknown type", where.c_str(), id, in_quotes(text).c_str());
  fbs::PieceKind kind = kinds[type];
  if (type == 3 || type == 4) {
    // Control symbols match the original text, user-defined symbols the normalized text.
    auto& list = type == 3 ? table->added : table->added_normalized;
    if (!list) list = std::make_unique<fbs::AddedTokensT>();
    auto token = std::make_unique<fbs::AddedTokenT>();
    token->content = text;
    token->id = static_cast<int>(id);
    if (!text.empty()) list->tokens.push_back(std::move(token));
  }
  add_piece(table, text, score, kind);
  if (type == 4) table->kinds.back() = fbs::PieceKind::Absent;  // not a normal piece, until pieces are indexed
}

void add_steps(const Options& options, const std::string& where, fbs::TokenizerT* table) {
  StepBuilder steps(&table->normalizer, where);
  if (!options.charsmap.empty()) steps.map(read_charsmap(options.charsmap, where));
  if (options.remove_spaces) {
    steps.replace("\\A +", "");
    steps.replace(" +", " ");
  }
  const std::string space = options.escape ? kSpace : " ";
  if (options.escape) steps.replace(" ", kSpace);
  if (options.remove_spaces) steps.replace(space + "+\\z", "");  // also those in the original text
  if (options.space) {
    if (options.space_behind)
      steps.replace("(?<=(?m:.))\\z", space);
    else
      steps.replace("\\A(?=(?m:.))", space, fbs::Where::Beginning);
  }
  table->decoder = std::make_unique<fbs::DecoderT>();
  if (options.escape) {
    auto replace = std::make_unique<fbs::TokenReplaceT>();
    replace->pattern = compile_regex(kSpace, where);
    replace->content = replace->first = replace->last = " ";
    table->decoder->replacements.push_back(std::move(replace));
  }
  if (!options.space || options.space_behind) return;
  table->decoder->strip = " ";
  table->decoder->strip_count = 1;
}

}  // namespace

std::unique_ptr<fbs::TokenizerT> read_sentencepiece(const Companions& files, const std::string& name) {
  const std::string where = files.where(name), bytes = files.read(name);
  auto table = std::make_unique<fbs::TokenizerT>();
  Options options;
  for (Message model(bytes, where); model.next();) {
    Message part(model.bytes, where);
    if (model.field == 1) read_piece(part, table.get(), where);
    while (model.field == 2 && part.next()) {  // TrainerSpec
      if (part.field == 3) options.kind = part.number;
      if (part.field == 24) options.space_behind = part.number != 0;
      if (part.field == 41) options.begin = static_cast<int32_t>(part.number);
      if (part.field == 42) options.end = static_cast<int32_t>(part.number);
    }
    while (model.field == 3 && part.next()) {  // NormalizerSpec
      if (part.field == 2) options.charsmap = part.bytes;
      if (part.field == 3) options.space = part.number != 0;
      if (part.field == 4) options.remove_spaces = part.number != 0;
      if (part.field == 5) options.escape = part.number != 0;
    }
  }
  if (table->pieces.empty()) fail("%s: it has no pieces: it is not a SentencePiece model", where.c_str());
  if (options.kind != 1 && options.kind != 2)
    fail("%s: a SentencePiece model of type %llu is not supported: expected UNIGRAM (1) or BPE (2)", where.c_str(),
         static_cast<unsigned long long>(options.kind));
  table->kind = options.kind == 1 ? fbs::TokenizerKind::Unigram : fbs::TokenizerKind::ScoredBpe;
  index_pieces(table.get());
  double worst = 0;
  for (const uint32_t id : table->order) worst = std::min(worst, table->scores[id]);
  table->unknown_score = worst - kUnknownPenalty;
  table->fuse_unknown = true;
  if (table->added) huggingface::index_added(table->added.get());
  if (table->added_normalized) {
    for (const auto& token : table->added_normalized->tokens)
      table->kinds[static_cast<size_t>(token->id)] = fbs::PieceKind::Normal;
    huggingface::index_added(table->added_normalized.get());
  }
  add_steps(options, where, table.get());
  const auto exists = [&](int64_t id) { return id >= 0 && static_cast<size_t>(id) < table->pieces.size(); };
  if (exists(options.begin)) table->before = {table->bos = static_cast<int>(options.begin)};
  if (exists(options.end)) table->eos = {static_cast<int>(options.end)};
  huggingface::apply_flags(files, table.get());
  return table;
}

}  // namespace ferry
