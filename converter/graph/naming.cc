#include "converter/graph/naming.h"

#include <cctype>
#include <cstdlib>
#include <map>

#include "converter/error.h"

namespace ferry {
namespace {

using Numbers = std::map<std::string, int, std::less<>>;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Whether `name` matches the template. Placeholders match as many digits as possible.
bool match(std::string_view pattern, std::string_view name, Numbers* numbers) {
  size_t at = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      if (at == name.size() || name[at++] != pattern[i]) return false;
      continue;
    }
    const size_t close = pattern.find('}', i);
    const std::string placeholder(pattern.substr(i + 1, close - i - 1));
    const size_t begin = at;
    while (at < name.size() && is_digit(name[at])) ++at;
    if (begin == at) return false;
    const int value = std::atoi(std::string(name.substr(begin, at - begin)).c_str());
    if (auto [known, added] = numbers->emplace(placeholder, value); !added && known->second != value) return false;
    i = close;
  }
  return at == name.size();
}

std::string render(std::string_view pattern, const Numbers& numbers) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    const size_t close = pattern.find('}', i);
    const std::string_view expression = pattern.substr(i + 1, close - i - 1);
    const size_t sign = expression.find_first_of("+-");
    const auto value = numbers.find(expression.substr(0, sign));
    if (value == numbers.end()) fail("rename table: '%s' uses an unknown placeholder", std::string(pattern).c_str());
    const int shift = sign == expression.npos ? 0 : std::atoi(std::string(expression.substr(sign)).c_str());
    out += std::to_string(value->second + shift);
    i = close;
  }
  return out;
}

// The rule that matches, or null. Throws Error if several do.
const Rename* find(const std::vector<Rename>& rules, const std::string& framework, std::string_view canonical,
                   Numbers* numbers) {
  const Rename* found = nullptr;
  for (const Rename& rule : rules) {
    Numbers matched;
    if (!match(rule.canonical, canonical, &matched)) continue;
    if (found)
      fail("rename table of %s: module '%s' matches two rules, '%s' and '%s'", framework.c_str(),
           std::string(canonical).c_str(), found->canonical.c_str(), rule.canonical.c_str());
    found = &rule;
    *numbers = std::move(matched);
  }
  return found;
}

}  // namespace

std::string source_module(const Naming& naming, std::string_view canonical) {
  Numbers numbers;
  const Rename* rule = find(naming.keys, naming.framework, canonical, &numbers);
  if (!rule) return std::string(canonical);
  if (rule->source.size() != 1)
    fail("rename table of %s: rule '%s' gives %zu names for a key, expected 1", naming.framework.c_str(),
         rule->canonical.c_str(), rule->source.size());
  return render(rule->source.front(), numbers);
}

std::vector<std::string> tap_names(const Naming& naming, std::string_view canonical) {
  Numbers numbers;
  const Rename* rule = find(naming.taps, naming.framework, canonical, &numbers);
  if (!rule) return {source_module(naming, canonical)};
  std::vector<std::string> names;
  for (const std::string& pattern : rule->source) names.push_back(render(pattern, numbers));
  return names;
}

}  // namespace ferry
