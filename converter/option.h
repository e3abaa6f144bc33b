// An option of `ferry convert` is a row of data. The command's parser, `--help`, the shells' completion, the manual
// page, the blob's provenance and the checks read these rows, and nothing else knows an option's name.
//
// The rows of a format are in its folder (converter/source.h); the rows that every format understands are below.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "converter/family.h"
#include "converter/settings.h"

namespace ferry {

struct Option {
  enum class Takes {
    Nothing,  // a flag
    Value,
    Values,  // may be given several times
    List,    // with commas between, and several times
  };
  // What the blob's provenance records of it.
  enum class Records {
    Nothing,
    Name,      // that it was given
    FileName,  // of a path
    Value,
  };
  // Throws Error for a value that cannot be. The checkpoint or file is not read yet.
  using Check = void (*)(const Option& option, const Settings& given, Families families);

  std::string name;      // "input-size", without dashes
  std::string argument;  // of the help, "HxW"; "cpu|gpu" are words that shells complete; "" of a flag
  std::string help;
  Takes takes = Takes::Value;
  Check check = nullptr;
  std::string absent = {};  // the value if it is not given; recorded as little as an option that is not given
  Records records = Records::Value;
  // Part of what the network is, so that read_options() returns it.
  bool rebuilds = true;
  // Appended if the option is given with another format: "an ONNX file has --shape NAME=1x3x224x224".
  std::string instead = {};
};

// Null: none has this name. Of two with one name, the first.
const Option* find_option(std::span<const Option> options, std::string_view name);

// --weights, --labels: understood by every format.
std::span<const Option> common_options();

// Checks for rows. They throw Error that begins with "--name value: ".
void check_integer(const Option& option, const Settings& given, int minimum, std::optional<int> maximum = {});
template <int minimum>
void at_least(const Option& option, const Settings& given, Families) {
  check_integer(option, given, minimum);
}
template <int minimum, int maximum>
void between(const Option& option, const Settings& given, Families) {
  check_integer(option, given, minimum, maximum);
}
void whole_numbers(const Option& option, const Settings& given, Families);
void image_size(const Option& option, const Settings& given, Families);
void one_of_its_words(const Option& option, const Settings& given, Families);  // those of `argument`
void known_variant(const Option& option, const Settings& given, Families families);

}  // namespace ferry
