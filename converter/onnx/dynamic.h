// One graph for any size of an ONNX file's open dimensions.
//
// The file is imported at several sizes, each time as concretely as ever, passes included. What differs between those
// graphs must follow from the sizes: a reshape copies or infers a dimension, a slice reaches to the end, a resize
// scales, a constant repeats itself. Whatever else differs is a reason why the dimension cannot stay open.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converter/onnx/importer.h"

namespace ferry::onnx {

// Imports the file for these sizes of its inputs.
using ImportAt = std::function<std::unique_ptr<Graph>(const std::map<std::string, Dims>& shapes)>;

// `open` are names of dimensions in the file ("batch"), or an input and its dimension where they have none
// ("input:0"); `shapes` their sizes in the blob as it is written, as --shape gives them. Throws Error where a name
// means nothing, Refused with every reason where a dimension cannot stay open.
std::unique_ptr<Graph> import_dynamic(const Model& model, const std::vector<std::string>& open,
                                      const std::map<std::string, Dims>& shapes, const ImportAt& import_at);

}  // namespace ferry::onnx
