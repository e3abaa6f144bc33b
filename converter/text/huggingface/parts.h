// The parts of a tokenizer.json, each compiled into the table. All throw Error, which names what is not built.
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

// ---- of JSON

// The value of `key`; `otherwise` where it is absent or null. Throws Error where it is of another type.
std::string text_of(const nlohmann::json& object, const char* key, const std::string& where,
                    const std::string& otherwise = {});
bool flag_of(const nlohmann::json& object, const char* key, const std::string& where, bool otherwise = false);
int64_t number_of(const nlohmann::json& object, const char* key, const std::string& where, int64_t least, int64_t most,
                  int64_t otherwise);
bool absent(const nlohmann::json& object, const char* key);
// What a member "type" says, and the list of a Sequence or the object alone.
std::string type_of(const nlohmann::json& object, const std::string& where);
// {"String": ...} or {"Regex": ...}, as a regular expression.
std::string expression_of(const nlohmann::json& pattern, const std::string& where);

// A character of a word as Rust's regular expressions have it: with the joiners.
inline constexpr const char* kWord = "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]";

// ---- parts

void add_normalizer(const nlohmann::json& normalizer, StepBuilder& steps);
// True: it ends with ByteLevel, so that pieces are bytes.
bool add_pre_tokenizer(const nlohmann::json& pre_tokenizer, StepBuilder& steps);
// The vocabulary, merges and their options. `ids` are views into `file`.
void add_model(const TokenizerJson& file, bool bytewise, const std::string& where, fbs::TokenizerT* table, Ids* ids);
void add_added_tokens(const nlohmann::json& tokens, const std::string& where, fbs::TokenizerT* table, Ids* ids);
// Puts them in order, once all are there.
void index_added(fbs::AddedTokensT* list);
void add_post_processor(const nlohmann::json& post_processor, const Ids& ids, const std::string& where,
                        fbs::TokenizerT* table);
void add_decoder(const nlohmann::json& decoder, bool bytewise, const std::string& where, fbs::TokenizerT* table);

// "Ġthe" to " the": as characters of ByteLevel's alphabet. False: it has others, and is left as it is.
bool to_bytes(std::string* piece);

}  // namespace ferry::huggingface
