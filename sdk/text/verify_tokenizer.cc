#include "sdk/text/verify_text.h"

#include <cmath>
#include <cstdint>

namespace ferry {
namespace {

template <typename T>
uint32_t count(const flatbuffers::Vector<T>* list) {
  return list ? list->size() : 0;
}

Status check_class(const fbs::CharacterClass* set, const char* where, unsigned index) {
  if (!set || count(set->ascii()) != 4 || count(set->ranges()) % 2 != 0)
    return error(FERRY_CORRUPT, "tokenizer: class %u of %s is not 4 words and pairs of characters", index, where);
  return {};
}

Status check_instruction(const fbs::Pattern& pattern, unsigned pc, const char* where) {
  const unsigned size = pattern.program()->size(), classes = count(pattern.classes());
  const fbs::Instruction& i = *pattern.program()->Get(pc);
  if (i.op() > fbs::PatternOp::MAX)
    return error(FERRY_UNSUPPORTED, "tokenizer: operation %u of %s is unknown to this version",
                 static_cast<unsigned>(i.op()), where);
  const bool of_class =
      i.op() == fbs::PatternOp::Class || i.op() == fbs::PatternOp::Next || i.op() == fbs::PatternOp::Before;
  const bool jumps =
      i.op() == fbs::PatternOp::Split || i.op() == fbs::PatternOp::Jump || i.op() == fbs::PatternOp::Look;
  const bool falls = of_class || i.op() == fbs::PatternOp::Look;  // continues with the next instruction
  if (of_class && i.x() >= classes)
    return error(FERRY_CORRUPT, "tokenizer: instruction %u of %s names class %u of %u", pc, where, i.x(), classes);
  if ((jumps && i.x() >= size) || (i.op() == fbs::PatternOp::Split && i.y() >= size) || (falls && pc + 1 >= size))
    return error(FERRY_CORRUPT, "tokenizer: instruction %u of %s goes on behind its %u", pc, where, size);
  return {};
}

Status check_pattern(const fbs::Pattern* pattern, const char* where) {
  const unsigned size = pattern ? count(pattern->program()) : 0;
  if (size == 0 || size > kMaxInstructions)
    return error(FERRY_CORRUPT, "tokenizer: a pattern of %s has %u instructions, expected 1 to %u", where, size,
                 kMaxInstructions);
  for (unsigned i = 0; i < count(pattern->classes()); ++i) FERRY_TRY(check_class(pattern->classes()->Get(i), where, i));
  for (unsigned pc = 0; pc < size; ++pc) FERRY_TRY(check_instruction(*pattern, pc, where));
  return {};
}

Status check_map(const fbs::Map& map, const char* where) {
  if (!map.keys() || count(map.keys()) != count(map.values()))
    return error(FERRY_CORRUPT, "tokenizer: a map of %s has %u keys and %u values", where, count(map.keys()),
                 count(map.values()));
  return map.clusters() ? check_pattern(map.clusters(), where) : Status();
}

Status check_steps(const flatbuffers::Vector<flatbuffers::Offset<fbs::Step>>* steps, bool cuts, const char* where) {
  if (count(steps) > kMaxSteps)
    return error(FERRY_CORRUPT, "tokenizer: %u steps of %s, at most %u are allowed", count(steps), where, kMaxSteps);
  for (uint32_t i = 0; i < count(steps); ++i) {
    const fbs::Step& step = *steps->Get(i);
    if (const fbs::Cut* cut = step.kind_as_Cut()) {
      if (!cuts || cut->behaviour() > fbs::Behaviour::MAX)
        return error(FERRY_CORRUPT, "tokenizer: step %u of %s cuts as it may not", i, where);
      FERRY_TRY(check_pattern(cut->pattern(), where));
    } else if (const fbs::Replace* replace = step.kind_as_Replace()) {
      FERRY_TRY(check_pattern(replace->pattern(), where));
    } else if (const fbs::Map* map = step.kind_as_Map()) {
      FERRY_TRY(check_map(*map, where));
    } else if (!step.kind_as_Order()) {
      return error(FERRY_UNSUPPORTED, "tokenizer: step %u of %s is unknown to this version", i, where);
    }
  }
  return {};
}

class Verifier {
 public:
  explicit Verifier(const fbs::Tokenizer& table) : table_(table), pieces_(count(table.pieces())) {}

