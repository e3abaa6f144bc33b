// A text that a language model goes on with: token after token, each run reading only what is new.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/graph/session.h"
#include "sdk/text/tokenizer.h"

namespace ferry {

class Generator {
 public:
  // `session`, which outlives the generator and is nobody else's to run, is of a model whose task is text.
  // `tokenizer`: null where the model has none. FERRY_UNSUPPORTED for any other model.
  static Status create(Session& session, std::shared_ptr<const Tokenizer> tokenizer, std::unique_ptr<Generator>* out);

  // Puts tokens behind the text; they are run when the next one is asked for. FERRY_INVALID_ARGUMENT for an id outside
  // the vocabulary, FERRY_STATE_FULL where the text would exceed max_length().
  Status append(std::span<const int32_t> tokens);
  // The same with text; at the beginning as the tokenizer begins one. FERRY_NOT_FOUND: the model has no tokenizer.
  Status append_text(std::string_view text);
  // The most probable token (of equal ones the first), which becomes the text's last. Where a run fails, the next call
  // goes on where this one stopped.
  Status next(int32_t* token);
  // Forgets the text.
  Status reset();

  // What the last next() completed: whole characters. Valid until the next call.
  std::string_view text() const { return text_; }
  // Did the last next() give a token that ends the text?
  bool ended() const { return ended_; }
  // Tokens of the text, and how many it may have.
  int32_t length() const { return length_; }
  int32_t max_length() const { return max_length_; }

 private:
  Generator(Session& session, std::shared_ptr<const Tokenizer> tokenizer);
  Status run_pending();

  Session& session_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  TensorId ids_{}, logits_{};
  int32_t max_run_ = 0, max_length_ = 0, vocabulary_ = 0;
  int32_t length_ = 0;            // pending ones included
  std::vector<int32_t> pending_;  // of the text, not yet run
  std::optional<TextDecoder> decoder_;
  std::string text_;
  bool ended_ = false;
};

}  // namespace ferry
