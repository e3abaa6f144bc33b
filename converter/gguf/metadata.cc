#include "converter/gguf/metadata.h"

#include <cmath>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::gguf {

const Value* Metadata::find(std::string_view key) const {
  const auto found = file_.metadata.find(key);
  return found == file_.metadata.end() ? nullptr : &found->second;
}

const Value* Metadata::of_kind(std::string_view key, Value::Kind kind, const char* expected) const {
  const Value* value = find(key);
  if (value && value->kind != kind) fail("%s: %s is not %s", path_.c_str(), in_quotes(key).c_str(), expected);
  return value;
}

std::optional<double> Metadata::number(std::string_view key) const {
  const Value* value = of_kind(key, Value::Kind::Number, "a number");
  if (value && !std::isfinite(value->number)) fail("%s: %s is not finite", path_.c_str(), in_quotes(key).c_str());
  return value ? std::optional(value->number) : std::nullopt;
}

std::optional<bool> Metadata::flag(std::string_view key) const {
  const Value* value = of_kind(key, Value::Kind::Flag, "true or false");
  return value ? std::optional(value->number != 0) : std::nullopt;
}

std::optional<std::string> Metadata::text(std::string_view key) const {
  const Value* value = of_kind(key, Value::Kind::Text, "a text");
  return value ? std::optional(std::string(value->text)) : std::nullopt;
}

const Value* Metadata::list(std::string_view key, Value::Kind kind) const {
  return of_kind(key, kind, kind == Value::Kind::Texts ? "a list of texts" : "a list of numbers");
}

std::optional<int> Metadata::integer(std::string_view key) const {
  const std::optional<double> value = number(key);
  if (value && (*value < 0 || *value > 2147483647.0 || *value != std::floor(*value)))
    fail("%s: %s is %g, expected an integer from 0 to 2^31 - 1", path_.c_str(), in_quotes(key).c_str(), *value);
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace ferry::gguf
