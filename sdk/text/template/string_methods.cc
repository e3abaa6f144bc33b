#include <algorithm>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/functions.h"

namespace ferry::jinja {
namespace {

// An argument that must be a string; null after a failure.
const Value* string_at(Evaluator& run, const Arguments& a, size_t i) {
  if (a[i].is(Type::String)) return &a[i];
  if (a[i].is(Type::Undefined))
    run.fail_undefined(a[i]);
  else
    run.fail("a method of a str takes a str, not %s", a[i].is(Type::Absent) ? "nothing" : type_name(a[i].type));
  return nullptr;
}

int64_t integer_at(Evaluator& run, const Arguments& a, size_t i, int64_t otherwise) {
  if (a[i].is_integral()) return a[i].integer;
  if (!a[i].is(Type::Absent) && !a[i].is(Type::None))
    run.fail("a method of a str takes an integer, not %s", type_name(a[i].type));
  return otherwise;
}

template <Letters letters>
Value change_letters(Evaluator& run, const Value& text, const Arguments&) {
  return with_letters(run, text.uncharged(), letters);
}

template <bool left, bool right>
Value strip_method(Evaluator& run, const Value& text, const Arguments& a) {
  if (a[0].is(Type::Absent) || a[0].is(Type::None)) return string(strip_spaces(run, text.uncharged(), left, right));
  const Value* characters = string_at(run, a, 0);
  return characters != nullptr ? string(strip_characters(run, text.uncharged(), characters->uncharged(), left, right))
                               : Value{};
}

template <bool start>
bool at_end(Evaluator& run, std::string_view text, std::string_view word) {
  if (word.size() > text.size()) return false;
  return run.same(start ? text.substr(0, word.size()) : text.substr(text.size() - word.size()), word);
}

// For a string, or any string of a tuple.
template <bool start>
Value has_at_end(Evaluator& run, const Value& text, const Arguments& a) {
  const Value one = sequence(Type::Tuple, &a[0], 1);
  const Value& wanted = a[0].is(Type::Tuple) ? a[0] : one;
  bool found = false;
  for (uint32_t i = 0; i < wanted.size && !found && !run.failed(); ++i) {
    const Value* word = string_at(run, {wanted.items, wanted.size, nullptr, 0}, i);
    if (word == nullptr) return {};
    found = at_end<start>(run, text.uncharged(), word->uncharged());
  }
  return boolean(found);
}

template <bool prefix>
Value remove_affix(Evaluator& run, const Value& text, const Arguments& a) {
  const Value* affix = string_at(run, a, 0);
  if (affix == nullptr) return {};
  const std::string_view t = text.uncharged(), w = affix->uncharged();
  if (!at_end<prefix>(run, t, w)) return text;
  return string(prefix ? t.substr(w.size()) : t.substr(0, t.size() - w.size()));
}

Value replace(Evaluator& run, const Value& text, const Arguments& a) {
  const Value *old = string_at(run, a, 0), *fresh = string_at(run, a, 1);
  if (old == nullptr || fresh == nullptr) return {};
  return replace_text(run, text.uncharged(), old->uncharged(), fresh->uncharged(), integer_at(run, a, 2, -1));
}

// The last position of `wanted`; npos if there is none. The caller has charged the reading of `text`; this charges the
// comparisons.
size_t find_last(Evaluator& run, std::string_view text, std::string_view wanted) {
  if (wanted.size() > text.size()) return text.npos;
  if (wanted.empty()) return text.size();
  size_t at = text.size() - wanted.size() + 1;
  while (at-- > 0 && !run.failed())
    if (text[at] == wanted[0] && run.same(text.substr(at, wanted.size()), wanted)) break;
  return run.failed() ? text.npos : at;  // npos if the loop ends
}

// Collects parts of a text from either end.
class Pieces {
 public:
  explicit Pieces(Evaluator& run) : run_(run) {}
  void add(std::string_view piece) {
    if (size_ == capacity_) {
      const size_t capacity = std::max<size_t>(4, 2 * capacity_);
      auto* moved = run_.make<Value>(capacity);
      if (moved == nullptr) return;
      std::copy(pieces_, pieces_ + size_, moved);
      pieces_ = moved;
      capacity_ = capacity;
    }
    pieces_[size_++] = string(piece);
  }
  Value list(bool backwards) {
    if (backwards) std::reverse(pieces_, pieces_ + size_);
    return sequence(Type::List, pieces_, size_);
  }

