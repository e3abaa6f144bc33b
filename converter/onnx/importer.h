// From an ONNX file to the converter's graph.
//
// Values keep ONNX's own order of dimensions (N,C,H,W); operators that ferry has channels last only get a Transpose
// before and after, and the passes remove those that cancel (converter/passes/sink_transposes.cc).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/onnx/model.h"
#include "converter/refused.h"

namespace ferry::onnx {

struct ImportOptions {
  std::map<std::string, Dims> shapes;       // of inputs: what --shape says, or what leaves a dimension open
  std::map<std::string, Array> constants;   // inputs that are known at conversion: shapes, axes, weights
  std::set<std::string> disabled_patterns;  // names of recognisers (converter/onnx/patterns) to leave out; "all"
};

using ferry::Reason;
using ferry::Refused;

struct Imported {
  std::unique_ptr<Graph> graph;        // without provenance
  std::map<std::string, Array> known;  // outputs that do not depend on any input's values; they are not in the graph
};

// Throws Refused with all reasons, or Error where the file cannot be read.
Imported import_model(const Model& model, const ImportOptions& options);

// What a value of the file is at conversion: not to be had, a constant, or something that the graph computes.
struct Unknown {};
using Value = std::variant<Unknown, Array, Tensor>;

}  // namespace ferry::onnx
