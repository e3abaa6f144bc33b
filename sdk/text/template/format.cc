// String formatting with % and format().
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/numbers.h"

namespace ferry::jinja {
namespace {

// "%[flags][width][.precision]letter"; `at` is after the "%".
struct FormatSpec {
  bool left = false, plus = false, zeros = false, space = false, alternative = false;
  int64_t width = 0, precision = -1;
  char letter = '\0';
};

bool read_spec(std::string_view text, size_t* at, FormatSpec* spec) {
  const auto number = [&] {
    int64_t value = 0;
    while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9' && value <= kMaxWidth)
      value = value * 10 + (text[(*at)++] - '0');
    return value;
  };
  for (; *at < text.size(); ++*at) {
    const char c = text[*at];
    bool* flag = c == '-'   ? &spec->left
                 : c == '+' ? &spec->plus
                 : c == '0' ? &spec->zeros
                 : c == ' ' ? &spec->space
                 : c == '#' ? &spec->alternative
                            : nullptr;
    if (flag == nullptr) break;
    *flag = true;
  }
  spec->width = number();
  if (*at < text.size() && text[*at] == '.') {
    ++*at;
    spec->precision = number();
  }
  if (*at == text.size() || spec->width > kMaxWidth || spec->precision > kMaxWidth) return false;
  spec->letter = text[(*at)++];
  return true;
}

// Writes the value without sign and padding, which the caller adds.
void write_number(Evaluator& run, const FormatSpec& spec, const Value& value) {
  if (!value.is_number()) {
    run.fail("%%%c format: a real number is required, not %s", spec.letter, type_name(value.type));
    return;
  }
  char text[1400];  // all digits of a double, plus a precision
  if (!run.step(kFloatSteps)) return;
  const bool whole = spec.letter == 'd' || spec.letter == 'i' || spec.letter == 'x' || spec.letter == 'X';
  if (whole && value.is(Type::Float) && !(std::fabs(value.real) < 9.2e18)) {
    run.fail("%%%c format: an integer beyond 64 bits", spec.letter);
    return;
  }
  const int64_t integral = value.is_integral() ? value.integer : whole ? static_cast<int64_t>(value.real) : 0;
  const bool negative = whole ? integral < 0 : std::signbit(value.number());
  if (negative || spec.plus || spec.space) run.append(negative ? '-' : spec.plus ? '+' : ' ');
  const auto size = static_cast<unsigned long long>(integral);
  const unsigned long long magnitude = negative ? 0ull - size : size;
  int written = 0;
  if (whole) {
    const int minimum = static_cast<int>(std::max<int64_t>(spec.precision, 1));
    written = std::snprintf(text, sizeof text,
                            spec.letter == 'x'   ? "%.*llx"
                            : spec.letter == 'X' ? "%.*llX"
                                                 : "%.*llu",
                            minimum, magnitude);
  } else {
    const char pattern[] = {'%', '.', '*', spec.letter, '\0'};
    const int places = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
    written = std::snprintf(text, sizeof text, pattern, places, std::fabs(value.number()));
    std::replace(text, text + written, ',', '.');  // the locale's decimal point
  }
  run.append({text, static_cast<size_t>(written)});
}

void write_place(Evaluator& run, const FormatSpec& spec, const Value& value) {
  const size_t mark = run.length();
  const bool number = std::string_view("dixXeEfFgG").find(spec.letter) != std::string_view::npos;
  if (spec.letter == 's') {
    run.write(value);
  } else if (spec.letter == 'r' || spec.letter == 'a') {
    run.write_repr(value);
  } else if (number) {
    write_number(run, spec, value);
  } else {
    run.fail("unsupported format character '%c'", spec.letter);
  }
  if (!run.step(static_cast<size_t>(std::max<int64_t>(spec.precision, 0)))) return;
  if (!number && spec.precision >= 0) run.cut(mark + bytes_of(run.written(mark), static_cast<size_t>(spec.precision)));
  std::string_view digits = run.read(run.take(mark));
  int64_t missing = spec.width - static_cast<int64_t>(count_characters(digits));
  const bool zeros = spec.zeros && number && !spec.left;
  if (zeros && !digits.empty() && (digits[0] == '-' || digits[0] == '+' || digits[0] == ' ')) {
    run.append(digits[0]);
    digits.remove_prefix(1);
  }
  if (spec.left) run.append(digits);
  for (; missing > 0; --missing) run.append(zeros ? '0' : ' ');
  if (!spec.left) run.append(digits);
}

}  // namespace

Value format(Evaluator& run, const Value& pattern, const Arguments& a) {
  const std::string_view text = run.read_characters(pattern);
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
    if (at < text.size() && text[at] == '(') {  // key of a dict, or name of an argument
      const size_t end = std::min(text.find(')', at), text.size());
      const std::string_view name = text.substr(at + 1, end - at - 1);
      at = std::min(end + 1, text.size());
      value = a.count == 1 && a[0].is(Type::Dict) ? a[0].dict->find(run, name) : a.find(run, name);
      used = a.count;
      if (value == nullptr) return run.fail("a format names what is not there");
    }
    FormatSpec spec;
    if (!read_spec(text, &at, &spec)) return run.fail("incomplete format");
    if (value == nullptr) {
      if (used == a.count) return run.fail("not enough arguments for format string");
      value = &a[used++];
    }
    // As MarkupSafe: texts are escaped before they are cut or padded.
    const bool words = std::string_view("sra").find(spec.letter) != std::string_view::npos;
    if (pattern.safe && words) {
      const size_t begin = run.length();
      spec.letter == 's' ? run.write(*value) : run.write_repr(*value);
      const Value plain = run.take(begin);
      const bool kept = value->safe && spec.letter == 's';
      spec.letter = 's';
      write_place(run, spec, run.escaped(kept ? *value : plain));
    } else {
      write_place(run, spec, *value);
    }
  }
  if (used < a.count && !(a.count == 1 && a[0].is(Type::Dict)))
    return run.fail("not all arguments converted during string formatting");
  const Value made = run.take(mark);
  return pattern.safe ? markup(made) : made;
}

}  // namespace ferry::jinja
