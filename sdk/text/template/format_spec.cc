// Python's format(value, spec) ("Format Specification Mini-Language"): what str.format() does with a field.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/numbers.h"

namespace ferry::jinja {
namespace {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct Spec {
  std::string_view fill = " ";
  char align = '\0', sign = '\0', grouping = '\0', type = '\0';
  bool alternative = false;
  int64_t width = 0, precision = -1;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }

bool read_spec(std::string_view text, bool number, Spec* spec) {
  const auto skip = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == any.npos) return '\0';
    const char c = text[0];
    text.remove_prefix(1);
    return c;
  };
  const auto digits = [&] {
    int64_t value = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
      value = std::min<int64_t>(value * 10 + (text[0] - '0'), kMaxWidth + 1);
    return value;
  };
  bool filled = false;
  const size_t first = text.empty() ? 0 : first_bytes(text);
  if (first < text.size() && is_align(text[first])) {
    spec->fill = text.substr(0, first);
    spec->align = text[first];
    filled = true;
    text.remove_prefix(first + 1);
  } else {
    spec->align = skip("<>=^");
  }
  spec->sign = skip("+- ");
  spec->alternative = skip("#") != '\0';
  if (!filled && skip("0") != '\0') {
    spec->fill = "0";
    if (spec->align == '\0' && number) spec->align = '=';
  }
  spec->width = digits();
  spec->grouping = skip(",_");
  if (skip(".") != '\0') {
    if (text.empty() || text[0] < '0' || text[0] > '9') return false;
    spec->precision = digits();
  }
  if (!text.empty()) {
    spec->type = text[0];
    text.remove_prefix(1);
  }
  return text.empty();
}

// A number's text in parts: sign and prefix, digits that are grouped and padded with zeros, and the rest.
struct Parts {
  char lead[4] = "";
  char text[1400];  // all digits of a double, plus a precision
  size_t whole = 0, size = 0;
};

void set_sign(const Spec& spec, bool negative, Parts* parts) {
  const char sign = negative ? '-' : spec.sign == '+' || spec.sign == ' ' ? spec.sign : '\0';
  parts->lead[0] = sign;
}

void integer_parts(const Spec& spec, int64_t value, Parts* parts) {
  set_sign(spec, value < 0, parts);
  auto magnitude = static_cast<uint64_t>(value);
  if (value < 0) magnitude = uint64_t{0} - magnitude;
  const unsigned base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
  if (spec.alternative && base != 10) {
    const size_t at = std::strlen(parts->lead);
    parts->lead[at] = '0';
    parts->lead[at + 1] = spec.type;
  }
  const char* letters = spec.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  do {
    parts->text[parts->size++] = letters[magnitude % base];
    magnitude /= base;
  } while (magnitude != 0);
  std::reverse(parts->text, parts->text + parts->size);
  parts->whole = parts->size;
}

// Without a type but with a precision: as 'g', with at least one digit behind the point, and with an exponent where the
// point would be behind the last digit.
void general_parts(double value, int places, Parts* parts) {
  places = std::max(places, 1);
  char* text = parts->text;
  int size = std::snprintf(text, sizeof parts->text, "%.*e", places - 1, value);
  std::replace(text, text + size, ',', '.');  // the locale's decimal point
  char* mark = std::strchr(text, 'e');
  const int exponent = mark != nullptr ? std::atoi(mark + 1) : 0;
  const auto trimmed = [&](char* end) {  // without zeros behind the point
    if (std::find(text, end, '.') == end) return end;
    while (end[-1] == '0') --end;
    return end[-1] == '.' ? end - 1 : end;
  };
  if (mark != nullptr && exponent >= -4 && exponent < places - 1) {
    size = std::snprintf(text, sizeof parts->text, "%.*f", places - 1 - exponent, value);
    std::replace(text, text + size, ',', '.');
    char* end = trimmed(text + size);
    if (std::find(text, end, '.') == end) end = std::copy_n(".0", 2, end);
    size = static_cast<int>(end - text);
  } else if (mark != nullptr) {
    char* end = trimmed(mark);
    size = static_cast<int>(std::copy(mark, text + size, end) - text);
  }
  parts->size = static_cast<size_t>(size);
}

void real_parts(const Spec& spec, double value, Parts* parts) {
  set_sign(spec, std::signbit(value) && !std::isnan(value), parts);
  value = std::fabs(value);
  if (spec.type == '\0' && spec.precision < 0) {
    NumberText number;
    const std::string_view shortest = write_float(value, number);
    parts->size = static_cast<size_t>(std::copy(shortest.begin(), shortest.end(), parts->text) - parts->text);
  } else if (spec.type == '\0' && std::isfinite(value)) {
    general_parts(value, static_cast<int>(spec.precision), parts);
  } else {
    const bool percent = spec.type == '%';
    const char letter = percent ? 'f' : spec.type == 'n' || spec.type == '\0' ? 'g' : spec.type;
    const char plain[] = {'%', '.', '*', letter, '\0'}, full[] = {'%', '#', '.', '*', letter, '\0'};
    const int places = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
    const int size = std::snprintf(parts->text, sizeof parts->text, spec.alternative ? full : plain, places,
                                   percent ? value * 100 : value);
    parts->size = static_cast<size_t>(size);
    std::replace(parts->text, parts->text + size, ',', '.');  // the locale's decimal point
    if (percent) parts->text[parts->size++] = '%';
  }
  parts->whole = std::string_view(parts->text, parts->size).find_first_not_of("0123456789");
  parts->whole = std::min(parts->whole, parts->size);
}

