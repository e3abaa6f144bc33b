#include "models/language/config.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/error.h"

namespace ferry::language {

using nlohmann::json;

namespace {

bool is_positive(const json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

}  // namespace

Configuration::Configuration(const json& object, std::string where) : object_(&object), where_(std::move(where)) {
  if (!object.is_object()) fail("%s: expected an object", where_.c_str());
}

const json* Configuration::find(const char* name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

bool Configuration::has(const char* name) const { return find(name) != nullptr; }

bool Configuration::is_null(const char* name) const { return object_->contains(name) && !has(name); }

double Configuration::number(const char* name, std::optional<double> absent) const {
  const json* value = find(name);
  if (!value && absent) return *absent;
  if (!value || !is_positive(*value))
    fail("%s: %s is %s, expected a number above 0", where(), name, value ? "invalid" : "missing");
  return value->get<double>();
}

int Configuration::count(const char* name, std::optional<int> absent, int minimum) const {
  const json* found = find(name);
  if (!found && absent) return *absent;
  if (found && minimum == 0 && *found == 0) return 0;
  const double value = number(name);
  if (value != std::floor(value) || value > 0x1p20)
    fail("%s: %s is %g, expected an integer of at most 2^20", where(), name, value);
  return static_cast<int>(value);
}

int Configuration::product(const char* name, int a, int b) const {
  if (int64_t{a} * b > 1 << 28) fail("%s: %s: %d times %d channels are more than 2^28", where(), name, a, b);
  return a * b;
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

const json& Configuration::list(const char* name, size_t size, const char* of) const {
  const json* value = find(name);
  if (!value || !value->is_array() || value->size() != size)
    fail("%s: %s is %s, expected a list of %zu %s", where(), name, value ? "invalid" : "missing", size, of);
  return *value;
}

std::vector<double> Configuration::numbers(const char* name, size_t size) const {
  std::vector<double> out;
  for (const json& value : list(name, size, "numbers")) {
    if (!is_positive(value)) fail("%s: %s contains an element that is not a number above 0", where(), name);
    out.push_back(value);
  }
  return out;
}

std::vector<bool> Configuration::flags(const char* name, size_t size) const {
  std::vector<bool> out;
  for (const json& value : list(name, size, "truth values")) {
    if (!value.is_boolean() && value != 0 && value != 1)
      fail("%s: %s contains an element other than 0 and 1", where(), name);
    out.push_back(value == true || value == 1);
  }
  return out;
}

std::vector<std::string> Configuration::texts(const char* name, size_t size) const {
  std::vector<std::string> out;
  for (const json& value : list(name, size, "strings")) {
    if (!value.is_string()) fail("%s: %s contains an element that is not a string", where(), name);
    out.push_back(value);
  }
  return out;
}

std::vector<int> Configuration::whole_numbers(const char* name) const {
  const json* list = find(name);
  std::vector<int> out;
  if (!list) return out;
  if (!list->is_array()) fail("%s: %s is not a list", where(), name);
  for (const json& value : *list) {
    if (!value.is_number_integer() || value < 0 || value > 1 << 20)
      fail("%s: %s contains an element that is not an integer from 0 to 2^20", where(), name);
    out.push_back(value);
  }
  return out;
}

Configuration Configuration::inner(const char* name) const {
  static const json empty = json::object();
  const json* value = find(name);
  return Configuration(value ? *value : empty, where_ + ": " + name);
}

}  // namespace ferry::language
