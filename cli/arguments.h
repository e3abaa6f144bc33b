// What follows a command's name. CLI11 does the work, unseen: it takes longer to compile than most of the files that
// have arguments, so that only arguments.cc and main.cc include it.
#pragma once

#include <cstddef>
#include <functional>
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
  // In the help; "" where its own name says enough. By it shells know what to complete: "cpu|gpu", and what
  // completion.cc has for FILE, FOLDER, VARIANT...
  Argument type_name(const std::string& name) const;
  Argument capture_default_str() const;                           // the help tells the variable's value of now
  Argument range(int minimum, int maximum) const;                 // refuses others
  Argument delimiter(char between) const;                         // of a list's items
  Argument one_of(const std::vector<std::string>& values) const;  // refuses others; its type is "these|values"
  Argument group(const std::string& title) const;                 // its heading in the help
  bool given() const;                                             // once the words are read

 private:
  CLI::Option* option_;
};

// A subcommand of `ferry`. The variables must live until its callback has run.
class Command {
 public:
  Command(CLI::App& ferry, const std::string& name, const std::string& summary);

  void footer(const std::string& text) const;
  // `names` are "--threads", "-o,--output" or, for what has its place without a name, "MODEL".
  Argument add_option(const std::string& names, std::string& value, const std::string& help) const;
  Argument add_option(const std::string& names, int& value, const std::string& help) const;
  Argument add_option(const std::string& names, float& value, const std::string& help) const;
  Argument add_option(const std::string& names, std::vector<int>& values, const std::string& help) const;
  // `read` is given the word, and throws Error on one that it does not know.
  Argument add_option(const std::string& names, std::function<void(const std::string&)> read,
                      const std::string& help) const;
  // Given once a value; of what has its place without a name, all that come.
  Argument add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) const;
  Argument add_flag(const std::string& names, bool& value, const std::string& help) const;
  void callback(std::function<void()> run) const;

 private:
  CLI::App* app_;
};

}  // namespace ferry::cli