  Status run() {
    if (table_.kind() > fbs::TokenizerKind::MAX)
      return error(FERRY_UNSUPPORTED, "tokenizer: its kind %u is unknown to this version",
                   static_cast<unsigned>(table_.kind()));
    if (pieces_ == 0 || pieces_ > kMaxPieces)
      return error(FERRY_CORRUPT, "tokenizer: %u pieces, expected 1 to %u", pieces_, kMaxPieces);
    if (count(table_.kinds()) != pieces_)
      return error(FERRY_CORRUPT, "tokenizer: %u kinds for %u pieces", count(table_.kinds()), pieces_);
    for (uint32_t id = 0; id < pieces_; ++id) FERRY_TRY(piece(id));
    for (uint32_t i = 0; i < count(table_.order()); ++i)
      if (table_.order()->Get(i) >= pieces_) return no_piece("order", static_cast<int32_t>(table_.order()->Get(i)));
    FERRY_TRY(model());
    FERRY_TRY(optional("unknown", table_.unknown()));
    FERRY_TRY(optional("bos", table_.bos()));
    for (const auto* around : {table_.before(), table_.after()})
      if (count(around) > kMaxAround)
        return error(FERRY_CORRUPT, "tokenizer: %u ids before or behind every text, at most %u are allowed",
                     count(around), kMaxAround);
    FERRY_TRY(ids("before", table_.before()));
    FERRY_TRY(ids("after", table_.after()));
    FERRY_TRY(affix("continuing", table_.continuing()));
    FERRY_TRY(affix("word_end", table_.word_end()));
    if (count(table_.eos()) > kMaxEnds)
      return error(FERRY_CORRUPT, "tokenizer: %u ids end a text, at most %u may", count(table_.eos()), kMaxEnds);
    FERRY_TRY(ids("eos", table_.eos()));
    FERRY_TRY(added("added", table_.added()));
    FERRY_TRY(added("added_normalized", table_.added_normalized()));
    FERRY_TRY(check_steps(table_.normalizer(), false, "the normalizer"));
    FERRY_TRY(check_steps(table_.pre_tokenizer(), true, "the pre-tokenizer"));
    return decoder();
  }

 private:
  bool exists(int32_t id) const { return id >= 0 && static_cast<uint32_t>(id) < pieces_; }
  Status no_piece(const char* list, int32_t id) const {
    return error(FERRY_CORRUPT, "tokenizer: %s is %d, expected a piece below %u", list, id, pieces_);
  }
  Status optional(const char* name, int32_t id) const {
    if (id == -1 || exists(id)) return {};
    return error(FERRY_CORRUPT, "tokenizer: %s is %d, expected -1 or a piece below %u", name, id, pieces_);
  }
  Status ids(const char* name, const flatbuffers::Vector<int32_t>* list) const {
    for (uint32_t i = 0; i < count(list); ++i)
      if (!exists(list->Get(i)))
        return error(FERRY_CORRUPT, "tokenizer: %s %u is %d, expected a piece below %u", name, i, list->Get(i),
                     pieces_);
    return {};
  }

  // A text that is put before or behind every piece.
  Status affix(const char* name, const flatbuffers::String* text) const {
    if (!text || text->size() <= kMaxPieceBytes) return {};
    return error(FERRY_CORRUPT, "tokenizer: its %s has %u bytes, at most %u are allowed", name, text->size(),
                 kMaxPieceBytes);
  }

  Status piece(uint32_t id) const {
    const flatbuffers::String& text = *table_.pieces()->Get(id);
    if (text.size() > kMaxPieceBytes)
      return error(FERRY_CORRUPT, "tokenizer: piece %u has %u bytes, at most %u are allowed", id, text.size(),
                   kMaxPieceBytes);
    const fbs::PieceKind kind = table_.kinds()->Get(id);
    if (kind > fbs::PieceKind::MAX)
      return error(FERRY_UNSUPPORTED, "tokenizer: the kind %u of piece %u is unknown to this version",
                   static_cast<unsigned>(kind), id);
    if (kind == fbs::PieceKind::Byte && text.size() != 6)
      return error(FERRY_CORRUPT, "tokenizer: piece %u stands for a byte and has %u bytes, expected 6, as <0x41>", id,
                   text.size());
    return {};
  }

