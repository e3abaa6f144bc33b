// An ONNX file in memory, free of protobuf: what the importer walks over.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "converter/onnx/array.h"

namespace ferry::onnx {

struct Attribute {
  // As AttributeProto.AttributeType numbers them.
  enum class Kind : int {
    Undefined = 0,
    Float = 1,
    Int = 2,
    String = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Ints = 7,
    Strings = 8,
    Other  // lists of graphs or tensors, sparse tensors, types: nothing in scope has them
  };
  Kind kind = Kind::Undefined;
  std::vector<double> floats;        // Float: one
  std::vector<int64_t> ints;         // Int: one
  std::vector<std::string> strings;  // String: one
  Array tensor;
};

struct Node;

// What an If computes in one of its cases.
struct Branch {
  std::vector<Node> nodes;
  std::map<std::string, Array> constants;
  std::vector<std::string> outputs;
};

struct Node {
  std::string op, domain, name;
  int opset = 0;                     // version of the domain's operators
  std::vector<std::string> inputs;   // "" where an optional one is left out; an If's branches' follow its condition
  std::vector<std::string> outputs;  // the same
  std::map<std::string, Attribute> attributes;
  std::vector<Branch> branches;  // of an If: where its condition holds, where it does not
  std::string problem;           // not empty: why the node cannot be imported, whatever its operator
};

struct Dimension {
  int64_t size = -1;   // -1: not said
  std::string symbol;  // "batch"; may be empty
};

// An input or output of the graph.
struct ValueInfo {
  std::string name;
  Type type = Type::Undefined;  // Undefined: no tensor
  bool has_shape = false;
  std::vector<Dimension> shape;
};

struct Model {
  std::filesystem::path path;
  std::string producer;     // "pytorch"
  int opset = 0;            // of the default domain
  std::vector<Node> nodes;  // every value is computed before it is used
  std::map<std::string, Array> constants;
  std::vector<ValueInfo> inputs;  // those that no constant gives
  std::vector<ValueInfo> outputs;
};

// Reads a .onnx file: functions inlined, nodes in an order that computes. Data outside the file is read from its folder
// and nowhere else. Throws Error with one sentence where the file is damaged, cyclic, or of another format.
Model read_model(const std::filesystem::path& path);

// Puts nodes in an order that computes every value before it is used, keeping the file's where that is one. `given`:
// the graph's inputs and constants. Throws Error, naming a node, where there is none: a value that nothing computes,
// one that two nodes compute, a cycle.
void sort_nodes(std::vector<Node>* nodes, const std::vector<std::string>& given);

}  // namespace ferry::onnx
