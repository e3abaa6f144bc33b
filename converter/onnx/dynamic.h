// One graph for any size of an ONNX file's open dimensions.
//
// The file is imported at several sizes, each time as concretely as ever, passes included. What differs between those
// graphs must follow from the sizes: a reshape copies or infers a dimension, a slice reaches to the end, a resize
// scales, a constant repeats itself. Constants that differ otherwise are computed in a run (open_values.h). Whatever
// else differs is a reason why the dimension cannot stay open.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "converter/onnx/importer.h"

namespace ferry::onnx {

// The file at one size.
struct AtSize {
  std::unique_ptr<Graph> graph;
  std::set<TensorId> tables;  // constants from which a run computes others
  OpenValues::Known values;   // of the file, that depend on no input
};

// Of an import after the passes, whose inputs that stand for tables become constants.
AtSize at_size(Imported imported);

// How a file is imported to be generalised: see ImportOptions.
struct ImportAs {
  const OpenValues* open_values = nullptr;
  bool leading_is_batch = false;
};

// Imports the file for these sizes of its inputs.
using ImportAt = std::function<AtSize(const std::map<std::string, Dims>& shapes, const ImportAs& as)>;

// `open` are names of dimensions in the file ("batch"), or an input and its dimension where they have none
// ("input:0"); `shapes` their sizes in the blob as it is written, as --shape gives them. Throws Error where a name
// means nothing, Refused with every reason where a dimension cannot stay open.
std::unique_ptr<Graph> import_dynamic(const Model& model, const std::vector<std::string>& open,
                                      const std::map<std::string, Dims>& shapes, const ImportAt& import_at);

}  // namespace ferry::onnx
