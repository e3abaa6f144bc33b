// All that `ferry` prints. What comes from a file or a user is cleaned on the way (sdk/printable.h), so no caller needs
// to remember it. tests/package/arrows_test.py keeps other ways out of the command line.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ferry::cli {

// As printf(), to standard output and to standard error. Each %s is one line, whatever it holds; the format is printed
// verbatim. Known conversions: d i u x X c with hh h l ll z, e f g with any precision, s, %.
[[gnu::format(printf, 1, 2)]] void print(const char* format, ...);
[[gnu::format(printf, 1, 2)]] void print_error(const char* format, ...);
// The same as a string.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);

// A text of several lines: a report, or what a model generates. Lines and tabs stay, controls go.
void print_text(std::string_view text, std::FILE* to = stdout);
// A report with colours: escape sequences for these stay, other ones go.
void print_styled(std::string_view text);
// A JSON document and a newline. Names are whole in it; characters that steer a terminal are escaped.
void print_document(const nlohmann::json& document, int indent = 2);
void print_document(const nlohmann::ordered_json& document, int indent = 2);
// The same as a string, without the newline.
std::string json_text(const nlohmann::json& document, int indent);
std::string json_text(const nlohmann::ordered_json& document, int indent);
// Data for another program: verbatim, unless standard output is a terminal.
void print_data(std::string_view data);

}  // namespace ferry::cli
