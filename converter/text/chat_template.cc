#include "converter/text/chat_template.h"

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {
namespace {

using nlohmann::json;

constexpr const char* kTokenNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};

// An empty object if the file does not exist.
json read_object(const Companions& files, const char* name) {
  if (!files.has(name)) return json::object();
  json read = files.read_json(name);
  if (!read.is_object()) fail("%s is not a JSON object", files.where(name).c_str());
  return read;
}

// A template is a text, or a list of {"name", "template"}.
void read_template(const json& value, const std::string& path, ChatTemplate* out) {
  if (value.is_string()) {
    out->text = value.get<std::string>();
    return;
  }
  if (!value.is_array()) fail("%s: chat_template is neither a text nor a list", path.c_str());
  for (const json& named : value) {
    const json name = named.is_object() ? named.value("name", json()) : json();
    const json text = named.is_object() ? named.value("template", json()) : json();
    if (!name.is_string() || !text.is_string())
      fail("%s: chat_template has an element without \"name\" and \"template\"", path.c_str());
    if (name == "default") out->text = text.get<std::string>();
    if (name == "tool_use") out->text_with_tools = text.get<std::string>();
  }
}

// A token is a text, or an object with its content.
void add_token(const std::string& name, const json& value, ChatTemplate* out) {
  const json& text = value.is_object() && value.contains("content") ? value["content"] : value;
  if (text.is_string()) out->special_tokens.emplace_back(name, text.get<std::string>());
}

}  // namespace

ChatTemplate chat_template_in(const Companions& files) {
  constexpr const char *kConfig = "tokenizer_config.json", *kProcessor = "chat_template.json";
  ChatTemplate out;
  const json config = read_object(files, kConfig);
  if (files.has("chat_template.jinja")) {
    out.text = files.read("chat_template.jinja");
    out.text_with_tools = files.read("additional_chat_templates/tool_use.jinja");
  } else if (const json read = read_object(files, kProcessor); read.contains("chat_template")) {
    read_template(read["chat_template"], files.where(kProcessor), &out);
  } else if (config.contains("chat_template") && !config["chat_template"].is_null()) {
    read_template(config["chat_template"], files.where(kConfig), &out);
  }
  const json map = read_object(files, "special_tokens_map.json");
  for (const char* name : kTokenNames) {
    const json& from = config.contains(name) ? config : map;
    if (from.contains(name)) add_token(name, from[name], &out);
  }
  if (config.contains("extra_special_tokens") && config["extra_special_tokens"].is_object())
    for (const auto& [name, value] : config["extra_special_tokens"].items()) add_token(name, value, &out);
  return out;
}

void add_chat_template(const ChatTemplate& from, fbs::TextT* text) {
  text->chat_template = from.text;
  text->chat_template_with_tools = from.text_with_tools;
  for (const auto& [name, value] : from.special_tokens) {
    text->special_token_names.push_back(name);
    text->special_tokens.push_back(value);
  }
}

}  // namespace ferry
