#include "converter/settings.h"

#include <algorithm>
#include <charconv>

#include "converter/error.h"

namespace ferry {
namespace {

constexpr int kMaxSide = 16384;

// Nothing if `text` is more or less than an integer.
std::optional<int> parse(std::string_view text) {
  int value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

void Settings::set(std::string_view name, std::string_view value) {
  erase(name);
  add(name, value);
}

void Settings::erase(std::string_view name) {
  std::erase_if(settings_, [&](const Setting& s) { return s.name == name; });
}

void Settings::add(std::string_view name, std::string_view value) {
  const auto by_name = [](std::string_view wanted, const Setting& s) { return wanted < s.name; };
  settings_.insert(std::upper_bound(settings_.begin(), settings_.end(), name, by_name),
                   {std::string(name), std::string(value)});
}

bool Settings::has(std::string_view name) const {
  return std::any_of(settings_.begin(), settings_.end(), [&](const Setting& s) { return s.name == name; });
}

std::vector<std::string> Settings::values(std::string_view name) const {
  std::vector<std::string> out;
  for (const Setting& s : settings_)
    if (s.name == name) out.push_back(s.value);
  return out;
}

std::string Settings::text(std::string_view name) const {
  const std::vector<std::string> given = values(name);
  return given.empty() ? std::string() : given.back();
}

std::optional<int> Settings::integer(std::string_view name, int minimum, std::optional<int> maximum) const {
  const std::vector<std::string> given = values(name);
  if (given.empty()) return {};
  const std::optional<int> value = parse(given.back());
  if (value && *value >= minimum && *value <= maximum.value_or(*value)) return value;
  const std::string range = maximum ? " to " + std::to_string(*maximum) : " or more";
  fail("--%s %s: expected %d%s", std::string(name).c_str(), given.back().c_str(), minimum, range.c_str());
}

std::vector<int> Settings::integers(std::string_view name) const {
  std::vector<int> out;
  for (const std::string& text : values(name)) {
    const std::optional<int> value = parse(text);
    if (!value) fail("--%s %s: expected a whole number", std::string(name).c_str(), text.c_str());
    out.push_back(*value);
  }
  return out;
}

std::optional<Settings::Size> Settings::size(std::string_view name) const {
  const std::vector<std::string> given = values(name);
  if (given.empty()) return {};
  const std::string& text = given.back();
  const size_t cross = text.find('x');
  const std::optional<int> height = parse(std::string_view(text).substr(0, cross));
  const std::optional<int> width = cross == text.npos ? height : parse(std::string_view(text).substr(cross + 1));
  if (!height || !width) fail("--%s %s: expected HxW in pixels, like 224x320", std::string(name).c_str(), text.c_str());
  for (const int side : {*height, *width})
    if (side < 1 || side > kMaxSide)
      fail("--%s: a side of %d, expected 1 to %d", std::string(name).c_str(), side, kMaxSide);
  return Size{*height, *width};
}

}  // namespace ferry
