#include "sdk/operators/shape_rules/rules.h"

namespace ferry::shape_rules {
namespace {

Status find_state(const char* op, uint32_t index, States states, const StateShape** state) {
  if (index >= states.size())
    return error(FERRY_CORRUPT, "%s: state %u of %zu does not exist", op, index, states.size());
  *state = &states[index];
  return {};
}

// `length` more behind what the state holds.
Status check_room(const char* op, uint32_t index, const StateShape& state, int32_t length) {
  const int32_t room = state.bound[state.axis];
  if (length <= room - state.length) return {};
  return error(FERRY_STATE_FULL, "%s: state %u holds %d of at most %d, there is no room for %d more", op, index,
               state.length, room, length);
}

}  // namespace

Status rule(const char* op, const fbs::Append& p, Shapes inputs, States states, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const StateShape* state = nullptr;
  FERRY_TRY(find_state(op, p.state(), states, &state));
  const Shape& x = inputs[0];
  bool fits = x.rank == state->bound.rank;
  for (int i = 0; fits && i < x.rank; ++i) fits = i == state->axis || x[i] == state->bound[i];
  if (!fits)
    return error(FERRY_SHAPE_MISMATCH, "%s: input %s does not fit state %u, which grows to %s along dimension %d", op,
                 in_words(x).c_str(), p.state(), in_words(state->bound).c_str(), state->axis);
  FERRY_TRY(check_room(op, p.state(), *state, x[state->axis]));
  *output = x;
  (*output)[state->axis] += state->length;
  return {};
}

Status rule(const char* op, const fbs::Positions& p, Shapes inputs, States states, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const StateShape* state = nullptr;
  FERRY_TRY(find_state(op, p.state(), states, &state));
  if (p.axis() < 0 || p.axis() >= inputs[0].rank)
    return error(FERRY_CORRUPT, "%s: axis is %d, the input %s", op, p.axis(), in_words(inputs[0]).c_str());
  const int32_t length = inputs[0][p.axis()];
  FERRY_TRY(check_room(op, p.state(), *state, length));
  return append(op, length, output);
}

}  // namespace ferry::shape_rules
