#include "converter/file_options.h"

#include <charconv>

#include "converter/error.h"

namespace ferry {
namespace {

void valid_shapes(const Option& option, const Settings& given, Families) { parse_shapes(given.values(option.name)); }

}  // namespace

Option shape_option() {
  return {.name = "shape",
          .argument = "NAME=SIZES",
          .help = "Size of an input, which the file leaves open or has otherwise: input=1x3x224x224. May be repeated",
          .takes = Option::Takes::Values,
          .check = valid_shapes};
}

Option tap_option() {
  return {.name = "tap",
          .argument = "NAME",
          .help =
              "Keep a value for `ferry parity`: its name in the file; in ONNX files also its node's, or its "
              "module's (layer1.0.conv1). May be repeated",
          .takes = Option::Takes::Values};
}

InputShapes parse_shapes(const std::vector<std::string>& shapes) {
  InputShapes out;
  for (const std::string& text : shapes) {
    const size_t equals = text.rfind('=');
    std::vector<int64_t> dims;
    bool good = equals != std::string::npos && equals > 0;
    for (size_t at = equals; good && at < text.size();) {
      int64_t size = 0;
      const auto [end, bad] = std::from_chars(text.data() + at + 1, text.data() + text.size(), size);
      good = bad == std::errc() && size > 0 && (end == text.data() + text.size() || *end == 'x');
      at = static_cast<size_t>(end - text.data());
      dims.push_back(size);
    }
    if (!good) fail("--shape %s: expected an input's name and its sizes, like input=1x3x224x224", text.c_str());
    out[text.substr(0, equals)] = dims;
  }
  return out;
}

TapRequest tap_request(const Settings& given) { return {.all = given.has("keep-taps"), .names = given.values("tap")}; }

}  // namespace ferry
