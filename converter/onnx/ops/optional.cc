// Optional values: whether one has an element is known at conversion, so that a blob has none.
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {

void optional(Op& op) {
  if (op.has(0)) return op.set(op.value(0), op.type(0));
  if (!op.has_attribute("type")) op.refuse("it has neither an input nor the attribute 'type'");
  op.set(Absent{});
}

void optional_get_element(Op& op) {
  if (std::holds_alternative<Absent>(op.value(0))) op.refuse("its optional value has no element");
  op.set(op.value(0), op.type(0));
}

void optional_has_element(Op& op) {
  const bool has = op.has(0) && !std::holds_alternative<Absent>(op.value(0));
  op.set(make_array(Type::Bool, {}, std::vector<int64_t>{has}));
}

}  // namespace ferry::onnx
