// Converts text to token ids and back with a blob's tokenizer. It has no Unicode tables; the converter compiled what a
// tokenizer needs into its steps.
//
//     std::unique_ptr<Tokenizer> tokenizer;
//     FERRY_TRY(Tokenizer::create(*text.tokenizer(), &tokenizer));
//     FERRY_TRY(tokenizer->encode("Once upon a time", {}, &ids));
//     TextDecoder decoder(*tokenizer);
//     for (int32_t id : ids) decoder.append(id, &text);
//     decoder.finish(&text);
//
// A tokenizer is immutable; many threads may use it at once.
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
  // `table` has been verified (sdk/text/verify_text.h) and must outlive the tokenizer, which reads it in place.
  static Status create(const fbs::Tokenizer& table, std::unique_ptr<Tokenizer>* out);

  struct Options {
    bool special = true;    // add the tokens that begin and end every text
    bool beginning = true;  // false: the text continues another one, and nothing is put before it
  };
  // Appends the ids of `text`: any bytes, at most kMaxTextBytes. Special tokens in the text are recognised. Time grows
  // with n log n and memory with n. FERRY_INVALID_ARGUMENT: the text is too long. FERRY_UNSUPPORTED: a character has no
  // piece, or the tokenizer's patterns exceed the maximum number of steps.
  Status encode(std::string_view text, Options options, std::vector<int32_t>* ids) const;
  static constexpr size_t kMaxTextBytes = size_t{1} << 26;

  // Ids are 0 to size() - 1.
  int32_t size() const { return static_cast<int32_t>(table_.pieces()->size()); }
  // Whether this id ends a text, by the tokenizer (ModelText::ends_text() knows all).
  bool ends_text(int32_t id) const;
  std::string_view piece(int32_t id) const;
  const fbs::Tokenizer& table() const { return table_; }

 private:
  explicit Tokenizer(const fbs::Tokenizer& table) : table_(table) {}

  const fbs::Tokenizer& table_;
};

// Decodes token ids to text, token by token. The output is always whole characters, with U+FFFD for invalid bytes.
class TextDecoder {
 public:
  explicit TextDecoder(const Tokenizer& tokenizer, bool skip_special = true);

  // Appends to `text` the characters that this token completes.
  void append(int32_t id, std::string* text);
  // The end of the text: an incomplete character becomes U+FFFD.
  void finish(std::string* text);

 private:
  void decode(int32_t id, bool last, std::string* text);
  void end_run(std::string* text);
  void put(std::string_view bytes, std::string* text);
  void put_ill_formed(size_t bytes, std::string* text);

  const Tokenizer* tokenizer_;
  bool skip_special_;
  bool first_ = true;
  int32_t held_ = -1;    // the previous token, if the last one is decoded differently
  std::string run_;      // bytes of preceding byte tokens
  std::string pending_;  // an incomplete character
  uint32_t strip_;       // characters that may still be stripped at the beginning
};

}  // namespace ferry
