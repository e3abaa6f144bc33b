// Settings of a conversion that only some networks understand, by the names that the command line has for them, without
// dashes. They travel from there to the family, and into the blob's provenance as they were given.
//
//     Settings settings;
//     settings.set("num-classes", 10);
//     settings.set("input-size", "224x320");
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

struct Setting {
  std::string name, value;  // value: empty where the name says it all
  bool operator==(const Setting&) const = default;
};

class Settings {
 public:
  // In the place of what had the name.
  void set(std::string_view name, std::string_view value = "");
  void set(std::string_view name, int value) { set(name, std::to_string(value)); }
  // Beside what has the name.
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, int value) { add(name, std::to_string(value)); }

  // By name; those of one name in the order in which they were given.
  std::span<const Setting> all() const { return settings_; }

  bool has(std::string_view name) const;
  // Every value that the name was given.
  std::vector<std::string> values(std::string_view name) const;
  // The last of them; "" where the name was not given.
  std::string text(std::string_view name) const;
  // Absent where the name was not given. These throw Error where the value is another.
  std::optional<int> integer(std::string_view name, int minimum, std::optional<int> maximum = {}) const;
  std::vector<int> integers(std::string_view name) const;

  struct Size {
    int height = 0, width = 0;
    bool operator==(const Size&) const = default;
  };
  // "224x320"; "224" is a square.
  std::optional<Size> size(std::string_view name) const;

 private:
  std::vector<Setting> settings_;
};

}  // namespace ferry
