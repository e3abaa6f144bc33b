// Imports an ONNX file into the converter's graph.
//
// Values keep ONNX's order of dimensions (N,C,H,W). Channels-last operators are surrounded by Transposes; the passes
// remove those that cancel (converter/passes/sink_transposes.cc).
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
  std::map<std::string, Dims> shapes;       // of inputs: from --shape, or for dimensions to be opened
  std::map<std::string, Array> constants;   // inputs known at conversion: shapes, axes, weights
  std::set<std::string> disabled_patterns;  // patterns (converter/onnx/patterns) to disable; "all"
};

// One obstacle to the conversion.
struct Reason {
  std::string op;    // "GridSample"; empty if it concerns the graph's inputs or outputs
  std::string node;  // the node's name, or the input's
  int opset = 0;
  std::string what;  // "attribute 'mode' is 'cubic': expected nearest or linear"
};

// "node 'up' (Resize, opset 18): ..."
std::string to_string(const Reason& reason);

// All reasons why a file cannot be converted. The message contains the first one and the number of others.
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
  std::map<std::string, Array> known;  // outputs that depend on no input; they are not in the graph
};

// Throws Refused with all reasons, or Error if the file cannot be read.
Imported import_model(const Model& model, const ImportOptions& options);

// A value of the file during import: unavailable, a constant, or computed by the graph.
struct Unknown {};
using Value = std::variant<Unknown, Array, Tensor>;

}  // namespace ferry::onnx
