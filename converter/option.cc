#include "converter/option.h"

#include <algorithm>

#include "converter/error.h"
#include "converter/preprocessing/image_settings.h"
#include "converter/suggest.h"

namespace ferry {

const Option* find_option(std::span<const Option> options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& o) { return o.name == name; });
  return found == options.end() ? nullptr : &*found;
}

std::span<const Option> common_options() {
  static const std::vector<Option> kOptions = {
      {.name = "weights",
       .argument = "f32|f16|i8|i4",
       .help =
           "Storage of weights: f32, f16 (half the size), or integers with scales for linear layers and 1x1\n"
           "convolutions: i8 (a quarter of the size) or i4 (a sixth). docs/checkpoints.md has the accuracy. Without\n"
           "it, a quantised checkpoint keeps its integers",
       .check = one_of_its_words,
       .absent = "f32",
       .rebuilds = false},
      {.name = "kv",
       .argument = "float32|float16|int8",
       .help = "Storage of a language model's keys and values between tokens: float16 (half the memory) or int8 (a\n"
               "quarter). docs/language.md has the accuracy",
       .check = one_of_its_words,
       .absent = "float32",
       .rebuilds = false},
      {.name = "labels",
       .argument = "FILE",
       .help = "Text file with the class names, one per line",
       .records = Option::Records::Name,
       .rebuilds = false},
      {.name = "max-length",
       .argument = "N",
       .help = "Maximum length of a language model's text, prompt and answer together, in tokens. Default: 4096, or "
               "the length that it was trained for if that is shorter"},  // the import checks it with the network
      {.name = "keep-taps",
       .argument = "",
       .help = "Keep the outputs of all modules, of an ONNX or .tflite file all values, for `ferry parity`; the blob "
               "runs slower",
       .takes = Option::Takes::Nothing},
  };
  return kOptions;
}

std::span<const Option> preparation_options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> all = {
        {.name = "like",
         .argument = "VARIANT",
         .help = "Use the preprocessing of this variant of `ferry models`, and its class names if the count matches. "
                 "Default: preprocessor_config.json in the file's folder",
         .check = known_variant},
    };
    all.insert(all.end(), image_options().begin(), image_options().end());
    all.push_back({.name = "task",
                   .argument = "matting|segmentation",
                   .help = "What output 0 is: the foreground of the image, or a class per pixel (docs/tasks.md)",
                   .check = one_of_its_words});
    return all;
  }();
  return kOptions;
}

void check_integer(const Option& option, const Settings& given, int minimum, std::optional<int> maximum) {
  given.integer(option.name, minimum, maximum);
}

void whole_numbers(const Option& option, const Settings& given, Families) { given.integers(option.name); }

void image_size(const Option& option, const Settings& given, Families) { given.size(option.name); }

void one_of_its_words(const Option& option, const Settings& given, Families) {
  const std::string value = given.text(option.name);
  std::vector<std::string> words;
  for (size_t at = 0; at <= option.argument.size();) {
    const size_t end = std::min(option.argument.find('|', at), option.argument.size());
    words.push_back(option.argument.substr(at, end - at));
    at = end + 1;
  }
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  std::string all = words.front();
  for (size_t i = 1; i < words.size(); ++i) all += (i + 1 < words.size() ? ", " : " or ") + words[i];
  fail("--%s %s: expected %s%s", option.name.c_str(), value.c_str(), all.c_str(), did_you_mean(value, words).c_str());
}

void known_variant(const Option& option, const Settings& given, Families families) {
  const std::string model = given.text(option.name);
  std::vector<std::string> names;
  for (const Family* family : families) {
    for (const Variant* v : family->variants()) {
      if (v->is_called(model, false) || v->is_called(model, true)) return;
      for (const std::string& name : {v->architecture, v->name()}) {
        names.push_back(name);
        names.push_back(v->framework + "/" + name);
      }
      if (!v->hub.empty()) names.push_back(v->hub);
    }
  }
  fail("--%s %s: no model has this name%s; `ferry models` lists them", option.name.c_str(), model.c_str(),
       did_you_mean(model, names).c_str());
}

}  // namespace ferry
