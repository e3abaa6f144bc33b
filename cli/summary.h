// Counts of what a blob contains.
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
  uint64_t parameters = 0;        // elements of all constants but scales; tied weights once
  uint64_t activation_bytes = 0;  // the sum of all activations at the default input size, without sharing
  uint64_t macs = 0;              // multiply-accumulates of convolutions, linears and products
  std::vector<OpSummary> ops;     // in order
  std::map<std::string, int> histogram;
  std::vector<StoredSummary> stored;  // most bytes first; with the scales
};

inline std::string text_of(const flatbuffers::String* s) { return s ? s->str() : ""; }
// "Float32 [1,224,224,3]"
std::string tensor_text(const Model& model, TensorId tensor);

// Opens and verifies the blob, and counts its graph `graph`; "": the first. Throws Error with the library's message.
Summary summarize(const std::string& path, const std::string& graph = "");

}  // namespace ferry::cli
