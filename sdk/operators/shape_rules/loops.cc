#include "sdk/operators/loops.h"

#include "sdk/operators/shape_rules/rules.h"

namespace ferry::shape_rules {
namespace {

Status check_one(const char* op, const char* what, const Shape& shape) {
  if (shape == Shape{1}) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: %s %s, expected [1]", op, what, in_words(shape).c_str());
}

Status check_extent(const char* op, const Shape& extent) {
  if (extent.rank > 0) return {};
  return error(FERRY_SHAPE_MISMATCH, "%s: the extent has no dimension, expected the number of steps as its first", op);
}

}  // namespace

Status rule(const char* op, const fbs::LoopBegin&, Shapes inputs, Shape* outputs) {
  using At = LoopBeginInputs;
  FERRY_TRY(check_count(op, inputs, At::kStates, At::kStates + kMaxOutputs - 1));
  FERRY_TRY(check_extent(op, inputs[At::kExtent]));
  FERRY_TRY(check_one(op, "count", inputs[At::kCount]));
  *outputs++ = Shape{1};
  for (const Shape& state : inputs.subspan(At::kStates)) *outputs++ = state;
  return {};
}

Status rule(const char* op, const fbs::LoopEnd& p, Shapes inputs, Shape* outputs) {
  using At = LoopEndInputs;
  if (p.states() < 0 || p.states() >= static_cast<int>(kMaxOutputs))
    return error(FERRY_CORRUPT, "%s: %d states, expected 0 to %u", op, p.states(), kMaxOutputs - 1);
  const auto states = static_cast<size_t>(p.states());
  FERRY_TRY(check_count(op, inputs, At::kStates + 2 * states, At::kStates + states + kMaxOutputs - 1));
  FERRY_TRY(check_extent(op, inputs[At::kExtent]));
  FERRY_TRY(check_one(op, "index", inputs[At::kIndex]));
  FERRY_TRY(check_one(op, "count", inputs[At::kCount]));
  FERRY_TRY(check_one(op, "condition", inputs[At::kCondition]));
  *outputs++ = Shape{1};
  const Shapes now = inputs.subspan(At::kStates, states), next = inputs.subspan(At::kStates + states, states);
  for (size_t i = 0; i < states; ++i) {
    if (next[i] != now[i])
      return error(FERRY_SHAPE_MISMATCH, "%s: state %zu is %s, but %s in the next step", op, i,
                   in_words(now[i]).c_str(), in_words(next[i]).c_str());
    *outputs++ = now[i];
  }
  const Shapes rows = inputs.subspan(At::kStates + 2 * states);
  if (p.unlimited() && !rows.empty())
    return error(FERRY_CORRUPT, "%s: %zu rows of an unlimited number of steps", op, rows.size());
  for (const Shape& row : rows) {
    FERRY_TRY(append(op, inputs[At::kExtent][0], outputs));
    for (int d = 0; d < row.rank; ++d) FERRY_TRY(append(op, row[d], outputs));
    ++outputs;
  }
  return {};
}

}  // namespace ferry::shape_rules
