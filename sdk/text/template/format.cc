// Values in the places that a text has for them.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/numbers.h"

namespace ferry::jinja {
namespace {

constexpr int64_t kMaxWidth = 1000;

// "%[flags][width][.precision]letter", of which `at` is behind the "%".
struct Place {
  bool left = false, plus = false, zeros = false, space = false, alternative = false;
  int64_t width = 0, precision = -1;
  char letter = '\0';
};

bool read_place(std::string_view text, size_t* at, Place* place) {
  const auto number = [&] {
    int64_t value = 0;
    while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9' && value <= kMaxWidth)
      value = value * 10 + (text[(*at)++] - '0');
    return value;
  };
  for (; *at < text.size(); ++*at) {
    const char c = text[*at];
    bool* flag = c == '-'   ? &place->left
                 : c == '+' ? &place->plus
                 : c == '0' ? &place->zeros
                 : c == ' ' ? &place->space
                 : c == '#' ? &place->alternative
                            : nullptr;
    if (flag == nullptr) break;
    *flag = true;
  }
  place->width = number();
  if (*at < text.size() && text[*at] == '.') {
    ++*at;
    place->precision = number();
  }
  if (*at == text.size() || place->width > kMaxWidth || place->precision > kMaxWidth) return false;
  place->letter = text[(*at)++];
  return true;
}

// The value, without its sign and width; what it is padded to is the caller's.
void write_number(Evaluator& run, const Place& place, const Value& value) {
  if (!value.is_number()) {
    run.fail("%%%c format: a real number is required, not %s", place.letter, type_name(value.type));
    return;
  }
  char text[1400];  // the digits of a double, and a precision
  const bool whole = place.letter == 'd' || place.letter == 'i' || place.letter == 'x' || place.letter == 'X';
  if (whole && value.is(Type::Float) && !(std::fabs(value.real) < 9.2e18)) {
    run.fail("%%%c format: an integer beyond 64 bits", place.letter);
    return;
  }
  const int64_t integral = value.is_integral() ? value.integer : whole ? static_cast<int64_t>(value.real) : 0;
  const bool negative = whole ? integral < 0 : std::signbit(value.number());
  if (negative || place.plus || place.space) run.append(negative ? '-' : place.plus ? '+' : ' ');
  const auto size = static_cast<unsigned long long>(integral);
  const unsigned long long magnitude = negative ? 0ull - size : size;
  int written = 0;
  if (whole) {
    const int least = static_cast<int>(std::max<int64_t>(place.precision, 1));
    written = std::snprintf(text, sizeof text,
                            place.letter == 'x'   ? "%.*llx"
                            : place.letter == 'X' ? "%.*llX"
                                                  : "%.*llu",
                            least, magnitude);
  } else {
    const char pattern[] = {'%', '.', '*', place.letter, '\0'};
    const int places = static_cast<int>(place.precision < 0 ? 6 : place.precision);
    written = std::snprintf(text, sizeof text, pattern, places, std::fabs(value.number()));
    std::replace(text, text + written, ',', '.');  // a locale's point
  }
  run.append({text, static_cast<size_t>(written)});
}

void write_place(Evaluator& run, const Place& place, const Value& value) {
  const size_t mark = run.length();
  const bool number = std::string_view("dixXeEfFgG").find(place.letter) != std::string_view::npos;
  if (place.letter == 's') {
    run.write(value);
  } else if (place.letter == 'r' || place.letter == 'a') {
    run.write_repr(value);
  } else if (number) {
    write_number(run, place, value);
  } else {
    run.fail("unsupported format character '%c'", place.letter);
  }
  if (!number && place.precision >= 0)
    run.cut(mark + bytes_of(run.written(mark), static_cast<size_t>(place.precision)));
  const Value text = run.take(mark);
  std::string_view digits = text.string();
  int64_t missing = place.width - static_cast<int64_t>(count_characters(digits));
  const bool zeros = place.zeros && number && !place.left;
  if (zeros && !digits.empty() && (digits[0] == '-' || digits[0] == '+' || digits[0] == ' ')) {
    run.append(digits[0]);
    digits.remove_prefix(1);
  }
  if (place.left) run.append(digits);
  for (; missing > 0; --missing) run.append(zeros ? '0' : ' ');
  if (!place.left) run.append(digits);
}

}  // namespace

Value format(Evaluator& run, const Value& pattern, const Arguments& a) {
  const std::string_view text = pattern.string();
  const size_t mark = run.length();
  uint32_t used = 0;
  for (size_t at = 0; at < text.size() && run.step();) {
    const size_t sign = std::min(text.find('%', at), text.size());
    run.append(text.substr(at, sign - at));
    at = sign + 1;
    if (sign == text.size()) break;
    if (at < text.size() && text[at] == '%') {
      run.append('%');
      ++at;
      continue;
    }
    const Value* value = nullptr;
    if (at < text.size() && text[at] == '(') {  // of a dict, or of the call's names
      const size_t end = std::min(text.find(')', at), text.size());
      const std::string_view name = text.substr(at + 1, end - at - 1);
      at = std::min(end + 1, text.size());
      value = a.count == 1 && a[0].is(Type::Dict) ? a[0].dict->find(run, name) : a.find(name);
      used = a.count;
      if (value == nullptr) return run.fail("a format names what is not there");
    }
    Place place;
    if (!read_place(text, &at, &place)) return run.fail("incomplete format");
    if (value == nullptr) {
      if (used == a.count) return run.fail("not enough arguments for format string");
      value = &a[used++];
    }
    write_place(run, place, *value);
  }
  if (used < a.count && !(a.count == 1 && a[0].is(Type::Dict)))
    return run.fail("not all arguments converted during string formatting");
  return run.take(mark);
}

Value format_braces(Evaluator& run, const Value& pattern, const Arguments& a) {
  const std::string_view text = pattern.string();
  const size_t mark = run.length();
  uint32_t used = 0;
  for (size_t at = 0; at < text.size() && run.step();) {
    const size_t brace = std::min(text.find_first_of("{}", at), text.size());
    run.append(text.substr(at, brace - at));
    at = brace + 1;
    if (brace == text.size()) break;
    if (at < text.size() && text[at] == text[brace]) {
      run.append(text[at++]);
      continue;
    }
    const size_t end = text.find('}', at);
    if (text[brace] == '}' || end == text.npos) return run.fail("a format has a brace by itself");
    const std::string_view field = text.substr(at, end - at);
    at = end + 1;
    const Value* value = a.find(field);
    int64_t index = 0;
    if (field.empty() || read_integer(field, 10, &index)) {
      index = field.empty() ? used++ : index;
      value = index < int64_t{a.count} ? &a[static_cast<size_t>(index)] : nullptr;
    }
    if (value == nullptr) return run.fail("a format has a field that is none of its arguments, or a specification");
    run.write(*value);
  }
  return run.take(mark);
}

}  // namespace ferry::jinja
