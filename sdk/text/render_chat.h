// Renders a conversation with a model's chat template.
#pragma once

#include <string>
#include <string_view>

#include "sdk/status.h"
#include "text_generated.h"

namespace ferry {

// `chat`: JSON as in jinja::read_chat(); the time is this machine's. Appends to `out`. FERRY_NOT_FOUND: there is no
// template. FERRY_INVALID_ARGUMENT: `chat` is invalid, or the template failed; the message has the line.
Status render_chat(const fbs::Text& text, std::string_view chat, std::string* out);

}  // namespace ferry
