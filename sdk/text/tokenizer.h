// Text to token ids and back, as the Tokenizer of a blob says. Knows no network.
//
//     std::unique_ptr<Tokenizer> tokenizer;
//     FERRY_TRY(Tokenizer::create(*model.graph().tokenizer(), &tokenizer));
//     FERRY_TRY(tokenizer->encode("Once upon a time", {}, &ids));
//     TextDecoder decoder(*tokenizer);
//     for (int32_t id : ids) decoder.append(id, &text);
//
// A tokenizer never changes: any number of threads may use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

class Tokenizer {
 public:
  // `table` has been verified (sdk/model/verify_tokenizer.cc) and outlives the tokenizer.
  static Status create(const fbs::Tokenizer& table, std::unique_ptr<Tokenizer>* out);

  struct Beginning {
    bool bos = true;    // the token that stands before every text, where there is one
    bool space = true;  // the space that a text begins with, where the table asks for it
  };
  // Appends the ids of `text`: any bytes, at most kMaxTextBytes. Time and memory grow with n log n and n of its bytes.
  // FERRY_INVALID_ARGUMENT for a longer one, FERRY_UNSUPPORTED where no piece stands for one of its bytes.
  Status encode(std::string_view text, Beginning beginning, std::vector<int32_t>* ids) const;
  static constexpr size_t kMaxTextBytes = size_t{1} << 26;

  // Ids are 0 to size() - 1.
  int32_t size() const { return static_cast<int32_t>(table_.pieces()->size()); }
  // Does a text end where the network gives this id?
  bool ends_text(int32_t id) const;
  const fbs::Tokenizer& table() const { return table_; }

 private:
  explicit Tokenizer(const fbs::Tokenizer& table) : table_(table) { byte_ids_.fill(-1); }

  struct Entry {
    uint64_t hash;
    int32_t id;
  };
  std::string_view piece(int32_t id) const;
  // The normal piece that is `text`; -1: there is none.
  int32_t find(std::string_view text) const;
  Status merge(std::string_view text, std::vector<int32_t>* ids) const;
  Status append_bytes(std::string_view bytes, std::vector<int32_t>* ids) const;

  const fbs::Tokenizer& table_;
  std::unique_ptr<Entry[]> index_;  // the normal pieces, by hash and text; of equal ones the first counts
  size_t indexed_ = 0;
  size_t longest_ = 0;  // bytes of a normal piece
  std::array<int32_t, 256> byte_ids_;
  int32_t unknown_ = -1;
};

// Token ids to text, token by token: what it gives is always whole characters. Bytes that form none become U+FFFD, one
// each.
class TextDecoder {
 public:
  explicit TextDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  // Adds to `text` the characters that are complete with this token, an id of the tokenizer's.
  void append(int32_t id, std::string* text);
  // The text ends: what is left of a character is none.
  void finish(std::string* text);

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;  // the beginning of a character
  bool at_beginning_ = true;
};

}  // namespace ferry
