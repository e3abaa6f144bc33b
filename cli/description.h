// A description of the command line, from which the help, the shells' completion and the manual page are made.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ferry::cli {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; "MODEL" of a positional argument
  std::string type;                // of its value: "FILE", "cpu|gpu"; "" of a flag
  std::string help;
  std::string value_if_absent;  // the default that the help prints; "" where it prints none
  std::string group;            // the heading above it in the help
  bool takes_value = false, positional = false, required = false, repeated = false;

  // The name of its value: its type, or its own name.
  const std::string& value() const { return positional && type.empty() ? names.front() : type; }
};

struct CommandText {
  std::string name, summary;
  std::vector<OptionText> options;
  std::string footer;  // lines that begin with spaces are kept verbatim
};

struct CommandLineText {
  std::string summary;
  std::vector<OptionText> options;  // before any command
  std::vector<CommandText> commands;
  std::string footer;
};

CommandLineText describe(const CLI::App& ferry);

// In help_text.cc: what `ferry COMMAND --help` prints on lines of at most `width` columns; of "" what `ferry --help`
// prints. Throws Error where there is no such command.
std::string help_text(const CommandLineText& text, const std::string& command, size_t width);
// The columns of the terminal that standard output is, within 40 and 120; 100 where it is no terminal.
size_t terminal_width();

// In completion.cc: the script that `ferry completion SHELL` prints.
std::string completion(const CommandLineText& text, const std::string& shell);
// In manual.cc: ferry(1), in roff's man macros.
std::string manual_page(const CommandLineText& text);

}  // namespace ferry::cli
