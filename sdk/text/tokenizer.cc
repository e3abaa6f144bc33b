#include "sdk/text/tokenizer.h"

#include <algorithm>
#include <new>
#include <span>

#include "sdk/text/utf8.h"

namespace ferry {
namespace {

// FNV-1a (Fowler, Noll, Vo), 64 bits. A file may hold pieces that collide: the index is sorted by text, too.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  return hash;
}

// A stretch of the text; they form a list.
struct Symbol {
  int32_t begin = 0, bytes = 0;  // 0 bytes: joined to the one before
  int32_t previous = -1, next = -1;
};

// Two neighbours whose union is a piece.
struct Pair {
  float score;
  int32_t left, right;
  int32_t bytes;  // of both when they were found: a pair of symbols that grew since is no longer this one
  // A heap's top is the largest: the highest score, of equal ones the leftmost.
  bool operator<(const Pair& other) const { return score != other.score ? score < other.score : left > other.left; }
};

}  // namespace

Status Tokenizer::create(const fbs::Tokenizer& table, std::unique_ptr<Tokenizer>* out) {
  std::unique_ptr<Tokenizer> made(new (std::nothrow) Tokenizer(table));
  if (made) made->index_.reset(new (std::nothrow) Entry[table.pieces()->size()]);
  if (!made || !made->index_)
    return error(FERRY_OUT_OF_MEMORY, "no memory for a tokenizer of %u pieces", table.pieces()->size());
  Tokenizer& t = *made;
  for (int32_t id = 0; id < t.size(); ++id) {
    const std::string_view text = t.piece(id);
    switch (table.kinds()->Get(static_cast<unsigned>(id))) {
      case fbs::PieceKind::Normal:
        t.index_[t.indexed_++] = {hash_of(text), id};
        t.longest_ = std::max(t.longest_, text.size());
        break;
      case fbs::PieceKind::Byte: t.byte_ids_[static_cast<uint8_t>(text[0])] = id; break;
      case fbs::PieceKind::Unknown: t.unknown_ = id; break;
      case fbs::PieceKind::Control: break;
    }
  }
  std::sort(t.index_.get(), t.index_.get() + t.indexed_, [&t](const Entry& a, const Entry& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int order = t.piece(a.id).compare(t.piece(b.id));
    return order != 0 ? order < 0 : a.id < b.id;
  });
  *out = std::move(made);
  return {};
}

std::string_view Tokenizer::piece(int32_t id) const {
  const flatbuffers::String& text = *table_.pieces()->Get(static_cast<unsigned>(id));
  return {text.data(), text.size()};
}

int32_t Tokenizer::find(std::string_view text) const {
  if (text.size() > longest_) return -1;
  const uint64_t hash = hash_of(text);
  const std::span<const Entry> index(index_.get(), indexed_);
  const auto found = std::lower_bound(index.begin(), index.end(), text, [&](const Entry& entry, std::string_view t) {
    return entry.hash != hash ? entry.hash < hash : piece(entry.id) < t;
  });
  return found != index.end() && found->hash == hash && piece(found->id) == text ? found->id : -1;
}

bool Tokenizer::ends_text(int32_t id) const {
  const auto* eos = table_.eos();
  return eos && std::find(eos->begin(), eos->end(), id) != eos->end();
}

Status Tokenizer::append_bytes(std::string_view bytes, std::vector<int32_t>* ids) const {
  for (const char c : bytes) {
    const auto octet = static_cast<uint8_t>(c);
    const int32_t id = byte_ids_[octet] >= 0 ? byte_ids_[octet] : unknown_;
    if (id < 0)
      return error(FERRY_UNSUPPORTED,
                   "the text has a character with the byte 0x%02X, for which the tokenizer has no piece", octet);
    ids->push_back(id);
    if (byte_ids_[octet] < 0) break;  // one unknown for the whole character
  }
  return {};
}

