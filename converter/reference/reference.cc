#include "converter/reference/reference.h"

#include "converter/error.h"
#include "converter/reference/ops.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type_rules.h"

namespace ferry::reference {
Array compute(const fbs::Operator& op, std::span<const Array* const> inputs) {
  std::vector<Shape> shapes;
  std::vector<fbs::DType> types;
  for (const Array* input : inputs) {
    if (input->values.size() != static_cast<size_t>(input->shape.elements()))
      fail("%s: input %zu has %zu values for shape %s", op_name(op.params_type()), shapes.size(), input->values.size(),
           to_string(input->shape).c_str());
    shapes.push_back(input->shape);
    types.push_back(input->dtype);
  }
  Array output;
  Status status = infer_shape(op, shapes, &output.shape);
  if (status.ok()) status = infer_dtype(op, types, &output.dtype);
  if (!status.ok()) fail("%s", status.message().c_str());
  output.values.resize(static_cast<size_t>(output.shape.elements()));
  switch (op.params_type()) {
#define FERRY_ORACLE(Type, name, ...) \
  case fbs::OpParams::Type: name(op, inputs, output); return output;
    FERRY_OPERATORS_COMPUTED(FERRY_ORACLE)
#undef FERRY_ORACLE
#define FERRY_LACKING(Type, ...) case fbs::OpParams::Type:
    FERRY_OPERATORS_TO_COME(FERRY_LACKING)
#undef FERRY_LACKING
    case fbs::OpParams::NONE: break;
  }
  fail("%s: the reference has no such operator", op_name(op.params_type()));
}

}  // namespace ferry::reference
