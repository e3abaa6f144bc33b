// The arguments of a command. CLI11 parses them; only arguments.cc, description.cc and main.cc include it, because it
// takes longer to compile than most files that declare arguments.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ferry::cli {

class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument required() const;
  // What the help calls the value; "" where the argument's own name says enough. Shells complete by it: "cpu|gpu",
  // and the names that completion.cc knows, as FILE, FOLDER and VARIANT.
  Argument type_name(const std::string& name) const;
  Argument capture_default_str() const;                           // the help prints the variable's current value
  Argument range(int minimum, int maximum) const;                 // throws Error on values outside
  Argument delimiter(char between) const;                         // separates the items of a list
  Argument one_of(const std::vector<std::string>& values) const;  // throws Error on others; the type is "these|values"
  Argument group(const std::string& title) const;                 // its heading in the help
  bool given() const;                                             // after parsing: was it on the command line?

 private:
  CLI::Option* option_;
};

// A subcommand of `ferry`. The variables must live until its callback has run. A word that is no number where a number
// belongs throws Error with a sentence that says what is expected.
class Command {
 public:
  Command(CLI::App& ferry, const std::string& name, const std::string& summary);

  void footer(const std::string& text) const;
  // The heading in the help of the options that are added from now on; "Options" at first.
  void group(const std::string& name) const;
  // `names` are "--threads", "-o,--output" or, for a positional argument, "MODEL".
  Argument add_option(const std::string& names, std::string& value, const std::string& help) const;
  Argument add_option(const std::string& names, int& value, const std::string& help) const;
  Argument add_option(const std::string& names, float& value, const std::string& help) const;
  Argument add_option(const std::string& names, std::optional<int>& value, const std::string& help) const;
  Argument add_option(const std::string& names, std::optional<float>& value, const std::string& help) const;
  Argument add_option(const std::string& names, std::vector<int>& values, const std::string& help) const;
  // Calls `read` with the word; it throws Error on a word that it does not know.
  Argument add_option(const std::string& names, std::function<void(const std::string&)> read,
                      const std::string& help) const;
  // A named option takes one value each time; a positional argument takes all that follow.
  Argument add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) const;
  Argument add_flag(const std::string& names, bool& value, const std::string& help) const;
  void callback(std::function<void()> run) const;

 private:
  CLI::App* app_;
};

}  // namespace ferry::cli
