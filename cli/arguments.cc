#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace ferry::cli {

Argument Argument::required() const { return Argument(option_->required()); }
Argument Argument::type_name(const std::string& name) const { return Argument(option_->type_name(name)); }
Argument Argument::capture_default_str() const { return Argument(option_->capture_default_str()); }
Argument Argument::range(int minimum, int maximum) const {
  return Argument(option_->check(CLI::Range(minimum, maximum).description("")));
}
Argument Argument::delimiter(char between) const { return Argument(option_->delimiter(between)); }
Argument Argument::one_of(const std::vector<std::string>& values) const {
  return Argument(option_->check(CLI::IsMember(values).description(""))->type_name(CLI::detail::join(values, "|")));
}
Argument Argument::group(const std::string& title) const { return Argument(option_->group(title)); }
bool Argument::given() const { return option_->count() > 0; }

Command::Command(CLI::App& ferry, const std::string& name, const std::string& summary)
    : app_(ferry.add_subcommand(name, summary)) {}

void Command::footer(const std::string& text) const { app_->footer(text); }
Argument Command::add_option(const std::string& names, std::string& value, const std::string& help) const {
  return Argument(app_->add_option(names, value, help));
}
Argument Command::add_option(const std::string& names, int& value, const std::string& help) const {
  return Argument(app_->add_option(names, value, help));
}
Argument Command::add_option(const std::string& names, float& value, const std::string& help) const {
  return Argument(app_->add_option(names, value, help));
}
Argument Command::add_option(const std::string& names, std::vector<int>& values, const std::string& help) const {
  return Argument(app_->add_option(names, values, help)->allow_extra_args(false));
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
