// An option of `ferry convert` is a row of data. The command line, the help, the completion, the manual page, the
// provenance and the checks read these rows. The values of a conversion are in Settings.
//
// Options of one format are in that format's folder (converter/source.h). Options of all formats are below.
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
    Values,  // may be repeated
    List,    // separated by commas; may be repeated
  };
  // What the blob's provenance records.
  enum class Records {
    Nothing,
    Name,      // without the value
    FileName,  // the last part of a path
    Value,
  };
  // Throws Error for an invalid value. Runs before the checkpoint or file is read.
  using Check = void (*)(const Option& option, const Settings& given, Families families);

  std::string name;      // "input-size", without dashes
  std::string argument;  // for the help, "HxW"; shells complete the words of "cpu|gpu"; "" for a flag
  std::string help;
  Takes takes = Takes::Value;
  Check check = nullptr;
  std::string absent = {};  // the default value, which the provenance does not record
  Records records = Records::Value;
  // The option determines the network, so read_options() returns it.
  bool rebuilds = true;
  // Appended to the error message if another format does not accept the option: "an ONNX file has --shape ...".
  std::string instead = {};

  bool repeats() const { return takes == Takes::Values || takes == Takes::List; }
};

// The first option of this name; null without one.
const Option* find_option(std::span<const Option> options, std::string_view name);

// --weights, --labels and --max-length, which every format accepts.
std::span<const Option> common_options();

// --like, image_options() and --task, of formats whose files do not say how images are prepared.
std::span<const Option> preparation_options();

// Functions for Option::check. Their errors begin with "--name value: ".
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
void one_of_its_words(const Option& option, const Settings& given, Families);  // the words of `argument`
void known_variant(const Option& option, const Settings& given, Families families);

}  // namespace ferry