void write_number(Evaluator& run, const Spec& spec, const Parts& parts) {
  const size_t lead = std::strlen(parts.lead), rest = parts.size - parts.whole;
  const bool decimal = std::strchr("boxX", spec.type) == nullptr || spec.type == '\0';
  const size_t group = decimal ? 3 : 4;
  const auto grouped = [&](size_t digits) {
    return spec.grouping != '\0' && digits > 0 ? digits + (digits - 1) / group : digits;
  };
  const auto width = static_cast<size_t>(spec.width);
  size_t digits = parts.whole;
  if (spec.align == '=' && spec.fill == "0" && parts.whole > 0)
    while (lead + grouped(digits) + rest < width) ++digits;
  const size_t total = lead + grouped(digits) + rest, missing = width > total ? width - total : 0;
  const char align = spec.align == '\0' ? '>' : spec.align;
  const size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  const size_t between = align == '=' ? missing : 0;
  const auto pad = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) run.append(spec.fill);
  };
  pad(before);
  run.append({parts.lead, lead});
  pad(between);
  for (size_t i = 0; i < digits; ++i) {
    if (i > 0 && spec.grouping != '\0' && (digits - i) % group == 0) run.append(spec.grouping);
    run.append(i < digits - parts.whole ? '0' : parts.text[i - (digits - parts.whole)]);
  }
  run.append({parts.text + parts.whole, rest});
  pad(missing - before - between);
}

void write_padded(Evaluator& run, const Spec& spec, std::string_view text) {
  text = run.read_characters(text);
  if (spec.precision >= 0) text = text.substr(0, bytes_of(text, static_cast<size_t>(spec.precision)));
  const int64_t missing = std::max<int64_t>(spec.width - static_cast<int64_t>(count_characters(text)), 0);
  const int64_t before = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
  for (int64_t i = 0; i < before; ++i) run.append(spec.fill);
  run.append(text);
  for (int64_t i = before; i < missing; ++i) run.append(spec.fill);
}

void unknown_code(Evaluator& run, const Spec& spec, const Value& value) {
  run.fail("Unknown format code '%c' for object of type '%s'", spec.type, type_name(value.type));
}

}  // namespace

void write_formatted(Evaluator& run, const Value& value, std::string_view text) {
  if (text.empty()) return run.write(value);
  const bool number = value.is_number();
  Spec spec;
  if (!number && !value.is(Type::String)) {
    run.fail("unsupported format string passed to %s.__format__", type_name(value.type));
  } else if (!read_spec(text, number, &spec)) {
    run.fail("Invalid format specifier '%.*s' for object of type '%s'",
             static_cast<int>(std::min<size_t>(text.size(), 100)), text.data(), type_name(value.type));
  } else if (spec.width > kMaxWidth || spec.precision > kMaxWidth) {
    run.fail("a format's width or precision is above %lld", static_cast<long long>(kMaxWidth));
  } else if (!number) {
    if (spec.type != 's' && spec.type != '\0') return unknown_code(run, spec, value);
    if (spec.sign != '\0' || spec.align == '=' || spec.grouping != '\0' || spec.alternative)
      run.fail("sign, '=', '#' and separators are not allowed in the format of a str");
    else
      write_padded(run, spec, value.uncharged());
  } else {
    const std::string_view integers = "bcdoxXn", reals = "eEfFgG%";
    const bool real = spec.type != '\0' && reals.find(spec.type) != reals.npos;
    const bool integral = value.is_integral() && !real;
    if (!real && spec.type != '\0' && spec.type != 'n' && (!integral || integers.find(spec.type) == integers.npos))
      return unknown_code(run, spec, value);
    if (integral && spec.precision >= 0) {
      run.fail("Precision not allowed in integer format specifier");
      return;
    }
    if (spec.grouping != '\0' && (spec.type == 'n' || spec.type == 'c' ||
                                  (spec.grouping == ',' && integral && spec.type != '\0' && spec.type != 'd'))) {
      run.fail("Cannot specify '%c' with '%c'.", spec.grouping, spec.type);
      return;
    }
    if (spec.type == 'c') {
      char character[4];
      const bool valid = value.integer >= 0 && value.integer <= 0x10FFFF;
      const size_t bytes = valid ? encode(static_cast<uint32_t>(value.integer), character) : 0;
      if (spec.align == '\0') spec.align = '>';
      if (spec.sign != '\0' || spec.alternative)
        run.fail("Sign not allowed with integer format specifier 'c'");
      else if (bytes == 0)
        run.fail("%%c arg not in range(0x110000)");
      else
        write_padded(run, spec, {character, bytes});
      return;
    }
    Parts parts;
    if (!run.step(kFloatSteps + static_cast<size_t>(std::max<int64_t>(spec.precision, 0)))) return;
    if (integral)
      integer_parts(spec, value.integer, &parts);
    else
      real_parts(spec, value.number(), &parts);
    write_number(run, spec, parts);
  }
}

}  // namespace ferry::jinja
