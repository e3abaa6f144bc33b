#include <unicode/schriter.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/regex.h"

namespace ferry::regex {
namespace {

constexpr int kMaxDepth = 100;
constexpr int kMaxRepeat = 10000;
constexpr size_t kMaxBytes = size_t{1} << 16;  // of an expression; published ones have some hundred
// Work on sets: ranges that are copied, and characters whose cases are looked up. A set of all letters has 650 ranges.
constexpr int64_t kMaxSetWork = int64_t{1} << 23;
constexpr int64_t kNameWork = int64_t{1} << 15;  // a search through Unicode's properties
constexpr UChar32 kEnd = -1;

icu::UnicodeSet all() { return icu::UnicodeSet(0, 0x10FFFF); }

class Parser {
 public:
  Parser(std::string_view expression, const std::string& where) : where_(where), shown_(in_quotes(expression)) {
    if (expression.size() > kMaxBytes)
      fail("%s: a regular expression has %zu bytes, at most %zu are allowed", where.c_str(), expression.size(),
           kMaxBytes);
    const icu::UnicodeString text =
        icu::UnicodeString::fromUTF8(icu::StringPiece(expression.data(), static_cast<int32_t>(expression.size())));
    for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) text_.push_back(text.char32At(i));
  }

  Node parse() {
    Node node = choice();
    if (at_ < text_.size()) refuse("an unmatched ')'");
    return node;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail("%s: the regular expression %s has %s", where_.c_str(), shown_.c_str(), what.c_str());
  }

  UChar32 peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : kEnd; }
  bool take(std::string_view wanted) {
    for (size_t i = 0; i < wanted.size(); ++i)
      if (peek(i) != wanted[i]) return false;
    at_ += wanted.size();
    return true;
  }
  UChar32 next() {
    if (at_ >= text_.size()) refuse("an unexpected end");
    return text_[at_++];
  }

  void charge(int64_t work) {
    if ((work_ += work) > kMaxSetWork) refuse("too many or too large sets");
  }
  void ignore_case(icu::UnicodeSet* set) {
    charge(2 * int64_t{set->size()});
    set->closeOver(USET_CASE_INSENSITIVE).removeAllStrings();
  }

  Node of_character(UChar32 c) {
    icu::UnicodeSet set(c, c);
    if (ignore_case_) ignore_case(&set);
    return of_set(std::move(set));
  }
  // The set of a property, kept for its next use.
  const SharedSet& named(const std::string& name, bool negated) {
    SharedSet& known = named_[{name, negated}];
    if (known) return known;
    charge(kNameWork);
    icu::UnicodeSet set;
    if (!named_set(name, &set)) refuse("the property '" + name + "', which is unknown");
    if (negated) set.complement();
    return known = std::make_shared<const icu::UnicodeSet>(std::move(set));
  }

  // Parses \p{...} after the p.
  SharedSet property(bool negated) {
    if (next() != '{') refuse("a \\p without its {}");
    if (take("^")) negated = !negated;
    std::string name;
    for (UChar32 c = next(); c != '}'; c = next()) {
      if (c > 0x7E || name.size() > 64 || c == '[' || c == ']' || c == '\\') refuse("a \\p without a property");
      name += static_cast<char>(c);
    }
    return named(name, negated);
  }

  // Parses a class of \ and a letter.
  bool shorthand(UChar32 c, SharedSet* set) {
    switch (c) {
      case 'd': *set = named("digit", false); return true;
      case 'D': *set = named("digit", true); return true;
      case 'w': *set = named("word", false); return true;
      case 'W': *set = named("word", true); return true;
      case 's': *set = named("space", false); return true;
      case 'S': *set = named("space", true); return true;
      case 'h': *set = named("xdigit", false); return true;
      case 'H': *set = named("xdigit", true); return true;
      case 'p': *set = property(false); return true;
      case 'P': *set = property(true); return true;
      default: return false;
    }
  }

  UChar32 number(int base, size_t digits) {
    UChar32 value = 0;
    size_t count = 0;
    for (; count < digits; ++count, ++at_) {
      const UChar32 c = peek();
      const int digit = c >= '0' && c <= '9'                     ? c - '0'
                        : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                 : 99;
      if (c == kEnd || digit >= base) break;
      value = value * base + digit;
      if (value > 0x10FFFF) refuse("a character beyond U+10FFFF");
    }
    if (count == 0) refuse("an escape without its digits");
    return value;
  }
  // Parses a character of \ and `c`.
  UChar32 escape(UChar32 c) {
    if (const UChar32 control = control_escape(c); control >= 0) return control;
    switch (c) {
      case 'u': return number(16, 4);
      case 'x': {
        if (!take("{")) return number(16, 2);
        const UChar32 value = number(16, 8);
        if (next() != '}') refuse("an \\x{ that is not closed");
        return value;
      }
      case '0': return peek() >= '0' && peek() <= '7' ? number(8, 2) : 0;
      default: break;
    }
    if (c < 0x80 && std::isalnum(c)) refuse(std::string("a \\") + static_cast<char>(c) + ", which is not supported");
    return c;
  }

