// An ONNX file in memory, independent of protobuf; input of the importer.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "converter/onnx/array.h"

namespace ferry::onnx {

struct Attribute {
  // Values of AttributeProto.AttributeType.
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
    Other  // lists of graphs or tensors, sparse tensors, types: unused by supported operators
  };
  Kind kind = Kind::Undefined;
  std::vector<double> floats;        // Float: one element
  std::vector<int64_t> ints;         // Int: one element
  std::vector<std::string> strings;  // String: one element
  Array tensor;
};

struct Node;

// One branch of an If, or the body of a Loop, a Scan or a SequenceMap.
struct Branch {
  std::vector<std::string> inputs;  // of a body
  std::vector<Node> nodes;
  std::map<std::string, Array> constants;
  std::vector<std::string> outputs;
};

struct Node {
  std::string op, domain, name;
  int opset = 0;  // opset version of the domain
  // "" for an omitted optional input. Values from outside that an If's branches or a body read follow the node's own.
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // "" for an omitted optional output
  std::map<std::string, Attribute> attributes;
  std::vector<Dims> declared;    // shapes of the outputs as the file states them, -1 for unknown sizes; may be empty
  std::vector<Branch> branches;  // of an If: then, else; of the others: the body
  std::string problem;           // not empty: why the node cannot be imported, independent of its operator
};

struct Dimension {
  int64_t size = -1;   // -1: unknown
  std::string symbol;  // "batch"; may be empty
};

// An input or output of the graph.
struct ValueInfo {
  std::string name;
  Type type = Type::Undefined;  // Undefined: not a tensor
  bool has_shape = false;
  std::vector<Dimension> shape;
};

struct Model {
  std::filesystem::path path;
  std::string producer;     // "pytorch"
  int opset = 0;            // of the default domain
  std::vector<Node> nodes;  // in topological order
  std::map<std::string, Array> constants;
  std::vector<ValueInfo> inputs;  // those that are not constants
  std::vector<ValueInfo> outputs;
};

// Reads a .onnx file, inlines functions and sorts the nodes topologically. External data is read from the file's folder
// only. Throws Error if the file is damaged, cyclic, or of another format.
Model read_model(const std::filesystem::path& path);

// Sorts nodes topologically, keeping the file's order if possible. `given`: the graph's inputs and constants. Throws
// Error with a node's name for a value without a producer, a value with two, or a cycle.
void sort_nodes(std::vector<Node>* nodes, const std::vector<std::string>& given);

}  // namespace ferry::onnx
