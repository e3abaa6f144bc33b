// Byte pair encoding (Sennrich et al. 2016): repeatedly merges two adjacent symbols of a word.
#include <algorithm>
#include <functional>
#include <utility>

#include "sdk/text/strings.h"
#include "sdk/text/utf8.h"
#include "sdk/text/word_encoder.h"

namespace ferry {
// SentencePiece's variant (Kudo and Richardson 2018): starts with characters, and merges the neighbours whose
// concatenation has the highest score.
Status WordEncoder::scored_bpe(std::string_view word, std::vector<int32_t>* ids) {
  symbols_.clear();
  pairs_.clear();
  for (size_t at = 0; at < word.size();) {
    size_t bytes = 0;
    character_at(word, at, &bytes);  // an invalid byte is a symbol of its own
    const auto index = static_cast<int32_t>(symbols_.size());
    symbols_.push_back({.begin = static_cast<int32_t>(at),
                        .bytes = static_cast<int32_t>(bytes),
                        .previous = index - 1,
                        .next = index + 1});
    at += bytes;
  }
  symbols_.back().next = -1;

  const auto span = [&](const Symbol& first, int32_t bytes) {
    return word.substr(static_cast<size_t>(first.begin), static_cast<size_t>(bytes));
  };
  const auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const Symbol& first = symbols_[static_cast<size_t>(left)];
    const int32_t bytes = first.bytes + symbols_[static_cast<size_t>(right)].bytes;
    const int32_t id = find(span(first, bytes));
    if (id < 0) return;
    pairs_.push_back({table_.scores()->Get(static_cast<unsigned>(id)), left, right, bytes});
    std::push_heap(pairs_.begin(), pairs_.end());
  };
  for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols_.size()); ++i) consider(i, i + 1);
  while (!pairs_.empty()) {
    std::pop_heap(pairs_.begin(), pairs_.end());
    const Pair best = pairs_.back();
    pairs_.pop_back();
    Symbol& left = symbols_[static_cast<size_t>(best.left)];
    Symbol& right = symbols_[static_cast<size_t>(best.right)];
    if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != best.bytes) continue;
    left.bytes = best.bytes;
    left.next = right.next;
    right.bytes = 0;
    if (left.next >= 0) symbols_[static_cast<size_t>(left.next)].previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
  bool unknown = false;  // the previous symbol
  for (int32_t i = 0; i >= 0; i = symbols_[static_cast<size_t>(i)].next) {
    const std::string_view stretch = span(symbols_[static_cast<size_t>(i)], symbols_[static_cast<size_t>(i)].bytes);
    const bool follows_unknown = std::exchange(unknown, false);
    if (const int32_t id = find(stretch); id >= 0) {
      ids->push_back(id);
    } else if (!append_bytes(stretch, ids)) {
      if (table_.unknown() < 0) return no_piece(stretch);
      unknown = true;
      if (!follows_unknown || !table_.fuse_unknown()) ids->push_back(table_.unknown());
    }
  }
  return {};
}

// The initial symbols of a word: pieces of its bytes or characters. A character without a piece becomes its bytes, or
// the unknown piece, or is dropped.
void WordEncoder::split(std::string_view word, std::vector<int32_t>* parts) {
  const std::string_view continuing = view(table_.continuing()), word_end = view(table_.word_end());
  bool unknown = false;
  size_t bytes = 0;
  for (size_t at = 0; at < word.size(); at += bytes) {
    Character character;
    if (table_.bytewise()) {
      bytes = 1;
      character = static_cast<uint8_t>(word[at]);
    } else {
      character = character_at(word, at, &bytes);
    }
    std::string_view text = word.substr(at, bytes);
    int32_t id;
    const bool continues = at > 0 && !continuing.empty(), ends = at + bytes == word.size() && !word_end.empty();
    if (continues || ends) {
      spelt_.assign(continues ? continuing : std::string_view());
      spelt_ += text;
      if (ends) spelt_ += word_end;
      text = spelt_;
      id = find(text);
    } else {
      id = find_character(character, text);
    }
    if (id < 0 && append_bytes(text, parts)) continue;
    if (unknown && (id >= 0 || !table_.fuse_unknown())) {
      parts->push_back(table_.unknown());
      unknown = false;
    }
    if (id >= 0)
      parts->push_back(id);
    else
      unknown = table_.unknown() >= 0;
  }
  if (unknown) parts->push_back(table_.unknown());
}

uint32_t WordEncoder::rank(int32_t left, int32_t right) const {
  const auto index = static_cast<unsigned>(left);
  const auto& ends = *table_.merge_ends();
  const auto& merges = *table_.merges();
  uint32_t low = index > 0 ? ends.Get(index - 1) : 0, high = ends.Get(index);
  const uint32_t end = high;
  const auto wanted = static_cast<uint32_t>(right);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (merges.Get(middle)->right() < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low < end && merges.Get(low)->right() == wanted ? merges.Get(low)->rank() : kNoRank;
}

// As in the `tokenizers` library: merges the pair with the lowest rank, the leftmost of equal ones. A pair found
// earlier is still valid if the symbols now at its position merge to the same piece.
Status WordEncoder::merged_bpe(std::string_view word, std::vector<int32_t>* ids) {
  parts_.clear();
  split(word, &parts_);
  if (!table_.merges() || parts_.size() < 2) {
    ids->insert(ids->end(), parts_.begin(), parts_.end());
    return {};
  }
  const auto size = static_cast<int32_t>(parts_.size());
  symbols_.clear();
  merges_.clear();
  for (int32_t i = 0; i < size; ++i)
    symbols_.push_back({.id = parts_[static_cast<size_t>(i)], .previous = i - 1, .next = i + 1 < size ? i + 1 : -1});
  const auto at = [this](int32_t i) -> Symbol& { return symbols_[static_cast<size_t>(i)]; };
  const auto rank_at = [&](int32_t left) { return rank(at(left).id, at(at(left).next).id); };
  const auto consider = [&](int32_t left) {
    if (left < 0 || at(left).next < 0) return;
    const uint32_t found = rank_at(left);
    if (found == kNoRank) return;
    merges_.push_back(uint64_t{found} << 32 | static_cast<uint32_t>(left));
    std::push_heap(merges_.begin(), merges_.end(), std::greater<>());
  };
  for (int32_t i = 0; i + 1 < size; ++i) {
    const uint32_t found = rank_at(i);
    if (found != kNoRank) merges_.push_back(uint64_t{found} << 32 | static_cast<uint32_t>(i));
  }
  std::make_heap(merges_.begin(), merges_.end(), std::greater<>());
  while (!merges_.empty()) {
    const uint64_t top = merges_.front();
    std::pop_heap(merges_.begin(), merges_.end(), std::greater<>());
    merges_.pop_back();
    const auto place = static_cast<int32_t>(top & UINT32_MAX);
    Symbol& left = at(place);
    if (left.id < 0 || left.next < 0) continue;  // merged into the previous symbol, or the last one
    const auto becomes = static_cast<int32_t>(table_.merged()->Get(static_cast<unsigned>(top >> 32)));
    const uint32_t now = rank_at(place);
    if (now == kNoRank || static_cast<int32_t>(table_.merged()->Get(now)) != becomes) continue;
    Symbol& right = at(left.next);
    left.id = becomes;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) at(left.next).previous = place;
    consider(left.previous);
    consider(place);
  }
  for (int32_t i = 0; i >= 0; i = at(i).next) ids->push_back(at(i).id);
  return {};
}

}  // namespace ferry
