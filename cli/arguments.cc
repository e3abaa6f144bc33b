#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "converter/error.h"

namespace ferry::cli {
namespace {

// Throws Error with a sentence that names the option, the word and what would be right.
[[noreturn]] void refuse(const CLI::Option& option, const std::string& word, const std::string& expected) {
  fail("%s %s: expected %s", option.get_name().c_str(), word.c_str(), expected.c_str());
}

// Calls `test` with the word before it is converted; it throws Error where the word is wrong.
CLI::Option* checked(CLI::Option* option, std::function<void(const std::string&)> test) {
  return option->check([test = std::move(test)](const std::string& word) {
    test(word);
    return std::string();
  });
}

bool read_int(const std::string& word, int* value) {
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, *value);
  return error == std::errc() && stop == end;
}

bool read_double(const std::string& word, double* value) {
  char* end = nullptr;
  *value = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0';
}

CLI::Option* whole_number(CLI::Option* option) {
  return checked(option, [option](const std::string& word) {
    int value = 0;
    double number = 0;
    if (read_int(word, &value)) return;
    const bool whole = read_double(word, &number) && std::trunc(number) == number && std::fabs(number) <= INT32_MAX;
    refuse(*option, word, "a whole number" + (whole ? ": " + std::to_string(static_cast<int>(number)) : ""));
  });
}

CLI::Option* real_number(CLI::Option* option) {
  return checked(option, [option](const std::string& word) {
    double value = 0;
    if (!read_double(word, &value)) refuse(*option, word, "a number");
  });
}

// "f32, f16, i8 or i4"
std::string alternatives(const std::vector<std::string>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + values[i];
  return text;
}

}  // namespace

Argument Argument::required() const { return Argument(option_->required()); }
Argument Argument::type_name(const std::string& name) const { return Argument(option_->type_name(name)); }
Argument Argument::capture_default_str() const { return Argument(option_->capture_default_str()); }
Argument Argument::range(int minimum, int maximum) const {
  return Argument(checked(option_, [option = option_, minimum, maximum](const std::string& word) {
    int value = 0;
    if (read_int(word, &value) && value >= minimum && value <= maximum) return;
    const std::string most = maximum == INT32_MAX ? " or more" : " to " + std::to_string(maximum);
    refuse(*option, word, "a whole number, " + std::to_string(minimum) + most);
  }));
}
Argument Argument::delimiter(char between) const { return Argument(option_->delimiter(between)); }
Argument Argument::one_of(const std::vector<std::string>& values) const {
  checked(option_, [option = option_, values](const std::string& word) {
    if (std::find(values.begin(), values.end(), word) == values.end()) refuse(*option, word, alternatives(values));
  });
  return Argument(option_->type_name(CLI::detail::join(values, "|")));
}
Argument Argument::group(const std::string& title) const { return Argument(option_->group(title)); }
bool Argument::given() const { return option_->count() > 0; }

Command::Command(CLI::App& ferry, const std::string& name, const std::string& summary)
    : app_(ferry.add_subcommand(name, summary)) {}

void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::group(const std::string& name) const { app_->option_defaults()->group(name); }
Argument Command::add_option(const std::string& names, std::string& value, const std::string& help) const {
  return Argument(app_->add_option(names, value, help));
}
Argument Command::add_option(const std::string& names, int& value, const std::string& help) const {
  return Argument(whole_number(app_->add_option(names, value, help)));
}
Argument Command::add_option(const std::string& names, float& value, const std::string& help) const {
  return Argument(real_number(app_->add_option(names, value, help)));
}
Argument Command::add_option(const std::string& names, std::optional<int>& value, const std::string& help) const {
  return Argument(whole_number(app_->add_option(names, value, help)));
}
Argument Command::add_option(const std::string& names, std::optional<float>& value, const std::string& help) const {
  return Argument(real_number(app_->add_option(names, value, help)));
}
Argument Command::add_option(const std::string& names, std::vector<int>& values, const std::string& help) const {
  return Argument(whole_number(app_->add_option(names, values, help)->allow_extra_args(false)));
}
Argument Command::add_option(const std::string& names, std::function<void(const std::string&)> read,
                             const std::string& help) const {
  return Argument(app_->add_option_function(names, read, help));
}
Argument Command::add_option(const std::string& names, std::vector<std::string>& values,
                             const std::string& help) const {
  const bool named = names.front() == '-';
  return Argument(app_->add_option(names, values, help)->allow_extra_args(!named));
}
Argument Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return Argument(app_->add_flag(names, value, help));
}
void Command::callback(std::function<void()> run) const { app_->callback(std::move(run)); }

}  // namespace ferry::cli
