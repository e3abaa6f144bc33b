// Compiles the parts of a tokenizer.json into the table. All functions throw Error with the name of an unsupported
// part.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "converter/text/huggingface/tokenizer_json.h"
#include "converter/text/huggingface/unicode_steps.h"
#include "text_generated.h"

namespace ferry::huggingface {

using Ids = std::unordered_map<std::string_view, int>;

// ---- JSON

// The value of `key`; `otherwise` if absent or null. Throws Error if it has another type.
std::string text_of(const nlohmann::json& object, const char* key, const std::string& where,
                    const std::string& otherwise = {});
bool flag_of(const nlohmann::json& object, const char* key, const std::string& where, bool otherwise = false);
int64_t number_of(const nlohmann::json& object, const char* key, const std::string& where, int64_t minimum,
                  int64_t maximum, int64_t otherwise);
bool absent(const nlohmann::json& object, const char* key);
// The member "type", and the list of a Sequence or the object alone.
std::string type_of(const nlohmann::json& object, const std::string& where);
// {"String": ...} or {"Regex": ...}, as a regular expression.
std::string expression_of(const nlohmann::json& pattern, const std::string& where);

// A word character of Rust's regular expressions, joiners included.
inline constexpr const char* kWord = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]";

// ---- parts

void add_normalizer(const nlohmann::json& normalizer, StepBuilder& steps);
// Returns true if it ends with ByteLevel, so that pieces are bytes.
bool add_pre_tokenizer(const nlohmann::json& pre_tokenizer, StepBuilder& steps);
// Adds vocabulary, merges and their options. `ids` are views into `file`.
void add_model(const TokenizerJson& file, bool bytewise, const std::string& where, fbs::TokenizerT* table, Ids* ids);
void add_added_tokens(const nlohmann::json& tokens, const std::string& where, fbs::TokenizerT* table, Ids* ids);
// Sorts the complete list.
void index_added(fbs::AddedTokensT* list);
void add_post_processor(const nlohmann::json& post_processor, const Ids& ids, const std::string& where,
                        fbs::TokenizerT* table);
void add_decoder(const nlohmann::json& decoder, bool bytewise, const std::string& where, fbs::TokenizerT* table);

// "Ġthe" to " the": decodes ByteLevel's alphabet. Returns false, and leaves `piece` unchanged, if it has other
// characters.
bool to_bytes(std::string* piece);

}  // namespace ferry::huggingface
