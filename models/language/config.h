// Reading a transformers config.json. Whatever is wrong in it is an Error that names the setting.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ferry::language {

// One object of the file. What is null there counts as absent.
class Configuration {
 public:
  // `object` outlives it. Throws Error where it is no object.
  Configuration(const nlohmann::json& object, std::string where);

  const char* where() const { return where_.c_str(); }
  bool has(const char* name) const;
  // Whether the setting is there as null, where that says something else than its absence.
  bool is_null(const char* name) const;
  // Throw Error where the setting is of another type, or absent without a default. Numbers are finite and above 0,
  // counts whole, from `least` to 2^20.
  double number(const char* name, std::optional<double> absent = {}) const;
  int count(const char* name, std::optional<int> absent = {}, int least = 1) const;
  // a * b, where the setting `name` is one of them. Throws Error where it is more than 2^28: no network is so wide.
  int product(const char* name, int a, int b) const;
  bool flag(const char* name, bool absent) const;
  std::string text(const char* name, std::optional<std::string> absent = {}) const;
  // Lists of `size` elements: numbers as above, truth values (or 0 and 1), strings.
  std::vector<double> numbers(const char* name, size_t size) const;
  std::vector<bool> flags(const char* name, size_t size) const;
  std::vector<std::string> texts(const char* name, size_t size) const;
  // A list of any length of whole numbers, 0 to 2^20; empty where it is absent.
  std::vector<int> whole_numbers(const char* name) const;
  // An object inside this one; an empty one where it is absent.
  Configuration inner(const char* name) const;

 private:
  const nlohmann::json* find(const char* name) const;
  const nlohmann::json& list(const char* name, size_t size, const char* of) const;

  const nlohmann::json* object_;
  std::string where_;
};

}  // namespace ferry::language
