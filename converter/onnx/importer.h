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

namespace ferry::onnx {

struct ImportOptions {
  std::map<std::string, Dims> shapes;       // of inputs: what --shape says, or what leaves a dimension open
  std::map<std::string, Array> constants;   // inputs that are known at conversion: shapes, axes, weights
  std::set<std::string> disabled_patterns;  // names of recognisers (converter/onnx/patterns) to leave out; "all"
};

// One thing that stands in the way.
struct Reason {
  std::string op;    // "GridSample"; empty where it is about the graph's inputs or outputs
  std::string node;  // the node's name, or the input's
  int opset = 0;
  std::string what;  // "attribute 'mode' is 'cubic': expected nearest or linear"
};

// "node 'up' (Resize, opset 18): ..."
std::string to_string(const Reason& reason);

// Every reason why a file cannot be converted; its sentence names the first and counts the rest.
class Refused : public Error {
 public:
  Refused(std::string file, std::vector<Reason> reasons);
  const std::string& file() const { return file_; }
  const std::vector<Reason>& reasons() const { return reasons_; }

 private:
  std::string file_;
  std::vector<Reason> reasons_;
};

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