 private:
  Evaluator& run_;
  Value* pieces_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

// Splits at runs of whitespace, which are dropped at both ends.
template <bool right>
Value split_spaces(Evaluator& run, std::string_view text, int64_t maximum) {
  Pieces pieces(run);
  text = strip(text, !right || maximum < 0, right || maximum < 0);
  for (; !text.empty() && maximum != 0 && run.step(); maximum -= maximum > 0) {
    size_t at = 0;
    if (right) {
      at = text.size();
      while (at > 0 && !is_space(code_point(text.substr(at - last_bytes(text.substr(0, at))))))
        at -= last_bytes(text.substr(0, at));
      pieces.add(text.substr(at));
      text = strip(text.substr(0, at), false, true);
    } else {
      while (at < text.size() && !is_space(code_point(text.substr(at)))) at += first_bytes(text.substr(at));
      pieces.add(text.substr(0, at));
      text = strip(text.substr(at), true, false);
    }
  }
  if (!text.empty()) pieces.add(text);
  return pieces.list(right);
}

template <bool right>
Value split(Evaluator& run, const Value& subject, const Arguments& a) {
  std::string_view text = run.read_characters(run.read_characters(subject.uncharged()));  // and its parts
  int64_t maximum = integer_at(run, a, 1, -1);
  if (a[0].is(Type::Absent) || a[0].is(Type::None)) return split_spaces<right>(run, text, maximum);
  const Value* between = string_at(run, a, 0);
  if (between == nullptr) return {};
  const std::string_view word = between->uncharged();
  if (word.empty()) return run.fail("empty separator");
  Pieces pieces(run);
  for (; maximum != 0 && run.step(); maximum -= maximum > 0) {
    const size_t at = right ? find_last(run, text, word) : find_text(text, word, 0);
    if (at == text.npos) break;
    pieces.add(right ? text.substr(at + word.size()) : text.substr(0, at));
    text = right ? text.substr(0, at) : text.substr(at + word.size());
  }
  pieces.add(text);
  return pieces.list(right);
}

Value splitlines(Evaluator& run, const Value& text, const Arguments& a) {
  return split_lines(run, text.uncharged(), truth(a[0]));
}

template <bool right>
Value partition(Evaluator& run, const Value& subject, const Arguments& a) {
  const Value* between = string_at(run, a, 0);
  auto* parts = run.make<Value>(3);
  if (between == nullptr || parts == nullptr) return {};
  const std::string_view text = run.read_characters(subject), word = between->uncharged();
  if (word.empty()) return run.fail("empty separator");
  const size_t at = right ? find_last(run, text, word) : find_text(text, word, 0);
  for (int i = 0; i < 3; ++i) parts[i] = string("");
  if (at == text.npos) {
    parts[right ? 2 : 0] = subject;
  } else {
    parts[0] = string(text.substr(0, at));
    parts[1] = *between;
    parts[2] = string(text.substr(at + word.size()));
  }
  return sequence(Type::Tuple, parts, 3);
}

template <bool right, bool required>
Value find(Evaluator& run, const Value& subject, const Arguments& a) {
  const Value* wanted = string_at(run, a, 0);
  if (wanted == nullptr) return {};
  const std::string_view text = run.read_characters(run.read_characters(subject));  // its characters are counted, too
  const auto length = static_cast<int64_t>(count_characters(text));
  const auto bytes_to = [&](int64_t place) {
    return bytes_of(text, static_cast<size_t>(std::clamp<int64_t>(place < 0 ? place + length : place, 0, length)));
  };
  const size_t begin = bytes_to(integer_at(run, a, 1, 0)), end = bytes_to(integer_at(run, a, 2, length));
  const std::string_view part = text.substr(0, end);
  size_t at = part.npos;
  if (begin <= end) {
    at = right ? find_last(run, part.substr(begin), wanted->uncharged()) : find_text(part, wanted->uncharged(), begin);
    if (right && at != part.npos) at += begin;
  }
  if (at == part.npos) return required ? run.fail("substring not found") : integer(-1);
  return integer(static_cast<int64_t>(count_characters(text.substr(0, at))));
}

Value count(Evaluator& run, const Value& subject, const Arguments& a) {
  const Value* wanted = string_at(run, a, 0);
  if (wanted == nullptr) return {};
  const std::string_view text = run.read_characters(subject), word = wanted->uncharged();
  if (word.empty()) return integer(static_cast<int64_t>(count_characters(text)) + 1);
  int64_t found = 0;
  for (size_t at = find_text(text, word, 0); at != text.npos && run.step(); ++found)
    at = find_text(text, word, at + word.size());
  return integer(found);
}

Value join(Evaluator& run, const Value& between, const Arguments& a) {
  if (a[0].is(Type::Absent)) return run.fail("join() takes what is to be joined");
  const Value items = run.elements(a[0]);
  const size_t mark = run.length();
  for (uint32_t i = 0; i < items.size && run.step(); ++i) {
    if (!items.items[i].is(Type::String))
      return run.fail("sequence item %u: expected str instance, %s found", i, type_name(items.items[i].type));
    if (i > 0) run.append(between.uncharged());
    run.append(items.items[i].uncharged());
  }
  return run.take(mark);
}

// All characters satisfy `holds`, and there is at least one; for cased characters, at least one must be cased.
template <bool (*holds)(uint32_t), bool (*other)(uint32_t)>
Value all_are(Evaluator& run, const Value& subject, const Arguments&) {
  bool some = false;
  for (std::string_view text = run.read_characters(subject); !text.empty(); text.remove_prefix(first_bytes(text))) {
    const uint32_t code = code_point(text);
    if (code >= 0x80 && !run.step(kCaseSteps)) break;
    if (other != nullptr ? other(code) : !holds(code)) return boolean(false);
    some = some || holds(code);
  }
  return boolean(some);
}

// ASCII letters, and those known to characters.h.
bool is_letter(uint32_t code) { return is_upper(code) || is_lower(code); }
bool is_word(uint32_t code) { return is_letter(code) || is_digit(code); }

// Pads to that many characters: with spaces or the given character on one side, or with zeros after a sign.
template <bool left>
Value pad(Evaluator& run, const Value& subject, const Arguments& a) {
  const Value fill = a[1].is(Type::Absent) ? string(" ") : a[1];
  if (!fill.is(Type::String) || fill.size > 4 || count_characters(fill.uncharged()) != 1)
    return run.fail("the fill character must be exactly one character long");
  const int64_t width = std::max<int64_t>(integer_at(run, a, 0, 0), 0);
  int64_t missing = width - static_cast<int64_t>(count_characters(run.read(subject)));
  if (missing > static_cast<int64_t>(kMaxTextBytes)) return run.fail("the text grows beyond %zu bytes", kMaxTextBytes);
  const size_t mark = run.length();
  if (!left) run.append(subject.uncharged());
  for (; missing > 0 && !run.failed(); --missing) run.append(fill.uncharged());
  if (left) run.append(subject.uncharged());
  return run.take(mark);
}

constexpr const char* kBounds = "value start end";
constexpr Native kMethods[] = {
    {"upper", "", change_letters<Letters::Upper>},
    {"lower", "", change_letters<Letters::Lower>},
    {"capitalize", "", change_letters<Letters::Capitalized>},
    {"title", "", change_letters<Letters::Titled>},
    {"swapcase", "", change_letters<Letters::Swapped>},
    {"casefold", "", change_letters<Letters::Lower>},
    {"strip", "chars", strip_method<true, true>},
    {"lstrip", "chars", strip_method<true, false>},
    {"rstrip", "chars", strip_method<false, true>},
    {"startswith", "prefix", has_at_end<true>},
    {"endswith", "suffix", has_at_end<false>},
    {"removeprefix", "prefix", remove_affix<true>},
    {"removesuffix", "suffix", remove_affix<false>},
    {"replace", "old new count", replace},
    {"split", "sep maxsplit", split<false>},
    {"rsplit", "sep maxsplit", split<true>},
    {"splitlines", "keepends", splitlines},
    {"partition", "sep", partition<false>},
    {"rpartition", "sep", partition<true>},
    {"find", kBounds, find<false, false>},
    {"rfind", kBounds, find<true, false>},
    {"index", kBounds, find<false, true>},
    {"rindex", kBounds, find<true, true>},
    {"count", "value", count},
    {"join", "iterable", join},
    {"format", nullptr, format_braces},
    {"isupper", "", all_are<is_upper, is_lower>},
    {"islower", "", all_are<is_lower, is_upper>},
    {"isspace", "", all_are<is_space, nullptr>},
    {"isdigit", "", all_are<is_digit, nullptr>},
    {"isdecimal", "", all_are<is_digit, nullptr>},
    {"isnumeric", "", all_are<is_digit, nullptr>},
    {"isalpha", "", all_are<is_letter, nullptr>},
    {"isalnum", "", all_are<is_word, nullptr>},
    {"ljust", "width fillchar", pad<false>},
    {"rjust", "width fillchar", pad<true>},
};

}  // namespace

const Native* find_string_method(std::string_view name) { return find_in(kMethods, name); }

}  // namespace ferry::jinja
