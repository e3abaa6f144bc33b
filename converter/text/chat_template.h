// How a conversation is written for a model, as the files beside its checkpoint say.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "text_generated.h"

namespace ferry {

struct ChatTemplate {
  std::string text;             // Jinja; "": the folder has none
  std::string text_with_tools;  // takes its place where a chat offers tools; "": none does
  // "bos_token", "<s>": the variables that templates have of them.
  std::vector<std::pair<std::string, std::string>> special_tokens;
};

// From chat_template.jinja, chat_template.json or tokenizer_config.json, the first of them that has one, where it is a
// text or a list of named ones ("default", "tool_use"; also additional_chat_templates/tool_use.jinja). Tokens come from
// tokenizer_config.json, what is not there from special_tokens_map.json. Throws Error for files that are damaged.
ChatTemplate chat_template_in(const std::filesystem::path& folder);

// Into a blob's text.
void add_chat_template(const ChatTemplate& from, fbs::TextT* text);

}  // namespace ferry
