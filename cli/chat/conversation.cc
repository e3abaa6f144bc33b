#include "cli/chat/conversation.h"

#include <algorithm>

namespace ferry::cli {
namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

bool is_of(const ordered_json& message, const char* role) { return message["role"] == role; }

}  // namespace

void Conversation::reset() {
  messages_ = ordered_json::array();
  if (!system_.empty()) say("system", system_);
}

void Conversation::ask(const std::string& content, size_t images) {
  if (images == 0) return say("user", content);
  ordered_json parts = ordered_json::array();
  for (size_t i = 0; i < images; ++i) parts.push_back({{"type", "image"}});
  parts.push_back({{"type", "text"}, {"text", content}});
  messages_.push_back({{"role", "user"}, {"content", parts}});
}

void Conversation::take_back(size_t size) {
  while (messages_.size() > size) messages_.erase(messages_.size() - 1);
}

bool Conversation::forget_oldest() {
  const size_t first = !messages_.empty() && is_of(messages_[0], "system") ? 1 : 0;
  size_t next = first + 1;
  while (next < messages_.size() && !is_of(messages_[next], "user")) ++next;
  if (next >= messages_.size() || !messages_[first]["content"].is_string()) return false;
  for (size_t i = first; i < next; ++i) messages_.erase(first);
  return true;
}

std::string Conversation::saved() const { return dumped(messages_); }

void Conversation::restore(const std::string& json) {
  const ordered_json saved = ordered_json::parse(json, nullptr, false);
  const auto is_message = [](const ordered_json& m) {
    return m.is_object() && m.value("role", ordered_json()).is_string() &&
           m.value("content", ordered_json()).is_string();
  };
  if (!saved.is_array() || !std::all_of(saved.begin(), saved.end(), is_message))
    fail("this is not a conversation that ferry chat saved");
  messages_ = ordered_json::array();
  for (const ordered_json& message : saved) {
    const std::string& role = message["role"].get_ref<const std::string&>();
    if (message.value("thinking", ordered_json()).is_string())
      answer(message["content"], message["thinking"]);
    else
      say(role.c_str(), message["content"]);
  }
}

void Conversation::set_variable(const std::string& name, const ordered_json& value) {
  if (value.is_null())
    variables_.erase(name);
  else
    variables_[name] = value;
}

std::string Conversation::rendered(const TextHandle& text) const {
  ordered_json chat = {{"messages", messages_}, {"add_generation_prompt", true}};
  chat.update(variables_);
  return render(text, dumped(chat));
}

}  // namespace ferry::cli
