// What a blob holds, counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sdk/model/model.h"

namespace ferry::cli {

struct OpSummary {
  std::string name;  // the module's
  std::string op;    // "conv2d"
  Shape output;
  uint64_t macs = 0;
  uint64_t parameters = 0;
};

// The constants of one type.
struct StoredSummary {
  std::string type;  // "Float32", "Int4 with scales"
  uint64_t elements = 0, bytes = 0;
};

struct Summary {
  std::shared_ptr<const Model> model;
  uint64_t file_bytes = 0;
  uint64_t weight_bytes = 0;
  uint64_t parameters = 0;        // elements of all constants but scales
  uint64_t activation_bytes = 0;  // of every activation, as if none shared memory, at the default input size
  uint64_t macs = 0;              // multiplications with addition, of convolutions, linears and products
  std::vector<OpSummary> ops;     // in order
  std::map<std::string, int> histogram;
  std::vector<StoredSummary> stored;  // most bytes first; scales count with what they scale
};

inline std::string text_of(const flatbuffers::String* s) { return s ? s->str() : ""; }
// "Float32 [1,224,224,3]"
std::string tensor_text(const Model& model, TensorId tensor);

// Multiplications with addition of an operator, where it is a convolution, a linear or a product. `shape_of`: of a
// tensor.
uint64_t macs_of(const fbs::Operator& op, const std::function<Shape(TensorId)>& shape_of);

// Opens and verifies the blob, and counts its graph of that name; "": the first. Throws Error with the library's
// sentence.
Summary summarize(const std::string& path, const std::string& graph = "");

}  // namespace ferry::cli