  // Parses a set after the [.
  icu::UnicodeSet set() {
    if (++depth_ > kMaxDepth) refuse("sets nested too deeply");
    const bool negated = take("^");
    icu::UnicodeSet whole = all(), part;
    bool first = true;
    for (; first || peek() != ']'; first = false) {
      if (take("&&")) {
        charge(int64_t{whole.getRangeCount()} + part.getRangeCount());
        whole.retainAll(part);
        part.clear();
        continue;
      }
      UChar32 low = next();
      if (low == '[') {
        const icu::UnicodeSet inner = take(":") ? *posix() : set();
        charge(int64_t{inner.getRangeCount()} + part.getRangeCount());
        part.addAll(inner);
        continue;
      }
      if (low == '\\') {
        low = next();
        SharedSet known;
        if (shorthand(low, &known)) {
          charge(int64_t{known->getRangeCount()} + part.getRangeCount());
          part.addAll(*known);
          continue;
        }
        low = low == 'b' ? '\b' : escape(low);
      }
      UChar32 high = low;
      if (peek() == '-' && peek(1) != ']' && peek(1) != kEnd && peek(1) != '[') {
        const size_t dash = at_++;
        high = next();
        SharedSet known;
        if (high == '\\') {
          high = next();
          if (shorthand(high, &known)) {
            at_ = dash;  // a literal dash
            high = low;
          } else {
            high = escape(high);
          }
        }
      }
      if (high < low) refuse("a range that ends before it begins");
      charge(1 + part.getRangeCount() / 64);  // later ranges are moved
      part.add(low, high);
    }
    ++at_;
    --depth_;
    whole.retainAll(part);
    if (ignore_case_) ignore_case(&whole);
    if (negated) whole.complement();
    return whole;
  }
  // Parses after the [:.
  SharedSet posix() {
    const bool negated = take("^");
    std::string name;
    while (peek() != ':') {
      const UChar32 c = next();
      if (c > 0x7E || !std::isalpha(c)) refuse("a [: without a class");
      name += static_cast<char>(c);
    }
    if (!take(":]")) refuse("a [: without a class");
    return named(name, negated);
  }

  Node choice() {
    if (++depth_ > kMaxDepth) refuse("groups nested too deeply");
    const bool ignore_case = ignore_case_, dot_all = dot_all_, extended = extended_;
    Node node(Node::Kind::Choice);
    do node.parts.push_back(sequence());
    while (take("|"));
    ignore_case_ = ignore_case;
    dot_all_ = dot_all;
    extended_ = extended;
    --depth_;
    if (node.parts.size() > 1) return node;
    Node only = std::move(node.parts[0]);
    return only;
  }

  Node sequence() {
    Node node;
    for (;;) {
      if (extended_ && skip_comment()) continue;
      const UChar32 c = peek();
      if (c == kEnd || c == '|' || c == ')') return node;
      if (take("(?#")) {
        while (next() != ')') {
        }
        continue;
      }
      Node part = atom();
      for (int nested = 0; quantifier(&part);)
        if (++nested > kMaxDepth) refuse("repetitions nested too deeply");
      node.parts.push_back(std::move(part));
    }
  }

