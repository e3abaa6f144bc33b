// Text to token ids and back, as a Tokenizer of a blob says. Knows no network, and no table of Unicode: what a
// tokenizer needs of it, the converter has compiled into its steps.
//
//     std::unique_ptr<Tokenizer> tokenizer;
//     FERRY_TRY(Tokenizer::create(*text.tokenizer(), &tokenizer));
//     FERRY_TRY(tokenizer->encode("Once upon a time", {}, &ids));
//     TextDecoder decoder(*tokenizer);
//     for (int32_t id : ids) decoder.append(id, &text);
//     decoder.finish(&text);
//
// A tokenizer never changes: any number of threads may use it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/status.h"
#include "sdk/text/pattern.h"
#include "text_generated.h"

namespace ferry {

class Tokenizer {
 public:
  // `table` has been verified (sdk/text/verify_text.h) and outlives the tokenizer. Nothing is built: it is read in
  // place.
  static Status create(const fbs::Tokenizer& table, std::unique_ptr<Tokenizer>* out);

  struct Options {
    bool special = true;    // the tokens that stand before and behind every text
    bool beginning = true;  // false: the text goes on with another, so that nothing is put before it
  };
  // Appends the ids of `text`: any bytes, at most kMaxTextBytes. Special tokens that are written in it become theirs.
  // Time and memory grow with n log n and n of its bytes. FERRY_INVALID_ARGUMENT for a longer one, FERRY_UNSUPPORTED
  // where no piece stands for a character, or where the tokenizer's patterns take more steps than a text may.
  Status encode(std::string_view text, Options options, std::vector<int32_t>* ids) const;
  static constexpr size_t kMaxTextBytes = size_t{1} << 26;

  // Ids are 0 to size() - 1.
  int32_t size() const { return static_cast<int32_t>(table_.pieces()->size()); }
  // Does a text end where the network gives this id?
  bool ends_text(int32_t id) const;
  std::string_view piece(int32_t id) const;
  const fbs::Tokenizer& table() const { return table_; }

 private:
  explicit Tokenizer(const fbs::Tokenizer& table) : table_(table) {}

  const fbs::Tokenizer& table_;
};

// Token ids to text, token by token: what it gives is always whole characters. Bytes that form none become U+FFFD.
class TextDecoder {
 public:
  explicit TextDecoder(const Tokenizer& tokenizer, bool skip_special = true);

  // Adds to `text` the characters that are complete with this token, an id of the tokenizer's.
  void append(int32_t id, std::string* text);
  // The text ends: what is left of a character is none.
  void finish(std::string* text);

 private:
  void decode(int32_t id, bool last, std::string* text);
  void end_run(std::string* text);
  void put(std::string_view bytes, std::string* text);
  void put_ill_formed(size_t bytes, std::string* text);

  const Tokenizer* tokenizer_;
  bool skip_special_;
  bool first_ = true;
  int32_t held_ = -1;    // the token before, where the last one differs
  std::string run_;      // bytes of the byte tokens before
  std::string pending_;  // the beginning of a character
  uint32_t strip_;       // so many may still be lost at the beginning
};

}  // namespace ferry
