// Regular expressions, as Oniguruma reads them, to the program that the SDK runs (fbs::Pattern). Classes of characters
// come from ICU: the program holds what they contain.
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
  icu::UnicodeSet set;
  std::vector<Node> parts;
  int least = 0, most = 0;  // Repeat; most -1: any number
  bool greedy = true;
  bool possessive = false;
  bool behind = false, negated = false;  // Look
};

// Throws Error, beginning with `where`, for what is no regular expression and for what is not built.
Node parse(std::string_view expression, const std::string& where);
std::unique_ptr<fbs::PatternT> compile(const Node& node, const std::string& where);
Node of_set(icu::UnicodeSet set);
// What follows, or stands before (`behind`), is `body`, or is not.
Node look(Node body, bool behind, bool negated);
// Between a character of a word and none.
Node word_boundary(bool negated);
// The characters of a property, a script, a category or a POSIX class. False: there is none of this name.
bool named_set(const std::string& name, icu::UnicodeSet* set);
// What \ and this letter stand for; -1: no control character.
int32_t control_escape(int32_t letter);

}  // namespace ferry::regex

namespace ferry {

std::unique_ptr<fbs::PatternT> compile_regex(std::string_view expression, const std::string& where);
// An expression that matches this text alone.
std::string escaped(std::string_view text);
// Of a set that is written as in an expression: "[\\p{L}_]".
std::unique_ptr<fbs::CharacterClassT> compile_class(std::string_view set, const std::string& where);

}  // namespace ferry
