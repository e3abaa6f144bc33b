// The names by which a file's values can be tapped, for parity.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "converter/file_options.h"
#include "converter/onnx/model.h"

namespace ferry::onnx {

// Values of the file by the names of their taps.
using TapNames = std::map<std::string, std::string>;

// Modules of PyTorch by the value that they return. PyTorch's exporter names nodes by the path of their module:
// "/layer1/layer1.0/conv1/Conv" is of "layer1.0.conv1". A module from which one computed value leaves returns that one.
// A convolution into which the exporter has folded a batch norm computes the output of no module.
std::map<std::string, std::string> module_outputs(const Model& model);

// The taps for a request: values by their own names, outputs of modules by the modules' names too, and names that are
// asked for as they are. Throws Error for a name that nothing has.
TapNames tap_names(const Model& model, const TapRequest& request);

// The value of `tappable` that is the fewest nodes after `value`, else the fewest before it; "" if there is none.
std::string nearest_value(const Model& model, const std::string& value, const std::set<std::string>& tappable);

}  // namespace ferry::onnx
