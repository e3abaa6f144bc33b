// What a model's blob says of text, verified, with what is made of it once.
#pragma once

#include <memory>

#include "sdk/text/handle.h"
#include "sdk/text/tokenizer.h"

namespace ferry {

class ModelText {
 public:
  // Keeps the blob open; it may say nothing of text. FERRY_CORRUPT, FERRY_UNSUPPORTED.
  static Status open(const ferry_model* model, std::unique_ptr<ModelText>* out);

  // By which graph a text is gone on with; null: the first.
  const char* graph() const {
    return text_ != nullptr && text_->graph() != nullptr ? text_->graph()->c_str() : nullptr;
  }

  // Neither how text becomes tokens nor how a conversation is written.
  bool says_nothing() const { return text_ == nullptr || (!tokenizer_ && text_->chat_template() == nullptr); }
  // Null: the model takes token ids only.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  // How it sees images; null: it reads text alone.
  const fbs::Images* images() const { return text_ != nullptr ? text_->images() : nullptr; }
  // FERRY_NOT_FOUND where there is none.
  Status require_tokenizer() const;
  // sdk/text/render_chat.h
  Status render(std::string_view chat, std::string* out) const;

 private:
  ModelHandle model_;
  const fbs::Text* text_ = nullptr;  // null: nothing is said
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace ferry