Status Tokenizer::encode(std::string_view text, Beginning beginning, std::vector<int32_t>* ids) const {
  if (text.size() > kMaxTextBytes)
    return error(FERRY_INVALID_ARGUMENT, "a text of %zu bytes, at most %zu are taken at once", text.size(),
                 kMaxTextBytes);
  if (beginning.bos && table_.bos() >= 0) ids->push_back(table_.bos());
  if (text.empty()) return {};
  if (!beginning.space || !table_.space_before()) return merge(text, ids);
  std::string spaced(1, ' ');
  spaced += text;
  return merge(spaced, ids);
}

// SentencePiece's BPE (Kudo and Richardson 2018): characters, of which again and again the neighbours are joined whose
// union is the piece with the highest score.
Status Tokenizer::merge(std::string_view text, std::vector<int32_t>* ids) const {
  const size_t bytes = text.size();
  // A pair for every two neighbours, and at most two new ones each time that two of at most `bytes` symbols join.
  std::unique_ptr<Symbol[]> symbols(new (std::nothrow) Symbol[bytes]);
  std::unique_ptr<Pair[]> pairs(new (std::nothrow) Pair[3 * bytes]);
  if (!symbols || !pairs) return error(FERRY_OUT_OF_MEMORY, "no memory to take %zu bytes of text apart", bytes);

  int32_t count = 0;
  for (size_t at = 0; at < bytes; ++count) {
    const int length = std::max(character_bytes(text.substr(at)), 1);  // a byte of no character stands for itself
    symbols[count] = {static_cast<int32_t>(at), length, count - 1, count + 1};
    at += static_cast<size_t>(length);
  }
  symbols[count - 1].next = -1;

  const auto span = [&](const Symbol& first, int32_t length) {
    return text.substr(static_cast<size_t>(first.begin), static_cast<size_t>(length));
  };
  Pair* heap = pairs.get();
  Pair* end = heap;
  const auto consider = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return;
    const int32_t length = symbols[left].bytes + symbols[right].bytes;
    const int32_t id = find(span(symbols[left], length));
    if (id < 0) return;
    *end++ = {table_.scores()->Get(static_cast<unsigned>(id)), left, right, length};
    std::push_heap(heap, end);
  };
  for (int32_t i = 0; i + 1 < count; ++i) consider(i, i + 1);
  while (end != heap) {
    std::pop_heap(heap, end--);
    const Pair best = *end;
    Symbol& left = symbols[best.left];
    Symbol& right = symbols[best.right];
    if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != best.bytes) continue;
    left.bytes = best.bytes;
    left.next = right.next;
    right.bytes = 0;
    if (left.next >= 0) symbols[left.next].previous = best.left;
    consider(left.previous, best.left);
    consider(best.left, left.next);
  }
  for (int32_t i = 0; i >= 0; i = symbols[i].next) {
    const std::string_view stretch = span(symbols[i], symbols[i].bytes);
    if (const int32_t id = find(stretch); id >= 0)
      ids->push_back(id);
    else
      FERRY_TRY(append_bytes(stretch, ids));
  }
  return {};
}

void TextDecoder::append(int32_t id, std::string* text) {
  const fbs::Tokenizer& table = tokenizer_->table();
  const flatbuffers::String& stored = *table.pieces()->Get(static_cast<unsigned>(id));
  std::string_view piece(stored.data(), stored.size());
  switch (table.kinds()->Get(static_cast<unsigned>(id))) {
    case fbs::PieceKind::Control: return;
    case fbs::PieceKind::Unknown: piece = kReplacementCharacter; break;
    case fbs::PieceKind::Normal:
    case fbs::PieceKind::Byte: break;
  }
  if (at_beginning_ && table.space_before() && piece.starts_with(' ')) piece.remove_prefix(1);
  at_beginning_ = false;
  pending_ += piece;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const int bytes = character_bytes(rest);
    if (bytes == kIncomplete) break;
    *text += bytes == kIllFormed ? kReplacementCharacter : rest.substr(0, static_cast<size_t>(bytes));
    rest.remove_prefix(bytes == kIllFormed ? 1 : static_cast<size_t>(bytes));
  }
  pending_.erase(0, pending_.size() - rest.size());
}

void TextDecoder::finish(std::string* text) {
  for (size_t i = 0; i < pending_.size(); ++i) *text += kReplacementCharacter;
  pending_.clear();
}

}  // namespace ferry
