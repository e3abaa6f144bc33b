#include "converter/text/ends.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "converter/error.h"
#include "converter/text/generation_config.h"
#include "sdk/text/verify_text.h"

namespace ferry {
namespace {

using nlohmann::json;

constexpr const char* kKey = "eos_token_id";

// The ids that an object declares, without negative ones; nothing without the key.
std::optional<std::vector<int64_t>> declared(const json& object, const char* file) {
  if (!object.is_object() || !object.contains(kKey)) return {};
  const json& value = object[kKey];
  std::vector<int64_t> ids;
  if (value.is_null()) return ids;
  for (const json& id : value.is_array() ? value : json::array({value})) {
    if (!id.is_number_integer())
      fail("%s: %s is %.100s, expected a token id, a list of ids, or null", file, kKey, value.dump().c_str());
    const bool large = id.is_number_unsigned() && id.get<uint64_t>() > INT32_MAX;
    if (const int64_t number = large ? INT32_MAX : id.get<int64_t>(); number >= 0) ids.push_back(number);
  }
  return ids;
}

// Like transformers, uses the decoder's configuration if the outer one is null or has no such key.
std::optional<std::vector<int64_t>> declared_by(const json& config) {
  auto ids = declared(config, "config.json");
  if (ids && !config[kKey].is_null()) return ids;
  if (!config.is_object() || !config.contains("text_config")) return ids;
  auto inner = declared(config["text_config"], "config.json: text_config");
  return inner ? inner : ids;
}

std::string joined(const std::vector<int64_t>& ids) {
  std::string text;
  for (const int64_t id : ids) text += (text.empty() ? "" : ", ") + std::to_string(id);
  return text;
}

}  // namespace

void add_ends(const Companions& files, const json& config, int vocabulary, fbs::TextT* text,
              std::vector<std::string>* notes) {
  const json generation = read_generation_config(files);
  const bool exists = !generation.is_null();
  const auto ids = exists ? declared(generation, kGenerationConfig) : declared_by(config);
  if (const auto unused = declared_by(config); exists && !ids && unused && !unused->empty())
    notes->push_back(std::string(kGenerationConfig) + " has no " + kKey +
                     ", so no token ends a text, as in transformers' generate(); config.json has " + joined(*unused));

  std::vector<int> ends;
  const auto add = [&](int64_t id) {
    if (id >= vocabulary)
      notes->push_back("the token " + std::to_string(id) +
                       ", which is to end a text, is not in the model's vocabulary of " + std::to_string(vocabulary) +
                       ": it is never generated");
    else if (std::find(ends.begin(), ends.end(), id) == ends.end())
      ends.push_back(static_cast<int>(id));
  };
  if (ids) std::for_each(ids->begin(), ids->end(), add);
  fbs::TokenizerT* tokenizer = text->tokenizer.get();
  const bool by_llama2c = !files.has("tokenizer.json") && !files.has("tokenizer.model");
  const bool none = ids && ids->empty();
  const bool tokenizers_too = by_llama2c || (!exists && !ids) || (!text->chat_template.empty() && !none);
  if (tokenizer != nullptr && tokenizers_too) std::for_each(tokenizer->eos.begin(), tokenizer->eos.end(), add);
  if (ends.size() > kMaxEnds) fail("%s: %zu ids end a text, at most %u may", kKey, ends.size(), kMaxEnds);

  if (tokenizer != nullptr) tokenizer->eos.clear();
  // Format version 1 has ends with a piece only.
  for (const int id : ends) {
    const bool has_piece = tokenizer != nullptr && static_cast<size_t>(id) < tokenizer->pieces.size();
    (has_piece ? tokenizer->eos : text->ends).push_back(id);
  }
}

}  // namespace ferry