  bool skip_comment() {
    const UChar32 c = peek();
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      ++at_;
      return true;
    }
    if (c != '#') return false;
    while (peek() != kEnd && next() != '\n') {
    }
    return true;
  }

  // {n}, {n,}, {,m}, {n,m}; anything else is literal text.
  bool interval(int* minimum, int* maximum) {
    const size_t start = at_;
    const auto digits = [this](int otherwise) {
      int value = otherwise;
      for (; peek() >= '0' && peek() <= '9'; ++at_) {
        value = std::max(value, 0) * 10 + (peek() - '0');
        if (value > kMaxRepeat) refuse("a repetition of more than 10000");
      }
      return value;
    };
    ++at_;
    const int low = digits(-1);
    int high = low;
    const bool comma = take(",");
    if (comma) high = digits(-1);
    if (!take("}") || (low < 0 && high < 0)) {
      at_ = start;
      return false;
    }
    *minimum = std::max(low, 0);
    *maximum = high;
    if (high >= 0 && high < *minimum) refuse("a repetition that ends before it begins");
    return true;
  }

  bool quantifier(Node* part) {
    int minimum = 0, maximum = -1;
    bool counted = false;
    if (peek() == '{') {
      if (!interval(&minimum, &maximum)) return false;
      counted = true;
    } else if (take("?")) {
      maximum = 1;
    } else if (take("+")) {
      minimum = 1;
    } else if (!take("*")) {
      return false;
    }
    Node node(Node::Kind::Repeat);
    node.minimum = minimum;
    node.maximum = maximum;
    // "{n}?" is {n} or nothing, not lazy.
    if (!(counted && minimum == maximum) && take("?"))
      node.greedy = false;
    else if (!counted && take("+"))
      node.possessive = true;
    node.parts.push_back(std::move(*part));
    *part = std::move(node);
    return true;
  }

  Node group() {
    Node body;
    const auto closed = [&](Node node) {
      if (!take(")")) refuse("a '(' that is not closed");
      return node;
    };
    if (!take("?")) return closed(choice());
    if (take(":")) return closed(choice());
    if (take("=")) return closed(look(choice(), false, false));
    if (take("!")) return closed(look(choice(), false, true));
    if (take("<=")) return closed(look(choice(), true, false));
    if (take("<!")) return closed(look(choice(), true, true));
    if (take(">")) {
      body = closed(choice());
      Node* inner = &body;
      while (inner->kind == Node::Kind::Sequence && inner->parts.size() == 1) inner = &inner->parts[0];
      if (inner->kind == Node::Kind::Set || inner->kind == Node::Kind::Look) return *inner;
      if (inner->kind != Node::Kind::Repeat || !inner->greedy)
        refuse("an unsupported atomic group: only one repetition is allowed");
      inner->possessive = true;
      return *inner;
    }
    if (take("<")) {
      while (next() != '>') {
      }
      return closed(choice());
    }
    return options();
  }

  // (?i), up to the group's end, and (?i:...).
  Node options() {
    const bool ignore_case = ignore_case_, dot_all = dot_all_, extended = extended_;
    bool on = true;
    for (;;) {
      const UChar32 c = next();
      if (c == '-')
        on = false;
      else if (c == 'i')
        ignore_case_ = on;
      else if (c == 'm')
        dot_all_ = on;
      else if (c == 'x')
        extended_ = on;
      else if (c == ')')
        return choice();
      else if (c == ':')
        break;
      else
        refuse("an unsupported kind of group");
    }
    Node body = choice();
    if (!take(")")) refuse("a '(' that is not closed");
    ignore_case_ = ignore_case;
    dot_all_ = dot_all;
    extended_ = extended;
    return body;
  }

  Node atom() {
    const UChar32 c = next();
    const SharedSet newline = newline_, others = others_, any = any_;
    switch (c) {
      case '(': return group();
      case '[': return of_set(set());
      case '.': return of_set(dot_all_ ? any : others);
      case '^': return look(of_set(others), true, true);
      case '$': return look(of_set(others), false, true);
      case '*':
      case '+':
      case '?': refuse("a repetition of nothing");
      case '\\': break;
      default: return of_character(c);
    }
    const UChar32 kind = next();
    SharedSet known;
    if (shorthand(kind, &known)) {
      if (!ignore_case_) return of_set(known);
      icu::UnicodeSet cases = *known;
      ignore_case(&cases);
      return of_set(std::move(cases));
    }
    switch (kind) {
      case 'A': return look(of_set(any), true, true);
      case 'z': return look(of_set(any), false, true);
      case 'Z': {
        Node last;
        last.parts = {of_set(newline), look(of_set(any), false, true)};
        Node node(Node::Kind::Choice);
        node.parts = {look(of_set(any), false, true), look(last, false, false)};
        return node;
      }
      case 'b': return word_boundary(false, named("word", false));
      case 'B': return word_boundary(true, named("word", false));
      default: return of_character(escape(kind));
    }
  }

  const std::string& where_;
  std::string shown_;
  std::vector<UChar32> text_;
  size_t at_ = 0;
  int depth_ = 0;
  int64_t work_ = 0;
  std::map<std::pair<std::string, bool>, SharedSet> named_;
  const SharedSet any_ = std::make_shared<const icu::UnicodeSet>(all());
  const SharedSet newline_ = std::make_shared<const icu::UnicodeSet>('\n', '\n');
  const SharedSet others_ = std::make_shared<const icu::UnicodeSet>(icu::UnicodeSet('\n', '\n').complement());
  bool ignore_case_ = false, dot_all_ = false, extended_ = false;
};

}  // namespace

Node parse(std::string_view expression, const std::string& where) { return Parser(expression, where).parse(); }

}  // namespace ferry::regex
