// Values of a file that follow from constants and sizes alone, computed by an import of the nodes that they depend on.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "converter/onnx/model.h"

namespace ferry::onnx {

// What is known of a file's inputs, or of other values, whose producers are then ignored.
struct Given {
  std::map<std::string, Array> known;
  std::map<std::string, Dims> shapes;  // of values whose elements are unknown
};

class Evaluator {
 public:
  explicit Evaluator(const Model& model);

  // Those of the `wanted` values that do not depend on unknown elements. Throws Refused if a node cannot be imported at
  // these sizes.
  std::map<std::string, Array> evaluate(const std::vector<std::string>& wanted, const Given& given) const;

 private:
  const Model& model_;
  std::unordered_map<std::string, size_t> producers_;
};

}  // namespace ferry::onnx
