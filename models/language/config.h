// Reads a transformers config.json. Errors name the setting.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ferry::language {

// One object of the file. Null settings count as absent.
class Configuration {
 public:
  // `object` must outlive this. Throws Error if it is not an object.
  Configuration(const nlohmann::json& object, std::string where);

  const char* where() const { return where_.c_str(); }
  bool has(const char* name) const;
  // Whether the setting is null, for settings where null differs from absence.
  bool is_null(const char* name) const;
  // Throw Error if the setting has another type, or is absent without a default. Numbers must be finite and above 0;
  // counts are integers from `minimum` to 2^20.
  double number(const char* name, std::optional<double> absent = {}) const;
  int count(const char* name, std::optional<int> absent = {}, int minimum = 1) const;
  // Returns a * b, one of which is the setting `name`. Throws Error if it exceeds 2^28.
  int product(const char* name, int a, int b) const;
  bool flag(const char* name, bool absent) const;
  std::string text(const char* name, std::optional<std::string> absent = {}) const;
  // Lists of `size` elements: numbers as above, booleans (or 0 and 1), strings.
  std::vector<double> numbers(const char* name, size_t size) const;
  std::vector<bool> flags(const char* name, size_t size) const;
  std::vector<std::string> texts(const char* name, size_t size) const;
  // A list of any length of integers from 0 to 2^20; empty if absent.
  std::vector<int> whole_numbers(const char* name) const;
  // A nested object; empty if absent.
  Configuration inner(const char* name) const;

 private:
  const nlohmann::json* find(const char* name) const;
  const nlohmann::json& list(const char* name, size_t size, const char* of) const;

  const nlohmann::json* object_;
  std::string where_;
};

}  // namespace ferry::language
