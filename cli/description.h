// The command line as it describes itself in its help, for what else is made of that: the shells' completion and the
// manual page.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ferry::cli {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; of what has its place without a name: "MODEL"
  std::string type;                // of its value, as the help has it: "FILE", "cpu|gpu"; "" of a flag
  std::string help;
  std::string value_if_absent;  // as the help tells it; "" where it does not
  bool takes_value = false, positional = false, required = false, repeated = false;

  // What its value is called: its type, or its own name.
  const std::string& value() const { return positional && type.empty() ? names.front() : type; }
};

struct CommandText {
  std::string name, summary;
  std::vector<OptionText> options;
  std::string footer;  // lines that begin with spaces are to be kept as they are
};

struct CommandLineText {
  std::string summary;
  std::vector<OptionText> options;  // before any command
  std::vector<CommandText> commands;
  std::string footer;
};

CommandLineText describe(const CLI::App& ferry);

// What `ferry COMMAND --help` says; of "" what `ferry --help` says. Throws Error where there is no such command.
std::string help_of(const CLI::App& ferry, const std::string& command);

// In completion.cc: the script that `ferry completion SHELL` prints.
std::string completion(const CommandLineText& text, const std::string& shell);
// In manual.cc: ferry(1), in roff's man macros.
std::string manual_page(const CommandLineText& text);

}  // namespace ferry::cli
