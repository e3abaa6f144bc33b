#include "converter/text/huggingface/tokenizer.h"

#include <fstream>
#include <iterator>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/parts.h"
#include "sdk/text/verify_text.h"

namespace ferry {
namespace {

using huggingface::absent;
using nlohmann::json;

// A token of tokenizer_config.json: its text, or an object with it.
std::string token_of(const json& config, const char* key, const std::string& where) {
  if (absent(config, key)) return {};
  const json& token = config[key];
  return token.is_object() ? huggingface::text_of(token, "content", where) : huggingface::text_of(config, key, where);
}

// The tokens at the beginning and end of a text.
void add_config(const std::filesystem::path& path, fbs::TokenizerT* table) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return;
  const std::string where = path.string();
  const json config = parse_json(std::string{std::istreambuf_iterator<char>(file), {}}, where);
  const auto find = [&](const char* key) -> int {
    const std::string token = token_of(config, key, where);
    if (token.empty()) return -1;
    for (const auto* list : {table->added.get(), table->added_normalized.get()})
      for (size_t i = 0; list && i < list->tokens.size(); ++i)
        if (list->tokens[i]->content == token) return list->tokens[i]->id;
    for (const uint32_t id : table->order)
      if (table->pieces[id] == token) return static_cast<int>(id);
    return -1;
  };
  table->bos = find("bos_token");
  if (const int eos = find("eos_token"); eos >= 0) table->eos.push_back(eos);
}

}  // namespace

std::unique_ptr<fbs::TokenizerT> read_huggingface_tokenizer(const std::filesystem::path& path) {
  const std::string where = path.string();
  const huggingface::TokenizerJson file = huggingface::read_tokenizer_json(path);
  const auto part = [&file](const char* key) { return file.rest.value(key, json()); };
  auto table = std::make_unique<fbs::TokenizerT>();
  StepBuilder normalizer(&table->normalizer, where), pre_tokenizer(&table->pre_tokenizer, where);
  huggingface::add_normalizer(part("normalizer"), normalizer);
  const bool bytewise = huggingface::add_pre_tokenizer(part("pre_tokenizer"), pre_tokenizer);
  for (const auto* steps : {&table->normalizer, &table->pre_tokenizer})
    if (steps->size() > kMaxSteps) fail("%s: more than %u steps", where.c_str(), kMaxSteps);
  huggingface::Ids ids;
  huggingface::add_model(file, bytewise, where, table.get(), &ids);
  huggingface::add_added_tokens(part("added_tokens"), where, table.get(), &ids);
  huggingface::add_post_processor(part("post_processor"), ids, where, table.get());
  huggingface::add_decoder(part("decoder"), bytewise, where, table.get());
  if (!table->scores.empty()) table->scores.resize(table->pieces.size());
  if (!table->merge_ends.empty())
    table->merge_ends.resize(table->pieces.size(), static_cast<uint32_t>(table->merges.size()));
  add_config(path.parent_path() / "tokenizer_config.json", table.get());
  return table;
}

}  // namespace ferry
