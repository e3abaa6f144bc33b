#include "cli/description.h"

#include <CLI/CLI.hpp>

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
    text.group = option->get_group();
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

}  // namespace ferry::cli
