// A chat as a template sees it: the variables that transformers' apply_chat_template() sets.
#pragma once

#include <span>

#include "sdk/text/template/template.h"

namespace ferry::jinja {

// "bos_token": "<s>"
struct SpecialToken {
  std::string_view name, text;
};

// `chat` is a JSON object: "messages", a list; "tools" and "documents" (none where they are absent),
// "add_generation_prompt" (false); its other keys, and those of "kwargs", are variables of their own, before which
// special tokens step back. What comes out lies in `arena`, but for the tokens, which outlive it.
// FERRY_INVALID_ARGUMENT for what is no such thing.
Status read_chat(std::string_view chat, std::span<const SpecialToken> tokens, Arena& arena, Value* context);

// Does it offer tools? Some models have a template of its own for these.
bool offers_tools(const Value& context);

}  // namespace ferry::jinja
