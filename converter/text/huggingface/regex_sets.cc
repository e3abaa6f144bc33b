#include <unicode/unistr.h>

#include <cctype>
#include <string>
#include <utility>

#include "converter/text/huggingface/regex.h"

namespace ferry::regex {
namespace {

// Names that ICU does not have or defines differently.
const char* posix_set(const std::string& name) {
  static const std::pair<const char*, const char*> kSets[] = {
      {"alnum", "[\\p{Alphabetic}\\p{Nd}]"},
      {"alpha", "[\\p{Alphabetic}]"},
      {"ascii", "[\\u0000-\\u007F]"},
      {"blank", "[\\p{Zs}\\u0009]"},
      {"cntrl", "[\\p{Cc}]"},
      {"digit", "[\\p{Nd}]"},
      {"graph", "[^\\p{White_Space}\\p{Cc}\\p{Cn}\\p{Cs}]"},
      {"lower", "[\\p{Lowercase}]"},
      {"print", "[[^\\p{White_Space}\\p{Cc}\\p{Cn}\\p{Cs}]\\p{Zs}]"},
      {"punct", "[\\p{P}\\p{S}]"},
      {"space", "[\\p{White_Space}]"},
      {"upper", "[\\p{Uppercase}]"},
      {"word", "[\\p{Alphabetic}\\p{M}\\p{N}\\p{Pc}]"},
      {"xdigit", "[0-9A-Fa-f]"},
      {"any", "[\\u0000-\\U0010FFFF]"},
  };
  std::string plain;
  for (const char c : name)
    if (c != ' ' && c != '_' && c != '-') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [known, set] : kSets)
    if (plain == known) return set;
  return nullptr;
}

}  // namespace

Node of_set(SharedSet set) {
  Node node(Node::Kind::Set);
  node.set = std::move(set);
  return node;
}

Node of_set(icu::UnicodeSet set) { return of_set(std::make_shared<const icu::UnicodeSet>(std::move(set))); }

Node look(Node body, bool behind, bool negated) {
  Node node(Node::Kind::Look);
  node.behind = behind;
  node.negated = negated;
  node.parts.push_back(std::move(body));
  return node;
}

Node word_boundary(bool negated, const SharedSet& words) {
  const Node word = of_set(words);
  Node node(Node::Kind::Choice);
  for (const bool before : {true, false}) {
    Node both;
    both.parts = {look(word, true, !before), look(word, false, before != negated)};
    node.parts.push_back(std::move(both));
  }
  return node;
}

bool named_set(const std::string& name, icu::UnicodeSet* set) {
  const char* posix = posix_set(name);
  UErrorCode status = U_ZERO_ERROR;
  set->applyPattern(icu::UnicodeString::fromUTF8(posix ? posix : "[\\p{" + name + "}]"), status);
  return U_SUCCESS(status);
}

int32_t control_escape(int32_t letter) {
  switch (letter) {
    case 't': return '\t';
    case 'n': return '\n';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'a': return '\a';
    case 'e': return 0x1B;
    default: return -1;
  }
}

}  // namespace ferry::regex
