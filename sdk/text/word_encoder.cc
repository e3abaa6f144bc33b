#include "sdk/text/word_encoder.h"

#include <algorithm>

#include "sdk/text/utf8.h"

namespace ferry {

Status WordEncoder::encode(std::string_view word, std::vector<int32_t>* ids) {
  if (table_.whole_words()) {
    if (const int32_t id = find(word); id >= 0) {
      ids->push_back(id);
      return {};
    }
  }
  switch (table_.kind()) {
    case fbs::TokenizerKind::ScoredBpe: return scored_bpe(word, ids);
    case fbs::TokenizerKind::MergedBpe: return merged_bpe(word, ids);
    case fbs::TokenizerKind::Unigram: return unigram(word, ids);
    case fbs::TokenizerKind::WordPiece: return word_piece(word, ids);
  }
  return {};
}

int32_t WordEncoder::find(std::string_view text) const {
  if (!table_.order()) return -1;
  const PieceAt piece{&tokenizer_};
  uint32_t low = 0, high = table_.order()->size();
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const int order = piece(middle).compare(text);
    if (order == 0) return static_cast<int32_t>(table_.order()->Get(middle));
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

int32_t WordEncoder::find_character(Character character, std::string_view text) {
  Found& found = characters_[static_cast<size_t>(character) % characters_.size()];
  if (found.character != character) found = {character, find(text)};
  return found.id;
}

// False: a byte has no piece.
bool WordEncoder::append_bytes(std::string_view text, std::vector<int32_t>* ids) const {
  const auto* bytes = table_.bytes();
  if (!bytes) return false;
  const auto piece = [bytes](char c) { return bytes->Get(static_cast<uint8_t>(c)); };
  if (std::any_of(text.begin(), text.end(), [&](char c) { return piece(c) < 0; })) return false;
  for (const char c : text) ids->push_back(piece(c));
  return true;
}

Status WordEncoder::no_piece(std::string_view text) const {
  return error(FERRY_UNSUPPORTED, "the text has a character with the byte 0x%02X, for which the tokenizer has no piece",
               static_cast<uint8_t>(text[0]));
}

// The segmentation with the maximum sum of scores (Kudo 2018), by the Viterbi algorithm.
Status WordEncoder::unigram(std::string_view word, std::vector<int32_t>* ids) {
  ways_.assign(word.size() + 1, {});
  const auto reach = [this](size_t from, size_t to, double score, int32_t id) {
    Way& way = ways_[to];
    score += ways_[from].score;
    if (way.from < 0 || score > way.score) way = {score, static_cast<int32_t>(from), id};
  };
  size_t bytes = 0;
  for (size_t at = 0; at < word.size(); at += bytes) {
    character_at(word, at, &bytes);
    bool alone = false;  // a piece of this single character exists
    PrefixWalk<PieceAt> pieces = walk();
    for (size_t end = at; end < word.size() && budget_.take(1) && pieces.take(word[end]);) {
      ++end;
      if (!pieces.ends()) continue;
      const auto id = static_cast<int32_t>(table_.order()->Get(pieces.index()));
      reach(at, end, table_.scores()->Get(static_cast<unsigned>(id)), id);
      alone = alone || end == at + bytes;
    }
    if (!alone && budget_.exhausted()) return {};
    if (!alone) {
      if (table_.unknown() < 0) return no_piece(word.substr(at));
      reach(at, at + bytes, table_.unknown_score(), table_.unknown());
    }
  }
  // Backwards from the end; consecutive unknown characters are merged.
  parts_.clear();
  const size_t known = ids->size();
  for (size_t end = word.size(); end > 0;) {
    const Way way = ways_[end];
    auto begin = static_cast<size_t>(way.from);
    if (way.id != table_.unknown()) {
      parts_.push_back(way.id);
    } else {
      while (begin > 0 && ways_[begin].id == table_.unknown()) begin = static_cast<size_t>(ways_[begin].from);
      const std::string_view stretch = word.substr(begin, end - begin);
      const size_t before = ids->size();
      if (const int32_t id = find(stretch); id >= 0) {
        parts_.push_back(id);
      } else if (append_bytes(stretch, ids)) {
        parts_.insert(parts_.end(), ids->rbegin(), ids->rend() - static_cast<std::ptrdiff_t>(before));
        ids->resize(before);
      } else {
        parts_.push_back(table_.unknown());
      }
    }
    end = begin;
  }
  ids->resize(known);
  ids->insert(ids->end(), parts_.rbegin(), parts_.rend());
  return {};
}

// Greedy longest match from the left (Schuster and Nakajima 2012); without a match, the whole word is unknown.
Status WordEncoder::word_piece(std::string_view word, std::vector<int32_t>* ids) {
  const flatbuffers::String* prefix = table_.continuing();
  size_t characters = 0, bytes = 0;
  for (size_t at = 0; at < word.size() && characters <= table_.max_word(); at += bytes, ++characters)
    character_at(word, at, &bytes);
  const size_t known = ids->size();
  bool whole = characters <= table_.max_word();
  for (size_t at = 0; whole && at < word.size();) {
    PrefixWalk<PieceAt> pieces = walk();
    int32_t longest = -1;
    size_t next = at;
    if (at == 0 || !prefix || pieces.take({prefix->data(), prefix->size()})) {
      for (size_t end = at; end < word.size() && budget_.take(1) && pieces.take(word[end]);) {
        ++end;
        const bool between = end == word.size() || (static_cast<uint8_t>(word[end]) & 0xC0) != 0x80;
        if (!between || !pieces.ends()) continue;
        longest = static_cast<int32_t>(table_.order()->Get(pieces.index()));
        next = end;
      }
    }
    whole = longest >= 0;
    if (whole) ids->push_back(longest);
    at = next;
  }
  if (whole) return {};
  ids->resize(known);
  if (table_.unknown() < 0) return no_piece(word);
  ids->push_back(table_.unknown());
  return {};
}

}  // namespace ferry
