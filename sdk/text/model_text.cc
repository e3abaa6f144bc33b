#include "sdk/text/model_text.h"

#include <algorithm>

#include "sdk/text/render_chat.h"
#include "sdk/text/verify_text.h"

namespace ferry {

Status ModelText::open(const ferry_model* model, std::unique_ptr<ModelText>* out) {
  auto made = std::make_unique<ModelText>();
  ferry_model* kept = nullptr;
  FERRY_TRY(status_of(ferry_model_open_graph(model, ferry_model_graph_name(model, 0), &kept)));
  made->model_.reset(kept);
  size_t bytes = 0;
  const void* data = ferry_model_text(kept, &bytes);
  if (data != nullptr) {
    FERRY_TRY(read_text({static_cast<const std::byte*>(data), bytes}, &made->text_));
    const fbs::Tokenizer* tokenizer = made->text_->tokenizer();
    if (tokenizer != nullptr) FERRY_TRY(Tokenizer::create(*tokenizer, &made->tokenizer_));
  }
  *out = std::move(made);
  return {};
}

bool ModelText::ends_text(int32_t id) const {
  const auto* ends = text_ != nullptr ? text_->ends() : nullptr;
  return (tokenizer_ && tokenizer_->ends_text(id)) ||
         (ends != nullptr && std::find(ends->begin(), ends->end(), id) != ends->end());
}

Status ModelText::require_tokenizer() const {
  if (tokenizer_ != nullptr) return {};
  return error(FERRY_NOT_FOUND, "'%.64s' has no tokenizer: it accepts token ids only", ferry_model_name(model_.get()));
}

Status ModelText::render(std::string_view chat, std::string* out) const {
  const Status status =
      text_ != nullptr ? render_chat(*text_, chat, out) : error(FERRY_NOT_FOUND, "there is no chat template");
  return status.ok() ? Status()
                     : error(status.code(), "'%.64s': %s", ferry_model_name(model_.get()), status.message().data());
}

}  // namespace ferry
