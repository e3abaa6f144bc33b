// The verified tokenizer and chat template of a model's blob, and objects created from them once.
#pragma once

#include <memory>

#include "sdk/text/handle.h"
#include "sdk/text/tokenizer.h"

namespace ferry {

class ModelText {
 public:
  // Keeps the blob open; it may have no text data. FERRY_CORRUPT, FERRY_UNSUPPORTED.
  static Status open(const ferry_model* model, std::unique_ptr<ModelText>* out);

  // Name of the graph for generation; null: the first graph.
  const char* graph() const {
    return text_ != nullptr && text_->graph() != nullptr ? text_->graph()->c_str() : nullptr;
  }

  // Neither a tokenizer nor a chat template.
  bool empty() const { return text_ == nullptr || (!tokenizer_ && text_->chat_template() == nullptr); }
  // Whether this id ends a text.
  bool ends_text(int32_t id) const;
  // Null: the model accepts token ids only.
  const Tokenizer* tokenizer() const { return tokenizer_.get(); }
  // Parameters for images; null: the model accepts text only.
  const fbs::Images* images() const { return text_ != nullptr ? text_->images() : nullptr; }
  // Null: the model's authors recommend none.
  const fbs::Sampling* sampling() const { return text_ != nullptr ? text_->sampling() : nullptr; }
  // FERRY_NOT_FOUND: there is no tokenizer.
  Status require_tokenizer() const;
  // sdk/text/render_chat.h
  Status render(std::string_view chat, std::string* out) const;

 private:
  ModelHandle model_;
  const fbs::Text* text_ = nullptr;  // null: no text data
  std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace ferry
