#include "cli/description.h"

#include <CLI/CLI.hpp>

#include "cli/text.h"
#include "converter/error.h"

namespace ferry::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& ferry) {
  return ferry.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<OptionText> options_of(const CLI::App& command) {
  std::vector<OptionText> list;
  for (const CLI::Option* option : command.get_options()) {
    OptionText text;
    for (const std::string& name : option->get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) text.names.push_back("--" + name);
    text.positional = text.names.empty();
    if (text.positional) text.names.push_back(option->get_name(true));
    text.takes_value = option->get_type_size() != 0;
    if (text.takes_value) text.type = option->get_type_name();
    text.help = option->get_description();
    if (text.takes_value) text.value_if_absent = option->get_default_str();
    text.required = option->get_required();
    text.repeated = option->get_expected_max() > 1;
    list.push_back(std::move(text));
  }
  return list;
}

}  // namespace

CommandLineText describe(const CLI::App& ferry) {
  CommandLineText text{ferry.get_description(), options_of(ferry), {}, ferry.get_footer()};
  for (const CLI::App* command : commands_of(ferry)) {
    text.commands.push_back(
        {command->get_name(), command->get_description(), options_of(*command), command->get_footer()});
  }
  return text;
}

std::string help_of(const CLI::App& ferry, const std::string& command) {
  // App::help() would tell of the command that is at work.
  if (command.empty()) return ferry.get_formatter()->make_help(&ferry, ferry.get_name(), CLI::AppFormatMode::Normal);
  std::vector<std::string> names;
  for (const CLI::App* c : commands_of(ferry)) {
    if (c->get_name() == command) return c->help(ferry.get_name());
    names.push_back(c->get_name());
  }
  fail("no command is called '%s'%s: see `ferry help`", command.c_str(), did_you_mean(command, names).c_str());
}

}  // namespace ferry::cli
