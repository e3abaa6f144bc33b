// LSTM, GRU and RNN, unrolled: each step is a few linear layers and gates.
#include <algorithm>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

constexpr int64_t kMaxSteps = 512;

struct State {
  std::optional<Tensor> h, c;  // [B,H]; none: zeros
};

// One direction of a node: weights by gate, in ONNX's order of gates.
struct Direction {
  Op& op;
  int64_t hidden;
  std::vector<Tensor> recurrence;       // [H,H] per gate
  std::vector<Tensor> recurrence_bias;  // [H] per gate
  bool reset_after = false;             // GRU's linear_before_reset

  Tensor sigmoid(Tensor x) const { return unary(x, fbs::UnaryKind::Sigmoid); }
  Tensor tanh(Tensor x) const { return unary(x, fbs::UnaryKind::Tanh); }
  Tensor gate(Tensor projected, size_t g) const {
    return ferry::slice(projected, 1, static_cast<int>(static_cast<int64_t>(g) * hidden), static_cast<int>(hidden));
  }
  // h R^T and its bias for gate g.
  Tensor recurrent(const std::optional<Tensor>& h, size_t g) const {
    if (!h) return recurrence_bias[g];
    return op.graph().add_op("", fbs::LinearT{}, {*h, recurrence[g], recurrence_bias[g]});
  }
};

using Step = void (*)(const Direction& d, Tensor projected, State* state);

void lstm_step(const Direction& d, Tensor projected, State* s) {
  const auto input = [&](size_t g) { return d.gate(projected, g) + d.recurrent(s->h, g); };
  const Tensor in = d.sigmoid(input(0)), out = d.sigmoid(input(1)), forget = d.sigmoid(input(2));
  const Tensor fresh = in * d.tanh(input(3));
  s->c = s->c ? forget * *s->c + fresh : fresh;
  s->h = out * d.tanh(*s->c);
}

void gru_step(const Direction& d, Tensor projected, State* s) {
  const Tensor update = d.sigmoid(d.gate(projected, 0) + d.recurrent(s->h, 0));
  const Tensor reset = d.sigmoid(d.gate(projected, 1) + d.recurrent(s->h, 1));
  std::optional<Tensor> past = s->h;
  if (past && !d.reset_after) past = reset * *past;
  const Tensor rest = d.recurrent(past, 2);
  const Tensor fresh = d.tanh(d.gate(projected, 2) + (d.reset_after ? reset * rest : rest));
  const Tensor kept = fresh - update * fresh;
  s->h = s->h ? kept + update * *s->h : kept;
}

void rnn_step(const Direction& d, Tensor projected, State* s) {
  s->h = d.tanh(d.gate(projected, 0) + d.recurrent(s->h, 0));
}

void refuse_what_is_left_out(Op& op, const std::vector<std::string>& activations) {
  if (op.has_attribute("clip")) op.refuse("attribute 'clip' is not supported");
  if (op.integer("input_forget", 0) != 0) op.refuse("attribute 'input_forget' is not supported");
  if (op.has(7)) op.refuse("peepholes (input 7) are not supported");
  const auto given = op.node().attributes.find("activations");
  if (given == op.node().attributes.end()) return;
  const std::vector<std::string>& names = given->second.strings;
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] != activations[i % activations.size()])
      op.refuse("activation %zu is '%s', expected %s", i, names[i].c_str(),
                activations[i % activations.size()].c_str());
}

// Row `d` of a weight's first dimension, as a constant of the graph.
Tensor part(Op& op, const Array& weight, size_t input, int64_t d, const std::vector<int64_t>& rows) {
  const Array of_direction = pick(weight, 0, {d}).reshaped(Dims(weight.dims.begin() + 1, weight.dims.end()));
  return add_constant(op.graph(), op.node().inputs[input], pick(of_direction, 0, rows));
}

std::vector<int64_t> rows_from(int64_t first, int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t r = 0; r < count; ++r) rows.push_back(first + r);
  return rows;
}

