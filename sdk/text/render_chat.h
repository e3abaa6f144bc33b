// A conversation as a model reads it: its chat template, rendered.
#pragma once

#include <string>
#include <string_view>

#include "sdk/status.h"
#include "text_generated.h"

namespace ferry {

// `chat`: JSON, as jinja::read_chat() takes it; the clock is this machine's. Adds to `out`. FERRY_NOT_FOUND: there is
// no template. FERRY_INVALID_ARGUMENT: `chat` is none, or the template says or does what is wrong, in which line.
Status render_chat(const fbs::Text& text, std::string_view chat, std::string* out);

}  // namespace ferry
