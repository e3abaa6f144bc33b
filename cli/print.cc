#include "cli/print.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "sdk/printable.h"

namespace ferry::cli {
namespace {

template <typename T>
void append(const std::string& conversion, T value, std::string* out) {
  const int size = std::snprintf(nullptr, 0, conversion.c_str(), value);
  const size_t before = out->size();
  out->resize(before + static_cast<size_t>(size) + 1);
  std::snprintf(out->data() + before, static_cast<size_t>(size) + 1, conversion.c_str(), value);
  out->pop_back();
}

// One conversion at a time, so that the text of %s is known.
std::string format_lines(const char* format, va_list args) {
  std::string out;
  for (const char* at = format; *at != '\0';) {
    if (*at != '%') {
      const size_t plain = std::strcspn(at, "%");
      out.append(at, plain);
      at += plain;
      continue;
    }
    std::string conversion = "%";
    for (++at; *at != '\0' && std::strchr("-+ #0123456789.*", *at) != nullptr; ++at)
      conversion += *at == '*' ? std::to_string(va_arg(args, int)) : std::string(1, *at);
    const size_t length = std::strspn(at, "hlz");
    const std::string_view size(at, length);
    conversion.append(at, length + 1);
    at += length;
    switch (*at++) {
      case '%': out += '%'; break;
      case 's': append(conversion, printable(va_arg(args, const char*)).c_str(), &out); break;
      case 'c':
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
        if (size == "z")
          append(conversion, va_arg(args, size_t), &out);
        else if (size == "ll")
          append(conversion, va_arg(args, long long), &out);
        else if (size == "l")
          append(conversion, va_arg(args, long), &out);
        else
          append(conversion, va_arg(args, int), &out);
        break;
      case 'e':
      case 'f':
      case 'g': append(conversion, va_arg(args, double), &out); break;
      default: fail("print: the conversion %s is unknown", conversion.c_str());
    }
  }
  return out;
}

void put(std::string_view text, std::FILE* to) { std::fwrite(text.data(), 1, text.size(), to); }

template <typename Document>
std::string cleaned_json(const Document& document, int indent) {
  return printable(document.dump(indent, ' ', false, Document::error_handler_t::replace), Printed::Json);
}

}  // namespace

std::string printed(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::string text = format_lines(format, args);
  va_end(args);
  return text;
}

void print(const char* format, ...) {
  va_list args;
  va_start(args, format);
  put(format_lines(format, args), stdout);
  va_end(args);
}

void print_error(const char* format, ...) {
  va_list args;
  va_start(args, format);
  put(format_lines(format, args), stderr);
  va_end(args);
}

void print_text(std::string_view text, std::FILE* to) { put(printable(text, Printed::Text), to); }

void print_styled(std::string_view text) {
  while (!text.empty()) {
    const size_t escape = std::min(text.find("\x1b["), text.size());
    print_text(text.substr(0, escape));
    text.remove_prefix(escape);
    const size_t digits = text.find_first_not_of("0123456789;", 2);
    const size_t style = digits < text.size() && text[digits] == 'm' ? digits + 1 : 0;
    put(text.substr(0, style), stdout);
    text.remove_prefix(style > 0 ? style : std::min<size_t>(text.size(), 1));
  }
}

std::string json_text(const nlohmann::json& document, int indent) { return cleaned_json(document, indent); }
std::string json_text(const nlohmann::ordered_json& document, int indent) { return cleaned_json(document, indent); }
void print_document(const nlohmann::json& document, int indent) { put(cleaned_json(document, indent) + "\n", stdout); }
void print_document(const nlohmann::ordered_json& document, int indent) {
  put(cleaned_json(document, indent) + "\n", stdout);
}

void print_data(std::string_view data) { isatty(STDOUT_FILENO) != 0 ? print_text(data) : put(data, stdout); }

}  // namespace ferry::cli