  Status model() const {
    if (table_.bytes()) {
      if (table_.bytes()->size() != 256)
        return error(FERRY_CORRUPT, "tokenizer: the pieces of %u bytes, expected 256", table_.bytes()->size());
      for (const int32_t id : *table_.bytes()) FERRY_TRY(optional("the piece of a byte", id));
    }
    const bool scored = table_.kind() == fbs::TokenizerKind::ScoredBpe || table_.kind() == fbs::TokenizerKind::Unigram;
    if (scored) {
      if (count(table_.scores()) != pieces_)
        return error(FERRY_CORRUPT, "tokenizer: %u scores for %u pieces", count(table_.scores()), pieces_);
      // flatbuffers verifies the alignment of a vector's length, not of its elements.
      if (reinterpret_cast<uintptr_t>(table_.scores()->Data()) % alignof(double) != 0)
        return error(FERRY_CORRUPT, "tokenizer: its scores do not lie at a multiple of %zu bytes", alignof(double));
      for (uint32_t id = 0; id < pieces_; ++id)
        if (!std::isfinite(table_.scores()->Get(id)))
          return error(FERRY_CORRUPT, "tokenizer: the score of piece %u is not a finite number", id);
      if (!std::isfinite(table_.unknown_score()))
        return error(FERRY_CORRUPT, "tokenizer: the score of the unknown is not a finite number");
    }
    if (!table_.merges()) return {};
    const uint32_t merges = count(table_.merges()), results = count(table_.merged());
    if (count(table_.merge_ends()) != pieces_ || merges > kMaxMerges)
      return error(FERRY_CORRUPT, "tokenizer: %u merges and ends of %u pieces' for %u", merges,
                   count(table_.merge_ends()), pieces_);
    uint32_t begin = 0;
    for (uint32_t id = 0; id < pieces_; ++id) {
      const uint32_t end = table_.merge_ends()->Get(id);
      if (end < begin || end > merges)
        return error(FERRY_CORRUPT, "tokenizer: the merges of piece %u end at %u, expected %u to %u", id, end, begin,
                     merges);
      begin = end;
    }
    for (uint32_t i = 0; i < merges; ++i)
      if (table_.merges()->Get(i)->rank() >= results)
        return error(FERRY_CORRUPT, "tokenizer: merge %u has rank %u of %u", i, table_.merges()->Get(i)->rank(),
                     results);
    for (uint32_t i = 0; i < results; ++i)
      if (table_.merged()->Get(i) >= pieces_) return no_piece("merged", static_cast<int32_t>(table_.merged()->Get(i)));
    return {};
  }

  Status added(const char* name, const fbs::AddedTokens* list) const {
    if (!list) return {};
    if (!list->tokens() || count(list->first_bytes()) != 8 || list->tokens()->size() > kMaxPieces)
      return error(FERRY_CORRUPT, "tokenizer: %s has %u tokens and %u words of first bytes", name,
                   count(list->tokens()), count(list->first_bytes()));
    bool words = false, spaces = false;
    for (const fbs::AddedToken* token : *list->tokens()) {
      if (!exists(token->id())) return no_piece(name, token->id());
      if (!token->content() || token->content()->size() == 0)
        return error(FERRY_CORRUPT, "tokenizer: %s: the token %d has no content", name, token->id());
      words = words || token->single_word();
      spaces = spaces || token->strip_left() || token->strip_right();
    }
    if (words) FERRY_TRY(check_class(table_.word_characters(), "words", 0));
    if (spaces) FERRY_TRY(check_class(table_.space_characters(), "white space", 0));
    return {};
  }

  Status decoder() const {
    const fbs::Decoder* decoder = table_.decoder();
    if (!decoder) return {};
    if (decoder->bytes() > fbs::ByteDecoding::MAX)
      return error(FERRY_UNSUPPORTED, "tokenizer: its decoding of bytes is unknown to this version");
    if (decoder->strip_count() > 0 && (!decoder->strip() || decoder->strip()->size() == 0))
      return error(FERRY_CORRUPT, "tokenizer: a text loses %u times nothing", decoder->strip_count());
    FERRY_TRY(affix("decoder's prefix", decoder->continuing()));
    FERRY_TRY(affix("decoder's separator", decoder->separator()));
    if (count(decoder->replacements()) > kMaxSteps)
      return error(FERRY_CORRUPT, "tokenizer: %u replacements of the decoder, at most %u are allowed",
                   count(decoder->replacements()), kMaxSteps);
    for (uint32_t i = 0; i < count(decoder->replacements()); ++i)
      FERRY_TRY(check_pattern(decoder->replacements()->Get(i)->pattern(), "the decoder"));
    return {};
  }

  const fbs::Tokenizer& table_;
  uint32_t pieces_;
};

}  // namespace

Status verify_tokenizer(const fbs::Tokenizer& table) { return Verifier(table).run(); }

}  // namespace ferry
