#include "models/language/config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/error.h"

namespace ferry::language {

using nlohmann::json;

Configuration::Configuration(const json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) fail("%s: an object is expected", where_.c_str());
}

const json* Configuration::find(const char* name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool Configuration::has(const char* name) const { return find(name) != nullptr; }

double Configuration::number(const char* name, std::optional<double> absent) const {
  const json* value = find(name);
  if (!value && absent) return *absent;
  if (!value || !value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0)
    fail("%s: %s is %s, where a number above 0 is expected", where(), name, value ? "not one" : "missing");
  return value->get<double>();
}

int Configuration::count(const char* name, std::optional<int> absent) const {
  if (!find(name) && absent) return *absent;
  const double value = number(name);
  if (value != std::floor(value) || value > 0x1p20)
    fail("%s: %s is %g, where a whole number of at most 2^20 is expected", where(), name, value);
  return static_cast<int>(value);
}

bool Configuration::flag(const char* name, bool absent) const {
  const json* value = find(name);
  if (!value) return absent;
  if (!value->is_boolean()) fail("%s: %s is neither true nor false", where(), name);
  return value->get<bool>();
}

std::string Configuration::text(const char* name, std::optional<std::string> absent) const {
  const json* value = find(name);
  if (!value && absent) return *absent;
  if (!value || !value->is_string()) fail("%s: %s is %s", where(), name, value ? "not a string" : "missing");
  return value->get<std::string>();
}

Configuration Configuration::inner(const char* name) const {
  static const json empty = json::object();
  const json* value = find(name);
  return Configuration(value ? *value : empty, where_ + ": " + name);
}

}  // namespace ferry::language
