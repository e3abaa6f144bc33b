#include "sdk/operators/shape_rules/rules.h"

namespace ferry::shape_rules {

Status rule(const char* op, const fbs::Append&, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  *output = inputs[0];
  return {};
}

Status rule(const char* op, const fbs::Positions& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  if (p.axis() < 0 || p.axis() >= inputs[0].rank)
    return error(FERRY_SHAPE_MISMATCH, "%s: axis is %d, the input %s", op, p.axis(), to_string(inputs[0]).c_str());
  return append(op, inputs[0][p.axis()], output);
}

}  // namespace ferry::shape_rules
