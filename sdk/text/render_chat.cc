#include "sdk/text/render_chat.h"

#include <ctime>
#include <vector>

#include "sdk/text/strings.h"
#include "sdk/text/template/chat.h"
#include "sdk/text/template/work.h"

namespace ferry {
namespace {

Status in_template(const Status& status) {
  return status.ok() ? Status() : error(status.code(), "the chat template, %s", status.message().data());
}

}  // namespace

Status render_chat(const fbs::Text& text, std::string_view chat, std::string* out) {
  if (view(text.chat_template()).empty()) return error(FERRY_NOT_FOUND, "there is no chat template");
  std::vector<jinja::SpecialToken> tokens;
  for (uint32_t i = 0; text.special_tokens() != nullptr && i < text.special_tokens()->size(); ++i)
    tokens.push_back({view(text.special_token_names()->Get(i)), view(text.special_tokens()->Get(i))});
  jinja::Arena values(jinja::kMaxValueBytes);
  jinja::Value context;
  FERRY_TRY(jinja::read_chat(chat, tokens, values, &context));
  const bool with_tools = jinja::offers_tools(context) && !view(text.chat_template_with_tools()).empty();
  std::unique_ptr<jinja::Template> made;
  FERRY_TRY(in_template(
      jinja::Template::parse(view(with_tools ? text.chat_template_with_tools() : text.chat_template()), &made)));
  const std::time_t seconds = std::time(nullptr);
  std::tm now{};
  localtime_r(&seconds, &now);
  std::string_view rendered;
  FERRY_TRY(made->render(context, &now, values, &rendered));
  *out += rendered;
  return {};
}

}  // namespace ferry
