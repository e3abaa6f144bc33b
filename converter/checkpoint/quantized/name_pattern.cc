#include "converter/checkpoint/quantized/name_pattern.h"

#include <algorithm>

#include "converter/checkpoint/json.h"
#include "converter/checkpoint/quantized/method.h"
#include "converter/error.h"

namespace ferry::quantized {
namespace {

constexpr size_t kMaxExpression = 1000, kMaxName = 1000;
constexpr uint64_t kMaxStates = 20'000;
constexpr uint64_t kMaxWork = uint64_t{1} << 30;  // states times characters: 20,000 modules and ten usual expressions

#ifdef __GLIBCXX__
// Follows all alternatives at once instead of one after the other, which takes time exponential in a name.
constexpr auto kSyntax = std::regex_constants::ECMAScript | std::regex_constants::__polynomial;
#else
constexpr auto kSyntax = std::regex_constants::ECMAScript;
#endif

// The product of all counts in {}: no part of the expression is copied more often.
uint64_t copies(const std::string& expression) {
  uint64_t product = 1, count = 0;
  bool braces = false;
  for (const char c : expression) {
    if (c == '{') {
      braces = true;
      count = 0;
    } else if (c == '}' && braces) {
      product = std::min(product * std::max<uint64_t>(count, 1), kMaxStates + 1);
      braces = false;
    } else if (braces && c >= '0' && c <= '9') {
      count = std::min(count * 10 + static_cast<uint64_t>(c - '0'), kMaxStates + 1);
    } else if (braces && c == ',') {
      product = std::min(product * std::max<uint64_t>(count, 1), kMaxStates + 1);
      count = 0;
    }
  }
  return product;
}

}  // namespace

NamePattern::NamePattern(const std::string& expression, const char* what) : shown_(in_quotes(expression)) {
  if (expression.size() <= kMaxExpression) states_ = std::max<uint64_t>(expression.size(), 1) * copies(expression);
  if (expression.size() > kMaxExpression || states_ > kMaxStates)
    fail("%s: %s has the regular expression %s, which is too large", kWhere, what, shown_.c_str());
  try {
    expression_ = std::regex(expression, kSyntax);
  } catch (const std::regex_error&) {
    fail("%s: %s has %s, which is no regular expression", kWhere, what, shown_.c_str());
  }
}

bool NamePattern::begins(const std::string& name, uint64_t* work) const try {
  if (name.size() > kMaxName)
    fail("%s: the module %s has a name of %zu characters, at most %zu can be matched with %s", kWhere,
         in_quotes(name).c_str(), name.size(), kMaxName, shown_.c_str());
  *work += states_ * (name.size() + 1);
  if (*work > kMaxWork)
    fail("%s: its regular expressions, as %s, are too large for this many modules", kWhere, shown_.c_str());
  return std::regex_search(name, expression_, std::regex_constants::match_continuous);
} catch (const std::regex_error& error) {
  fail("%s: the regular expression %s cannot be matched with %s: %s", kWhere, shown_.c_str(), in_quotes(name).c_str(),
       error.what());
}

}  // namespace ferry::quantized
