#include "converter/text/huggingface/tokenizer_class.h"

#include <algorithm>
#include <optional>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/parts.h"

namespace ferry::huggingface {
namespace {

using nlohmann::json;

constexpr const char* kFlags[] = {"add_bos_token", "add_eos_token"};
constexpr const char* kTokens[] = {"bos_token", "eos_token"};

// A class whose fast tokenizer rebuilds its post-processor: its tokens, and whether it adds them, by default.
struct TokenizerClass {
  std::string_view name;  // without "Tokenizer" or "TokenizerFast"
  const char* tokens[2];
  bool adds[2];
};
constexpr TokenizerClass kClasses[] = {{"Llama", {"<s>", "</s>"}, {true, false}},
                                       {"CodeLlama", {"<s>", "</s>"}, {true, false}},
                                       {"Gemma", {"<bos>", "<eos>"}, {true, false}},
                                       {"Cohere", {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"}, {true, false}},
                                       {"GPTNeoX", {"<|endoftext|>", "<|endoftext|>"}, {false, false}}};

// The class of a model type, for a tokenizer_config.json without a class (transformers' TOKENIZER_MAPPING_NAMES).
constexpr std::pair<std::string_view, std::string_view> kModelTypes[] = {
    {"llama", "LlamaTokenizer"},          {"mistral", "LlamaTokenizer"},     {"mixtral", "LlamaTokenizer"},
    {"phi3", "LlamaTokenizer"},           {"phimoe", "LlamaTokenizer"},      {"deepseek_v3", "LlamaTokenizer"},
    {"code_llama", "CodeLlamaTokenizer"}, {"gemma", "GemmaTokenizer"},       {"gemma2", "GemmaTokenizer"},
    {"gemma3", "GemmaTokenizer"},         {"gemma3_text", "GemmaTokenizer"}, {"cohere", "CohereTokenizer"},
    {"gpt_neox", "GPTNeoXTokenizer"},     {"olmo", "GPTNeoXTokenizer"},      {"olmo2", "GPTNeoXTokenizer"}};

std::string class_name(const json& config, const json& model, const std::string& where) {
  if (!absent(config, "tokenizer_class")) return text_of(config, "tokenizer_class", where);
  if (!absent(model, "tokenizer_class")) return text_of(model, "tokenizer_class", "config.json");
  if (absent(model, "model_type") || !model["model_type"].is_string()) return {};
  for (const auto& [type, name] : kModelTypes)
    if (model["model_type"] == type) return std::string(name);
  return {};
}

const TokenizerClass* class_named(std::string_view name) {
  for (const TokenizerClass& known : kClasses)
    if (name.starts_with(known.name) &&
        (name.substr(known.name.size()) == "Tokenizer" || name.substr(known.name.size()) == "TokenizerFast"))
      return &known;
  return nullptr;
}

// A token is a text, or an object with its content. Nothing if the file has no such key; empty for null.
std::optional<std::string> token_in(const json& config, const char* key, const std::string& where) {
  if (!config.is_object() || !config.contains(key)) return {};
  const json& token = config[key];
  return token.is_object() ? text_of(token, "content", where) : text_of(config, key, where);
}

// -1: no piece is this token.
int id_of(const std::string& token, const fbs::TokenizerT& table) {
  if (token.empty()) return -1;
  for (const auto* list : {table.added.get(), table.added_normalized.get()})
    for (size_t i = 0; list && i < list->tokens.size(); ++i)
      if (list->tokens[i]->content == token) return list->tokens[i]->id;
  for (const uint32_t id : table.order)
    if (table.pieces[id] == token) return static_cast<int>(id);
  return -1;
}

}  // namespace

void apply_tokenizer_class(const Companions& files, fbs::TokenizerT* table, std::vector<std::string>* notes) {
  const std::string where = files.where("tokenizer_config.json");
  const json config = files.read_json("tokenizer_config.json");
  const json map = files.read_json("special_tokens_map.json");
  const std::string name = class_name(config, files.read_json("config.json"), where);
  const TokenizerClass* known = class_named(name);
  int ids[2];
  std::string tokens[2];
  for (const int end : {0, 1}) {
    auto token = token_in(config, kTokens[end], where);
    if (!token) token = token_in(map, kTokens[end], files.where("special_tokens_map.json"));
    tokens[end] = token.value_or(known ? known->tokens[end] : "");
    ids[end] = id_of(tokens[end], *table);
  }
  table->bos = ids[0];
  if (ids[1] >= 0) table->eos.push_back(ids[1]);

  const bool silent = absent(config, kFlags[0]) && absent(config, kFlags[1]);
  if (!known || (silent && !absent(config, "backend"))) return;
  std::vector<int>* const around[2] = {&table->before, &table->after};
  const std::vector<int> given[2] = {table->before, table->after};
  for (const int end : {0, 1}) {
    const bool adds = flag_of(config, kFlags[end], where, known->adds[end]);
    const bool asked = adds && !absent(config, kFlags[end]);
    around[end]->clear();
    if (adds && ids[end] >= 0) around[end]->push_back(ids[end]);
    if (asked && ids[end] < 0)
      notes->push_back(where + ": " + kFlags[end] + " is true, but tokenizer.json has no " + kTokens[end] + " " +
                       in_quotes(tokens[end]) + ": none is added to texts");
  }
  if (silent && (table->before != given[0] || table->after != given[1]))
    notes->push_back("texts begin " + (table->before.empty() ? "without a token" : "with " + in_quotes(tokens[0])) +
                     ", the default of " + name +
                     " in transformers 4, and not as tokenizer.json says: add_bos_token and add_eos_token of "
                     "tokenizer_config.json decide");
}

void apply_flags(const Companions& files, fbs::TokenizerT* table) {
  const std::string where = files.where("tokenizer_config.json");
  const json config = files.read_json("tokenizer_config.json");
  if (!flag_of(config, kFlags[0], where, true)) table->before.clear();
  if (flag_of(config, kFlags[1], where)) table->after = table->eos;
}

}  // namespace ferry::huggingface