void recurrent(Op& op, int64_t gates, Step step, const std::vector<std::string>& activations) {
  refuse_what_is_left_out(op, activations);
  const Array &w = op.array(1, "W"), &r = op.array(2, "R");
  const bool batch_first = op.integer("layout", 0) != 0;
  const std::string direction = op.text("direction", "forward");
  Tensor x = op.tensor(0);
  if (op.rank(0) != 3 || w.dims.size() != 3 || r.dims.size() != 3) op.refuse("expected three dimensions of X, W and R");
  if (batch_first) x = ferry::transpose(x, {1, 0, 2});
  const int64_t steps = dims_of(x)[0], batch = dims_of(x)[1], hidden = r.dims[2];
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (steps > kMaxSteps)
    op.refuse("a sequence of %lld steps, at most %lld are unrolled", static_cast<long long>(steps),
              static_cast<long long>(kMaxSteps));
  if (w.dims != Dims{directions, gates * hidden, dims_of(x)[2]} || r.dims != Dims{directions, gates * hidden, hidden})
    op.refuse("W %s and R %s do not fit %lld directions and X %s", to_string(w.dims).c_str(), to_string(r.dims).c_str(),
              static_cast<long long>(directions), to_string(op.dims(0)).c_str());
  if (op.has(4))
    for (const int64_t length : op.array(4, "sequence_lens").ints())
      if (length != steps) op.refuse("sequences of different lengths");
  const Dims bias_dims{directions, 2 * gates * hidden};
  const Array bias = op.has(3) ? op.array(3, "B")
                               : make_array(Type::Float64, bias_dims,
                                            std::vector<double>(static_cast<size_t>(count_computed(bias_dims)), 0.0));
  if (bias.dims != bias_dims) op.refuse("B is %s", to_string(bias.dims).c_str());

  std::vector<std::vector<Tensor>> outputs(static_cast<size_t>(steps));  // [1,1,B,H] per direction
  std::vector<Tensor> last_h, last_c;                                    // [1,B,H]
  for (int64_t d = 0; d < directions; ++d) {
    Direction one{op, hidden, {}, {}, op.integer("linear_before_reset", 0) != 0};
    for (int64_t g = 0; g < gates; ++g) {
      one.recurrence.push_back(part(op, r, 2, d, rows_from(g * hidden, hidden)));
      one.recurrence_bias.push_back(part(op, bias, 2, d, rows_from((gates + g) * hidden, hidden)));
    }
    const std::vector<int64_t> all = rows_from(0, gates * hidden);
    const Tensor projected =
        op.graph().add_op("", fbs::LinearT{}, {x, part(op, w, 1, d, all), part(op, bias, 1, d, all)});
    State state;
    const auto initial = [&](size_t input) -> std::optional<Tensor> {
      if (!op.has(input)) return {};
      Tensor value = op.tensor(input);
      if (batch_first) value = ferry::transpose(value, {1, 0, 2});
      return reshape_to(ferry::slice(value, 0, static_cast<int>(d), 1), {batch, hidden});
    };
    state.h = initial(5);
    state.c = initial(6);
    const bool backwards = direction == "reverse" || d == 1;
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = backwards ? steps - 1 - i : i;
      step(one, reshape_to(ferry::slice(projected, 0, static_cast<int>(t), 1), {batch, gates * hidden}), &state);
      outputs[static_cast<size_t>(t)].push_back(reshape_to(*state.h, {1, 1, batch, hidden}));
    }
    last_h.push_back(reshape_to(*state.h, {1, batch, hidden}));
    if (state.c) last_c.push_back(reshape_to(*state.c, {1, batch, hidden}));
  }
  const auto joined = [](const std::vector<Tensor>& parts, int axis) {
    return parts.size() == 1 ? parts[0] : ferry::concat(parts, axis);
  };
  if (op.wants(0)) {
    std::vector<Tensor> all;
    for (const auto& at : outputs) all.push_back(joined(at, 1));
    const Tensor y = joined(all, 0);
    op.set(0, batch_first ? ferry::transpose(y, {2, 0, 1, 3}) : y);
  }
  const auto set_last = [&](size_t output, const std::vector<Tensor>& parts) {
    if (!op.wants(output) || parts.empty()) return;
    op.set(output, batch_first ? ferry::transpose(joined(parts, 0), {1, 0, 2}) : joined(parts, 0));
  };
  set_last(1, last_h);
  set_last(2, last_c);
}

}  // namespace

void lstm(Op& op) { recurrent(op, 4, lstm_step, {"Sigmoid", "Tanh", "Tanh"}); }
void gru(Op& op) { recurrent(op, 3, gru_step, {"Sigmoid", "Tanh"}); }
void rnn(Op& op) { recurrent(op, 1, rnn_step, {"Tanh"}); }

}  // namespace ferry::onnx
