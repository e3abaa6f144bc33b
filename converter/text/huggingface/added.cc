// Added tokens, and the post-processor's tokens around a text.
#include <algorithm>
#include <memory>
#include <unordered_set>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/parts.h"
#include "converter/text/huggingface/regex.h"
#include "sdk/text/steps.h"
#include "sdk/text/verify_text.h"

namespace ferry::huggingface {
namespace {

using nlohmann::json;

// Applies the table's normalizer to a text.
class Normalizer {
 public:
  Normalizer(const fbs::TokenizerT& table, const std::string& where) : where_(where) {
    fbs::TokenizerT alone;
    for (const auto& step : table.normalizer) alone.normalizer.push_back(std::make_unique<fbs::StepT>(*step));
    builder_.Finish(fbs::CreateTokenizer(builder_, &alone));
  }
  std::string operator()(const std::string& text) const {
    const auto& table = *flatbuffers::GetRoot<fbs::Tokenizer>(builder_.GetBufferPointer());
    Budget budget = Budget::for_text(text.size());
    Stretches stretches{text};
    Steps(table.normalizer(), budget).apply(&stretches, true, false);
    if (budget.exhausted() || stretches.bytes.size() > kMaxPieceBytes)
      fail("%s: its normalizer makes more than %u bytes of the added token %s", where_.c_str(), kMaxPieceBytes,
           in_quotes(text).c_str());
    return stretches.bytes;
  }

