// The models of a tokenizer: from a word (a stretch of normalized text) to the ids of its pieces.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sdk/status.h"
#include "sdk/text/prefix_walk.h"
#include "sdk/text/tokenizer.h"

namespace ferry {

// The pieces for text, sorted.
struct PieceAt {
  const Tokenizer* tokenizer;
  std::string_view operator()(uint32_t i) const {
    return tokenizer->piece(static_cast<int32_t>(tokenizer->table().order()->Get(i)));
  }
};

class WordEncoder {
 public:
  // Both must outlive it.
  WordEncoder(const Tokenizer& tokenizer, Budget& budget)
      : tokenizer_(tokenizer), table_(tokenizer.table()), budget_(budget) {
    characters_.fill({kNoCharacter, -1});
  }

  // Appends the ids of `word`, which is not empty. If the budget is exhausted, they are arbitrary. FERRY_UNSUPPORTED: a
  // character has no piece.
  Status encode(std::string_view word, std::vector<int32_t>* ids);

 private:
  // A part of the word, in a linked list.
  struct Symbol {
    int32_t id = 0;
    int32_t begin = 0, bytes = 0;  // ScoredBpe; 0 bytes: merged into the previous one
    int32_t previous = -1, next = -1;
  };
  // Two adjacent symbols whose concatenation is a piece.
  struct Pair {
    double score;
    int32_t left, right;
    int32_t bytes;  // of both when the pair was found; a pair whose symbols have grown is stale
    // For a max-heap: highest score first, leftmost of equal ones.
    bool operator<(const Pair& other) const { return score != other.score ? score < other.score : left > other.left; }
  };
  // The best segmentation from the word's beginning to a position.
  struct Way {
    double score = 0;
    int32_t from = -1, id = -1;
  };

  // The piece equal to `text`; -1: none.
  int32_t find(std::string_view text) const;
  int32_t find_character(Character character, std::string_view text);
  PrefixWalk<PieceAt> walk() const { return {table_.order() ? table_.order()->size() : 0, PieceAt{&tokenizer_}}; }
  bool append_bytes(std::string_view text, std::vector<int32_t>* ids) const;
  Status no_piece(std::string_view text) const;

  Status scored_bpe(std::string_view word, std::vector<int32_t>* ids);
  Status merged_bpe(std::string_view word, std::vector<int32_t>* ids);
  Status unigram(std::string_view word, std::vector<int32_t>* ids);
  Status word_piece(std::string_view word, std::vector<int32_t>* ids);

  void split(std::string_view word, std::vector<int32_t>* ids);
  // The rank of the pair's merge; kNoRank: none.
  static constexpr uint32_t kNoRank = UINT32_MAX;
  uint32_t rank(int32_t left, int32_t right) const;

  const Tokenizer& tokenizer_;
  const fbs::Tokenizer& table_;
  Budget& budget_;
  struct Found {
    Character character;
    int32_t id;
  };
  std::array<Found, 1024> characters_;  // cache of pieces of single characters
  std::vector<Symbol> symbols_;
  std::vector<Pair> pairs_;
  std::vector<uint64_t> merges_;  // a min-heap: rank << 32 | symbol
  std::vector<int32_t> parts_;
  std::vector<Way> ways_;
  std::string spelt_;
};

}  // namespace ferry
