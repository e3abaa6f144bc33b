// Which versions of ONNX the importer understands, and how operators of older opsets become today's.
#pragma once

#include <string>

#include "converter/onnx/op.h"

namespace ferry::onnx {

// Newest opset of each domain whose operators are understood (third_party/onnx/README.md).
constexpr int64_t kNewestOpset = 28, kNewestMicrosoftOpset = 1;

// One range of opsets of an operator of ONNX's own domain: from `from` to the next row's.
struct OpsetRow {
  std::string_view op;
  int from;
  // Attributes that the import function reads, or that do not change the result, separated by spaces. "name=value" may
  // only have that value.
  std::string_view attributes;
  // Null if the import function is right for these opsets. Else makes the node what the function expects, or refuses.
  // `node` is what `op` reads.
  void (*adapt)(Op& op, Node* node) = nullptr;
};

// Null for an operator without rows, of another domain, or inserted by a pattern.
const OpsetRow* find_opset_row(const Node& node);
// Why an attribute of the node would be ignored; empty if none would be.
std::string unread_attribute(const OpsetRow& row, const Node& node);

}  // namespace ferry::onnx
