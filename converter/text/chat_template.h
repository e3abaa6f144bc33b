// The chat template from the files beside a checkpoint.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "converter/checkpoint/companions.h"
#include "text_generated.h"

namespace ferry {

struct ChatTemplate {
  std::string text;             // Jinja; empty: none
  std::string text_with_tools;  // used if a chat offers tools; empty: none
  // "bos_token", "<s>": variables of the template.
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

// Reads the first template of chat_template.jinja, chat_template.json and tokenizer_config.json; it may be a text or a
// list of named ones ("default", "tool_use"; also additional_chat_templates/tool_use.jinja). Tokens are from
// tokenizer_config.json, missing ones from special_tokens_map.json. Throws Error for damaged files.
ChatTemplate chat_template_in(const Companions& files);

// Writes it to a blob's text.
void add_chat_template(const ChatTemplate& from, fbs::TextT* text);

}  // namespace ferry
