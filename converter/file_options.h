// Options of formats whose files hold a whole network: ONNX and TensorFlow Lite.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "converter/option.h"

namespace ferry {

// --shape NAME=SIZES
Option shape_option();
// --tap NAME
Option tap_option();

// Sizes of inputs by name, from "input=1x3x224x224".
using InputShapes = std::map<std::string, std::vector<int64_t>>;
// Throws Error for another form.
InputShapes parse_shapes(const std::vector<std::string>& shapes);

// The taps of a conversion: every value of the file, or those that are asked for.
struct TapRequest {
  bool all = false;                // --keep-taps
  std::vector<std::string> names;  // --tap

  bool any() const { return all || !names.empty(); }
};
TapRequest tap_request(const Settings& given);

}  // namespace ferry