 private:
  const std::string& where_;
  flatbuffers::FlatBufferBuilder builder_;
};

void check_around(const std::vector<int>& before, const std::vector<int>& after, const std::string& where) {
  if (std::max(before.size(), after.size()) > kMaxAround)
    fail("%s: its post-processor puts more than %u ids before or behind every text", where.c_str(), kMaxAround);
}

// The tokens before and after the sequence in TemplateProcessing.
void add_template(const json& part, const std::string& where, std::vector<int>* before, std::vector<int>* after) {
  if (absent(part, "single") || !part["single"].is_array())
    fail("%s: its TemplateProcessing has no \"single\"", where.c_str());
  static const json kNone = json::object();
  const auto given = part.find("special_tokens");
  const json& known = given != part.end() ? *given : kNone;
  bool sequence = false;
  for (const json& piece : part["single"]) {
    if (!absent(piece, "Sequence")) {
      if (std::exchange(sequence, true) || text_of(piece["Sequence"], "id", where) != "A")
        fail("%s: a TemplateProcessing with any sequence but one A is not supported", where.c_str());
      continue;
    }
    if (absent(piece, "SpecialToken")) fail("%s: its TemplateProcessing has a part of an unknown kind", where.c_str());
    const std::string name = text_of(piece["SpecialToken"], "id", where);
    if (!known.contains(name) || absent(known[name], "ids") || !known[name]["ids"].is_array())
      fail("%s: its TemplateProcessing has no ids of %s", where.c_str(), in_quotes(name).c_str());
    for (const json& id : known[name]["ids"]) {
      if (!id.is_number_integer()) fail("%s: an id of %s is invalid", where.c_str(), in_quotes(name).c_str());
      (sequence ? after : before)->push_back(id);
      check_around(*before, *after, where);
    }
  }
  if (!sequence) fail("%s: its TemplateProcessing omits the text, which is not supported", where.c_str());
}

// BertProcessing's ["[SEP]", 102].
int id_of_pair(const json& part, const char* key, const std::string& where) {
  if (absent(part, key) || !part[key].is_array() || part[key].size() != 2 || !part[key][1].is_number_integer())
    fail("%s: its \"%s\" is not a token with its id", where.c_str(), key);
  return part[key][1];
}

}  // namespace

void index_added(fbs::AddedTokensT* list) {
  std::stable_sort(list->tokens.begin(), list->tokens.end(),
                   [](const auto& a, const auto& b) { return a->content < b->content; });
  list->first_bytes.assign(8, 0);
  for (const auto& token : list->tokens) {
    const auto byte = static_cast<uint8_t>(token->content[0]);
    list->first_bytes[byte / 32] |= 1u << byte % 32;
  }
}

void add_added_tokens(const json& tokens, const std::string& where, fbs::TokenizerT* table, Ids* ids) {
  if (tokens.is_null()) return;
  if (!tokens.is_array()) fail("%s: \"added_tokens\" is not a list", where.c_str());
  const Normalizer normalize(*table, where);
  std::unordered_set<uint32_t> respelt;
  auto plain = std::make_unique<fbs::AddedTokensT>(), normalized = std::make_unique<fbs::AddedTokensT>();
  size_t next = ids->size();
  std::map<std::string, std::unique_ptr<fbs::AddedTokenT>> all;
  for (const json& token : tokens) {
    const std::string content = text_of(token, "content", where);
    if (content.empty()) continue;
    if (content.size() > kMaxPieceBytes)
      fail("%s: the added token %s has %zu bytes, at most %u are allowed", where.c_str(), in_quotes(content).c_str(),
           content.size(), kMaxPieceBytes);
    // Like the library, ignores "id": uses the vocabulary's id, else the next one.
    const auto known = ids->find(content);
    const size_t id = all.contains(content) ? static_cast<size_t>(all[content]->id)
                      : known != ids->end() ? static_cast<size_t>(known->second)
                                            : next++;
    if (id >= kMaxPieces) fail("%s: more than %u pieces", where.c_str(), kMaxPieces);
    if (id >= table->pieces.size()) {
      table->pieces.resize(id + 1);
      table->kinds.resize(id + 1, fbs::PieceKind::Absent);
    }
    const bool special = flag_of(token, "special", where);
    auto made = std::make_unique<fbs::AddedTokenT>();
    made->content = flag_of(token, "normalized", where, !special) ? normalize(content) : content;
    made->id = static_cast<int>(id);
    made->single_word = flag_of(token, "single_word", where);
    made->strip_left = flag_of(token, "lstrip", where);
    made->strip_right = flag_of(token, "rstrip", where);
    std::string piece = made->content;
    if (table->bytewise) to_bytes(&piece);
    if (table->pieces[id] != piece) respelt.insert(static_cast<uint32_t>(id));
    table->pieces[id] = std::move(piece);
    table->kinds[id] = special && made->content == content ? fbs::PieceKind::Control : fbs::PieceKind::Normal;
    if (made->single_word && !table->word_characters) table->word_characters = compile_class(kWord, where);
    if ((made->strip_left || made->strip_right) && !table->space_characters)
      table->space_characters = compile_class("[\\s]", where);
    all[content] = std::move(made);
  }
  std::erase_if(table->order, [&](uint32_t id) { return respelt.contains(id); });
  for (const json& token : tokens) {
    const auto found = all.find(text_of(token, "content", where));
    if (found == all.end() || !found->second || found->second->content.empty()) continue;
    const bool as_normalized = flag_of(token, "normalized", where, !flag_of(token, "special", where));
    (as_normalized ? normalized : plain)->tokens.push_back(std::move(found->second));
  }
  for (auto* list : {&plain, &normalized}) index_added(list->get());
  if (!plain->tokens.empty()) table->added = std::move(plain);
  if (!normalized->tokens.empty()) table->added_normalized = std::move(normalized);
}

void add_post_processor(const json& part, const Ids& ids, const std::string& where, fbs::TokenizerT* table) {
  if (part.is_null()) return;
  const std::string type = type_of(part, where);
  if (type == "ByteLevel") return;
  if (type == "Sequence") {
    if (absent(part, "processors") || !part["processors"].is_array())
      fail("%s: its Sequence has no \"processors\"", where.c_str());
    for (const json& each : part["processors"]) add_post_processor(each, ids, where, table);
    return;
  }
  std::vector<int> before, after;
  if (type == "TemplateProcessing") {
    add_template(part, where, &before, &after);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    before = {id_of_pair(part, "cls", where)};
    after = {id_of_pair(part, "sep", where)};
  } else {
    fail("%s: the post-processor %s is not supported", where.c_str(), in_quotes(type).c_str());
  }
  for (const auto* list : {&before, &after})
    for (const int id : *list)
      if (id < 0 || static_cast<size_t>(id) >= table->pieces.size())
        fail("%s: its post-processor adds the id %d, which none of the %zu pieces has", where.c_str(), id,
             table->pieces.size());
  table->before.insert(table->before.begin(), before.begin(), before.end());
  table->after.insert(table->after.end(), after.begin(), after.end());
  check_around(table->before, table->after, where);
}

}  // namespace ferry::huggingface
