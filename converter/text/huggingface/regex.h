// Compiles regular expressions with Oniguruma's syntax to the SDK's program (fbs::Pattern). Character classes come from
// ICU; the program contains their ranges.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <unicode/uniset.h>

#include "text_generated.h"

namespace ferry::regex {

struct Node {
  enum class Kind { Set, Sequence, Choice, Repeat, Look };
  explicit Node(Kind k = Kind::Sequence) : kind(k) {}

  Kind kind;
  std::shared_ptr<const icu::UnicodeSet> set;  // Set; shared, because sets of Unicode are large
  std::vector<Node> parts;
  int minimum = 0, maximum = 0;  // Repeat; maximum -1: unlimited
  bool greedy = true;
  bool possessive = false;
  bool behind = false, negated = false;  // Look
};

// Throws Error that begins with `where` for expressions that are invalid, unsupported, or need more than about a second
// or kMaxInstructions (sdk/text/verify_text.h).
Node parse(std::string_view expression, const std::string& where);
std::unique_ptr<fbs::PatternT> compile(const Node& node, const std::string& where);
using SharedSet = std::shared_ptr<const icu::UnicodeSet>;
Node of_set(SharedSet set);
Node of_set(icu::UnicodeSet set);
// Lookahead, or lookbehind (`behind`), for `body`.
Node look(Node body, bool behind, bool negated);
// \b or \B. `words`: the characters of a word.
Node word_boundary(bool negated, const SharedSet& words);
// The characters of a property, script, category or POSIX class. Returns false for an unknown name.
bool named_set(const std::string& name, icu::UnicodeSet* set);
// The control character of \ and this letter; -1: none.
int32_t control_escape(int32_t letter);

}  // namespace ferry::regex

namespace ferry {

std::unique_ptr<fbs::PatternT> compile_regex(std::string_view expression, const std::string& where);
// An expression that matches exactly this text.
std::string escaped(std::string_view text);
// From a set expression: "[\\p{L}_]".
std::unique_ptr<fbs::CharacterClassT> compile_class(std::string_view set, const std::string& where);

}  // namespace ferry
