// The options of a conversion by name: values as text, each name as on the command line but without dashes. Names are
// not checked here; converter/option.h has the options that exist.
//
//     Settings settings;
//     settings.set("num-classes", 10);
//     settings.set("input-size", "224x320");
//     settings.set("keep-taps");
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

struct Setting {
  std::string name, value;  // the value of a flag is empty
  bool operator==(const Setting&) const = default;
};

class Settings {
 public:
  // Replaces all values of this name.
  void set(std::string_view name, std::string_view value = "");
  void set(std::string_view name, int value) { set(name, std::to_string(value)); }
  // Appends to the values of this name.
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, int value) { add(name, std::to_string(value)); }
  // Sets or erases a flag.
  void set_flag(std::string_view name, bool on) { on ? set(name) : erase(name); }
  void erase(std::string_view name);

  // Sorted by name; values of the same name in the order of insertion.
  std::span<const Setting> all() const { return settings_; }

  bool has(std::string_view name) const;
  std::vector<std::string> values(std::string_view name) const;
  // The last value; "" without one.
  std::string text(std::string_view name) const;
  // The last value, or nothing without one. Throw Error, "--name value: expected ...", for a malformed value.
  std::optional<int> integer(std::string_view name, int minimum, std::optional<int> maximum = {}) const;
  std::vector<int> integers(std::string_view name) const;

  struct Size {
    int height = 0, width = 0;
    bool operator==(const Size&) const = default;
  };
  // "224x320" or, for a square, "224".
  std::optional<Size> size(std::string_view name) const;

 private:
  std::vector<Setting> settings_;
};

}  // namespace ferry
