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
#include "converter/onnx/decoder.h"
#include "converter/onnx/model.h"
#include "converter/onnx/open_values.h"
#include "converter/onnx/taps.h"
#include "converter/refused.h"

namespace ferry::onnx {

struct ImportOptions {
  std::map<std::string, Dims> shapes;       // of inputs: from --shape, or for dimensions to be opened
  std::map<std::string, Array> constants;   // inputs known at conversion: shapes, axes, weights
  std::set<std::string> disabled_patterns;  // patterns (converter/onnx/patterns) to disable; "all"
  DecoderStates* decoder = nullptr;         // of a language model whose cache becomes states: gets them
  bool open_sizes = false;                  // the graph will be made of several imports at different sizes
  const OpenValues* open_values = nullptr;  // of other imports: what a run computes
  bool leading_is_batch = false;            // of attention in three dimensions: samples with one head, not heads
  TapNames taps = {};                       // those of constants and inputs, and those inside patterns, are left out
};

using ferry::Reason;
using ferry::Refused;

struct Imported {
  std::unique_ptr<Graph> graph;         // without provenance
  std::map<std::string, Array> known;   // outputs that depend on no input; the graph has them, too, if it has others
  std::map<std::string, Array> values;  // if sizes are open, and a run computes nothing: what follows from them
  // Inputs of the graph that stand for constants from which a run computes others, so that no pass folds them.
  std::map<std::string, Array> tables;
};

// Throws Refused with all reasons, or Error if the file cannot be read.
Imported import_model(const Model& model, const ImportOptions& options);

// A value of the file during import: unavailable, a constant, computed by the graph, a list of such values, or an
// optional value without an element. One with an element is that element.
struct Unknown {};
struct Absent {};
struct Items;
using Sequence = std::shared_ptr<const Items>;
// A sequence of the file as a loop made it: its tensors are the rows of `all`.
struct Rows {
  Tensor all;
};
using Value = std::variant<Unknown, Array, Tensor, Sequence, Absent, Rows>;

// A sequence of tensors of the file, whose length is known.
struct Items {
  Type type = Type::Undefined;  // of each
  std::vector<Value> items;
};

}  // namespace ferry::onnx
