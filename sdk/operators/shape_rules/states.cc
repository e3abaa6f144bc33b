#include "sdk/operators/shape_rules/rules.h"

namespace ferry::shape_rules {
namespace {

Status find_state(const char* op, uint32_t index, States states, const StateShape** state) {
  if (index >= states.size())
    return error(FERRY_CORRUPT, "%s: state %u of %zu does not exist", op, index, states.size());
  *state = &states[index];
  return {};
}

// Checks that the state has room for `length` more.
Status check_room(const char* op, uint32_t index, const StateShape& state, int32_t length) {
  const int32_t room = state.max_length();
  if (length <= room - state.length) return {};
  return error(FERRY_STATE_FULL, "%s: state %u holds %d of at most %d, there is no room for %d more", op, index,
               state.length, room, length);
}

// Checks a state of that shape and fixed size for x [N,L,...].
Status check_fixed(const char* op, uint32_t index, const StateShape& state, const Shape& expected, const Shape& x) {
  if (!state.fixed())
    return error(FERRY_CORRUPT, "%s: state %u grows along dimension %d, expected one of fixed size", op, index,
                 state.axis);
  if (state.bound != expected)
    return error(FERRY_SHAPE_MISMATCH, "%s: state %u is %s, the inputs need %s", op, index,
                 in_words(state.bound).c_str(), in_words(expected).c_str());
  return check_room(op, index, state, x[1]);
}

}  // namespace

Status rule(const char* op, const fbs::Append& p, Shapes inputs, States states, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 1, 1));
  const StateShape* state = nullptr;
  FERRY_TRY(find_state(op, p.state(), states, &state));
  if (state->fixed())
    return error(FERRY_CORRUPT, "%s: state %u is of fixed size, expected one that grows", op, p.state());
  const Shape& x = inputs[0];
  bool fits = x.rank == state->bound.rank;
  for (int i = 0; fits && i < x.rank; ++i) fits = i == state->axis || x[i] == state->bound[i];
  if (!fits)
    return error(FERRY_SHAPE_MISMATCH, "%s: input %s does not fit state %u, which grows to %s along dimension %d", op,
                 in_words(x).c_str(), p.state(), in_words(state->bound).c_str(), state->axis);
  FERRY_TRY(check_room(op, p.state(), *state, x[state->axis]));
  *output = x;
  (*output)[state->axis] += state->held();
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

Status rule(const char* op, const fbs::CausalConv1d& p, Shapes inputs, States states, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 2, 3));
  const StateShape* state = nullptr;
  FERRY_TRY(find_state(op, p.state(), states, &state));
  const Shape &x = inputs[0], &weight = inputs[1];
  FERRY_TRY(check_rank(op, "input", x, 3));
  FERRY_TRY(check_rank(op, "weight", weight, 2));
  if (weight[0] < 2 || weight[1] != x[2])
    return error(FERRY_SHAPE_MISMATCH, "%s: weight %s does not fit input %s, expected 2 rows or more of %d", op,
                 in_words(weight).c_str(), in_words(x).c_str(), x[2]);
  if (inputs.size() > 2) FERRY_TRY(check_bias(op, inputs[2], x[2]));
  FERRY_TRY(check_fixed(op, p.state(), *state, {x[0], weight[0] - 1, x[2]}, x));
  *output = x;
  return {};
}

Status rule(const char* op, const fbs::GatedDeltaRule& p, Shapes inputs, States states, Shape* output) {
  FERRY_TRY(check_count(op, inputs, 5, 5));
  const StateShape* state = nullptr;
  FERRY_TRY(find_state(op, p.state(), states, &state));
  const Shape &q = inputs[0], &v = inputs[2], &g = inputs[3];
  for (const Shape& input : inputs) FERRY_TRY(check_rank(op, "input", input, 3));
  FERRY_TRY(check_rank(op, "state", state->bound, 5));
  const int32_t heads = g[2], size = state->bound[3], key_heads = q[2] / size;
  const auto fits = [&](const Shape& input) { return input[0] == q[0] && input[1] == q[1]; };
  if (q[2] % size != 0 || heads % key_heads != 0 || v[2] % heads != 0 || inputs[1] != q || inputs[4] != g || !fits(v) ||
      !fits(g))
    return error(FERRY_SHAPE_MISMATCH, "%s: q %s, k %s, v %s, g %s and beta %s do not fit heads of %d channels", op,
                 in_words(q).c_str(), in_words(inputs[1]).c_str(), in_words(v).c_str(), in_words(g).c_str(),
                 in_words(inputs[4]).c_str(), size);
  FERRY_TRY(check_fixed(op, p.state(), *state, {2, q[0], heads, size, v[2] / heads}, q));
  *output = v;
  return {};
}

}  // namespace ferry::shape_rules
