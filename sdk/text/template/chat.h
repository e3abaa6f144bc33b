// A chat as the variables that transformers' apply_chat_template() sets.
#pragma once

#include <span>

#include "sdk/text/template/template.h"

namespace ferry::jinja {

// "bos_token": "<s>"
struct SpecialToken {
  std::string_view name, text;
};

// `chat` is a JSON object with "messages" (a list), "tools" and "documents" (None if absent), and
// "add_generation_prompt" (false if absent). Its other keys, and those of "kwargs", are additional variables, which
// override special tokens. Results are in `arena`, except for the tokens, which must outlive it.
// FERRY_INVALID_ARGUMENT: `chat` is not such an object.
Status read_chat(std::string_view chat, std::span<const SpecialToken> tokens, Arena& arena, Value* context);

// Whether the chat has tools; some models have a separate template for that.
bool offers_tools(const Value& context);

}  // namespace ferry::jinja
