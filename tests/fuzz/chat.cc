// Renders a chat template. The input is the template up to the first zero, then the chat's JSON, or else a default chat
// with all kinds of content.
#include "sdk/text/template/chat.h"

#include "sdk/text/template/work.h"
#include "sdk/text/utf8.h"
#include "tests/fuzz/harness.h"

namespace {

constexpr std::string_view kChat = R"({"messages": [{"role": "system", "content": " Be brief.\n"}, {"role": "user",
    "content": [{"type": "text", "text": "a 日 b"}]}, {"role": "assistant", "content": null, "tool_calls": [{"id": "1",
    "function": {"name": "f", "arguments": {"x": 1, "y": [2.5, true]}}}]}], "tools": [{"function": {"name": "f",
    "parameters": {"properties": {"x": {"type": "integer"}}}}}], "add_generation_prompt": true, "n": -7, "s": "a,b"})";

void check_sentence(const ferry::Status& status) {
  ferry::fuzz::require(!status.message().empty() && status.message().size() < 1024, "an error without a sentence");
}

}  // namespace

FERRY_FUZZ(chat) {
  const size_t end = std::min(text.find('\0'), text.size());
  std::unique_ptr<jinja::Template> made;
  if (const Status status = jinja::Template::parse(text.substr(0, end), &made); !status.ok()) {
    check_sentence(status);
    require(status.message().find_first_of("\n\r") == std::string_view::npos, "a sentence of several lines");
    return;
  }
  jinja::Arena values(size_t{1} << 24);
  jinja::Value context;
  const jinja::SpecialToken tokens[] = {{"bos_token", "<s>"}};
  const std::string_view given = end < text.size() ? text.substr(end + 1) : kChat;
  if (const Status status = jinja::read_chat(given, tokens, values, &context); !status.ok())
    return check_sentence(status);
  const std::tm now{};
  std::string_view rendered;
  const Status status = made->render(context, &now, values, &rendered);
  if (!status.ok()) return;
  touch(rendered);
  while (!rendered.empty()) {
    const int size = character_bytes(rendered);
    require(size > 0, "a text that is no UTF-8");
    rendered.remove_prefix(static_cast<size_t>(size));
  }
}
