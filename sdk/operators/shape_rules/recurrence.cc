#include "sdk/operators/recurrence.h"

#include <cmath>

#include "sdk/operators/shape_rules/rules.h"

namespace ferry::shape_rules {
namespace {

Status check_function(const char* op, const char* name, const fbs::GateFunction* function) {
  if (function == nullptr) return error(FERRY_CORRUPT, "%s: function %s is missing", op, name);
  if (function->kind() > fbs::GateFunctionKind::MAX)
    return error(FERRY_UNSUPPORTED, "%s: function %s is of unknown kind %d", op, name,
                 static_cast<int>(function->kind()));
  return {};
}

}  // namespace

Status rule(const char* op, const fbs::Recurrence& p, Shapes inputs, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 3, 4));
  if (p.cell() > fbs::RecurrentCell::MAX)
    return error(FERRY_UNSUPPORTED, "%s: unknown cell %d", op, static_cast<int>(p.cell()));
  const CellSize cell = size_of(p);
  FERRY_TRY(check_function(op, "f", p.f()));
  if (p.cell() != fbs::RecurrentCell::Rnn) FERRY_TRY(check_function(op, "g", p.g()));
  if (p.cell() == fbs::RecurrentCell::Lstm) FERRY_TRY(check_function(op, "h", p.h()));
  if (!(p.clip() > 0))
    return error(FERRY_CORRUPT, "%s: clip is %g, expected more than 0", op, static_cast<double>(p.clip()));
  const Shape &x = inputs[0], &r = inputs[1], &state = inputs[2];
  FERRY_TRY(check_rank(op, "input", x, 3));
  FERRY_TRY(check_rank(op, "recurrence", r, 2));
  FERRY_TRY(check_rank(op, "state", state, 3));
  const int64_t hidden = r[1];
  if (r[0] != cell.gates * hidden + cell.extra || x[2] != cell.gates * hidden)
    return error(FERRY_SHAPE_MISMATCH, "%s: input %s and recurrence %s do not fit %d gates of %lld and %d rows more",
                 op, in_words(x).c_str(), in_words(r).c_str(), cell.gates, static_cast<long long>(hidden), cell.extra);
  if (state[0] != cell.parts || (state[1] != 1 && state[1] != x[1]) || state[2] != hidden)
    return error(FERRY_SHAPE_MISMATCH, "%s: state %s, expected [%d,%d,%lld]", op, in_words(state).c_str(), cell.parts,
                 x[1], static_cast<long long>(hidden));
  if (inputs.size() > 3 && inputs[3] != Shape{x[1]})
    return error(FERRY_SHAPE_MISMATCH, "%s: lengths %s, expected [%d]", op, in_words(inputs[3]).c_str(), x[1]);
  FERRY_TRY(append(op, int64_t{x[0]} + cell.parts, output));
  FERRY_TRY(append(op, x[1], output));
  return append(op, hidden, output);
}

}  // namespace ferry::shape_rules
