#include "converter/checkpoint/json.h"

#include "converter/error.h"
#include "converter/text/huggingface/parts.h"
#include "converter/text/huggingface/regex.h"

namespace ferry::huggingface {

using nlohmann::json;

bool absent(const json& object, const char* key) {
  return !object.is_object() || !object.contains(key) || object[key].is_null();
}

std::string text_of(const json& object, const char* key, const std::string& where, const std::string& otherwise) {
  if (absent(object, key)) return otherwise;
  if (!object[key].is_string()) fail("%s: \"%s\" is not a text", where.c_str(), key);
  return object[key];
}

bool flag_of(const json& object, const char* key, const std::string& where, bool otherwise) {
  if (absent(object, key)) return otherwise;
  if (!object[key].is_boolean()) fail("%s: \"%s\" is neither true nor false", where.c_str(), key);
  return object[key];
}

int64_t number_of(const json& object, const char* key, const std::string& where, int64_t minimum, int64_t maximum,
                  int64_t otherwise) {
  if (absent(object, key)) return otherwise;
  const json& value = object[key];
  if (!value.is_number_integer() || value < minimum || value > maximum)
    fail("%s: \"%s\" is not an integer from %lld to %lld", where.c_str(), key, static_cast<long long>(minimum),
         static_cast<long long>(maximum));
  return value;
}

std::string type_of(const json& object, const std::string& where) {
  if (absent(object, "type")) fail("%s: it has no \"type\"", where.c_str());
  return text_of(object, "type", where);
}

std::string expression_of(const json& pattern, const std::string& where) {
  if (pattern.is_string()) return escaped(pattern.get<std::string>());
  if (!absent(pattern, "String")) return escaped(text_of(pattern, "String", where));
  if (absent(pattern, "Regex")) fail("%s: its pattern is neither a \"String\" nor a \"Regex\"", where.c_str());
  return text_of(pattern, "Regex", where);
}

}  // namespace ferry::huggingface
