// Decodes token ids to text.
#include <algorithm>

#include "sdk/text/strings.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/utf8.h"

namespace ferry {
namespace {

// Maximum steps of all replacements in one token's text, and bytes that they write.
constexpr int64_t kStepsPerToken = int64_t{1} << 18;

// "<0x41>" is the byte 'A'.
char byte_of(std::string_view piece) {
  int byte = 0;
  for (const char c : piece.substr(3, 2)) byte = byte * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  return static_cast<char>(byte);
}

// Leaves the text unchanged if the budget does not suffice.
void replace_all(const fbs::Pattern& pattern, std::string_view content, Budget& budget, std::string* text) {
  Matcher matcher(pattern, budget);
  Matches matches(matcher, *text);
  std::string made;
  size_t done = 0;
  for (Matcher::Match match; matches.next(&match); done = match.end) {
    budget.write(std::string_view(*text).substr(done, match.begin - done), &made);
    budget.write(content, &made);
  }
  if (done == 0 && made.empty()) return;
  if (!budget.write(std::string_view(*text).substr(done), &made)) return;
  *text = std::move(made);
}

}  // namespace

TextDecoder::TextDecoder(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer), skip_special_(skip_special) {
  const fbs::Decoder* decoder = tokenizer.table().decoder();
  strip_ = decoder ? decoder->strip_count() : 0;
}

// Appends complete characters and keeps an incomplete one.
void TextDecoder::put(std::string_view bytes, std::string* text) {
  if (bytes.empty()) return;
  const fbs::Decoder* decoder = tokenizer_->table().decoder();
  while (strip_ > 0) {
    const std::string_view strip = view(decoder->strip());
    if (!bytes.starts_with(strip)) {
      strip_ = 0;
      break;
    }
    bytes.remove_prefix(strip.size());
    if (--strip_ > 0 && bytes.empty()) return;
  }
  pending_ += bytes;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const int size = character_bytes(rest);
    if (size == kIncomplete) break;
    const size_t taken = size > 0                                                    ? static_cast<size_t>(size)
                         : decoder && decoder->bytes() == fbs::ByteDecoding::Longest ? ill_formed_bytes(rest)
                                                                                     : 1;
    *text += size > 0 ? rest.substr(0, taken) : kReplacementCharacter;
    rest.remove_prefix(taken);
  }
  pending_.erase(0, pending_.size() - rest.size());
}

// Ends a run of byte tokens: it is decoded as a whole, or not at all.
void TextDecoder::end_run(std::string* text) {
  if (run_.empty()) return;
  const std::string run = std::move(run_);
  run_.clear();
  std::string_view rest = run;
  int size = 1;
  while (!rest.empty() && (size = character_bytes(rest)) > 0) rest.remove_prefix(static_cast<size_t>(size));
  if (rest.empty()) return put(run, text);
  for (size_t i = 0; i < run.size(); ++i) put(kReplacementCharacter, text);
}

void TextDecoder::decode(int32_t id, bool last, std::string* text) {
  const fbs::Tokenizer& table = tokenizer_->table();
  const fbs::Decoder* decoder = table.decoder();
  const std::string_view piece = tokenizer_->piece(id);
  const bool first = std::exchange(first_, false);
  if (table.kinds()->Get(static_cast<unsigned>(id)) == fbs::PieceKind::Byte) {
    const char byte = byte_of(piece);
    if (decoder && decoder->bytes() == fbs::ByteDecoding::Runs)
      run_ += byte;
    else
      put({&byte, 1}, text);
    return;
  }
  end_run(text);
  if (table.kinds()->Get(static_cast<unsigned>(id)) == fbs::PieceKind::Unknown) return put(kReplacementCharacter, text);
  if (!decoder) return put(piece, text);
  std::string spelt;
  const std::string_view continuing = view(decoder->continuing());
  if (!first && !continuing.empty() && piece.starts_with(continuing)) {
    spelt = piece.substr(continuing.size());
  } else {
    if (!first) spelt = view(decoder->separator());
    spelt += piece;
  }
  Budget budget{kStepsPerToken};
  for (unsigned i = 0; decoder->replacements() && i < decoder->replacements()->size() && !budget.exhausted(); ++i) {
    const fbs::TokenReplace& r = *decoder->replacements()->Get(i);
    replace_all(*r.pattern(), view(last ? r.last() : first ? r.first() : r.content()), budget, &spelt);
  }
  put(spelt, text);
}

void TextDecoder::append(int32_t id, std::string* text) {
  const fbs::PieceKind kind = tokenizer_->table().kinds()->Get(static_cast<unsigned>(id));
  if (kind == fbs::PieceKind::Absent || (kind == fbs::PieceKind::Control && skip_special_)) return;
  const fbs::Decoder* decoder = tokenizer_->table().decoder();
  if (!decoder || !decoder->differs_at_end()) return decode(id, false, text);
  if (held_ >= 0) decode(held_, false, text);
  held_ = id;
}

void TextDecoder::finish(std::string* text) {
  if (held_ >= 0) decode(std::exchange(held_, -1), true, text);
  end_run(text);
  const fbs::Decoder* decoder = tokenizer_->table().decoder();
  // The rest is one incomplete character.
  const bool once = decoder && decoder->bytes() == fbs::ByteDecoding::Longest;
  for (size_t i = 0; i < (once ? std::min<size_t>(pending_.size(), 1) : pending_.size()); ++i)
    *text += kReplacementCharacter;
  pending_.clear();
}

}  // namespace ferry
