// Recurrent layers. Those over whole sequences begin each run with a state of zeros, as after the interpreter's
// ResetVariableTensors(): the file's state tensors are not read. Those of one step pass their state on (variables.h).
#include <array>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

using Act = schema::ActivationFunctionType;
using Cell = fbs::RecurrentCell;
using Kind = fbs::GateFunctionKind;

constexpr int kMaxUnrolled = 512;  // steps that become operators each

std::unique_ptr<fbs::GateFunction> gate(const Op& op, Act function) {
  switch (function) {
    case Act::NONE: return std::make_unique<fbs::GateFunction>(Kind::Affine, 1.0f, 0.0f);
    case Act::RELU: return std::make_unique<fbs::GateFunction>(Kind::Relu, 0.0f, 0.0f);
    case Act::TANH: return std::make_unique<fbs::GateFunction>(Kind::Tanh, 0.0f, 0.0f);
    default: op.refuse("its activation is number %d, expected none, RELU or TANH", static_cast<int>(function));
  }
}

Tensor joined(const std::vector<Tensor>& parts, int axis) { return parts.size() == 1 ? parts[0] : concat(parts, axis); }

// The steps of input 0, [T,N,C].
Tensor steps_of(const Op& op, bool time_major) {
  const Tensor x = op.tensor(0);
  if (x.shape().rank != 3) op.refuse("its input has %d dimensions, expected 3", x.shape().rank);
  return time_major ? x : ferry::transpose(x, {1, 0, 2});
}

Tensor in_order(Tensor steps, bool time_major) { return time_major ? steps : ferry::transpose(steps, {1, 0, 2}); }

Tensor zeros(const Op& op, int parts, int hidden) {
  op.count_computed(int64_t{parts} * hidden);
  return op.graph().add_constant("", Shape{parts, 1, hidden},
                                 std::vector<float>(static_cast<size_t>(parts) * static_cast<size_t>(hidden)));
}

// Input `i`, a constant with `rows` rows, or elements, of `columns`.
Tensor parameter(const Op& op, size_t i, int rows, int columns) {
  if (!op.known(i)) op.refuse("input %zu depends on the graph's inputs, expected a constant", i);
  const Tensor value = op.tensor(i);
  const Shape expected = columns == 0 ? Shape{rows} : Shape{rows, columns};
  if (value.shape() != expected)
    op.refuse("input %zu is %s, expected %s", i, to_string(value.shape()).c_str(), to_string(expected).c_str());
  return value;
}

// One direction of an LSTM, whose parameters are inputs `first` on: four input weights, four recurrent ones, three
// peepholes and four biases, each in the order input, forget, cell, output, and a projection. Without an input gate it
// is 1 - the forget gate.
class Lstm {
 public:
  Lstm(Op& op, size_t first, Act function, float cell_clip, bool reverse)
      : op_(op), first_(first), clip_(cell_clip), coupled_(!op.has(first)) {
    hidden_ = op.shape(first + kForget)[0];
    params_.cell = Cell::Lstm;
    params_.reverse = reverse;
    params_.input_forget = coupled_;
    params_.peepholes = op.has(first + kPeepholes + 1);
    params_.f = std::make_unique<fbs::GateFunction>(Kind::Sigmoid, 0.0f, 0.0f);
    params_.g = gate(op, function);
    params_.h = gate(op, function);
  }

  struct States {
    Tensor hidden, cell;
  };

  // The states after one step of x [N,C]. A projection's result is clipped to `clip`, if that is above 0.
  States step(Tensor x, const States& before, float clip) {
    const int inputs = x.shape()[1], outputs = before.hidden.shape()[1];
    const Tensor bias = by_gate([&](size_t g) { return parameter(op_, first_ + kBias + g, hidden_, 0); });
    const Tensor weight = by_gate([&](size_t g) { return parameter(op_, first_ + g, hidden_, inputs); });
    const Tensor r = by_gate([&](size_t g) { return parameter(op_, first_ + kRecurrent + g, hidden_, outputs); });
    const Tensor z = op_.graph().add_op("", fbs::LinearT{}, {x, weight, bias}) +
                     op_.graph().add_op("", fbs::LinearT{}, {before.hidden, r});
    States after = stepped(z, 1, before.cell);
    if (op_.has(first_ + kProjection)) {
      std::vector<Tensor> in = {after.hidden, parameter(op_, first_ + kProjection, outputs, hidden_)};
      if (op_.has(first_ + kProjection + 1)) in.push_back(parameter(op_, first_ + kProjection + 1, outputs, 0));
      after.hidden = op_.graph().add_op("", fbs::LinearT{}, in);
      if (clip > 0) after.hidden = clamp(after.hidden, -clip, clip);
    }
    return after;
  }

  // The hidden state of each step of x [T,N,C]: [T,N,H].
  Tensor over(Tensor x) {
    if (op_.has(first_ + kProjection)) op_.refuse("it projects its output, which is not supported");
    const int inputs = x.shape()[2];
    const Tensor bias = by_gate([&](size_t g) { return parameter(op_, first_ + kBias + g, hidden_, 0); });
    const Tensor weight = by_gate([&](size_t g) { return parameter(op_, first_ + g, hidden_, inputs); });
    const Tensor projected = op_.graph().add_op("", fbs::LinearT{}, {x, weight, bias});
    const Tensor r = by_gate([&](size_t g) { return parameter(op_, first_ + kRecurrent + g, hidden_, hidden_); });
    // Each step adds at most 1 to the magnitude of a cell, by tanh.
    const int steps = x.shape()[0];
    if (clip_ > 0 && !(params_.g->kind() == Kind::Tanh && static_cast<float>(steps) <= clip_))
      return unrolled(projected, r);
    std::vector<Tensor> rows = {r};
    for (const size_t i : {0, 2, 1})  // input, output, forget
      if (params_.peepholes) rows.push_back(reshape(peephole(i), {1, hidden_}));
    const Tensor y =
        op_.graph().add_op("", fbs::RecurrenceT(params_), {projected, joined(rows, 0), zeros(op_, 2, hidden_)});
    return ferry::slice(y, 0, 2, -1);
  }

 private:
  static constexpr size_t kForget = 1, kRecurrent = 4, kPeepholes = 8, kBias = 11, kProjection = 15;

  // The gates' parameters in the graph's order: input, output, forget, cell. A coupled input gate i of a forget gate
  // with the argument z is sigmoid(-z).
  template <typename Of>
  Tensor by_gate(const Of& of) {
    const Tensor forget = of(1);
    return concat({coupled_ ? forget * -1.0 : of(0), of(3), forget, of(2)}, 0);
  }
  Tensor peephole(size_t gate) {
    if (gate == 0 && coupled_) return peephole(1) * -1.0;
    return parameter(op_, first_ + kPeepholes + gate, hidden_, 0);
  }

  Tensor activation(Tensor x) {
    switch (params_.g->kind()) {
      case Kind::Tanh: return ferry::tanh(x);
      case Kind::Relu: return ferry::relu(x);
      default: return x;
    }
  }

  // Operators for each step: the cells are clamped.
  Tensor unrolled(Tensor projected, Tensor r) {
    const int steps = projected.shape()[0];
    if (steps > kMaxUnrolled)
      op_.refuse("its cells are clipped to %g over %d steps, at most %d steps", static_cast<double>(clip_), steps,
                 kMaxUnrolled);
    std::vector<Tensor> hidden(static_cast<size_t>(steps));
    std::optional<Tensor> h, c;
    for (int k = 0; k < steps; ++k) {
      const int t = params_.reverse ? steps - 1 - k : k;
      Tensor z = ferry::slice(projected, 0, t, 1);
      if (h) z = z + op_.graph().add_op("", fbs::LinearT{}, {*h, r});
      const States after = stepped(z, 2, c);
      c = after.cell;
      h = after.hidden;
      hidden[static_cast<size_t>(t)] = *h;
    }
    return joined(hidden, 0);
  }

  // One step of the gates' arguments z, side by side along `axis`, without what peepholes add. Without `before` the
  // cells are zeros.
  States stepped(Tensor z, int axis, std::optional<Tensor> before) {
    const auto part = [&](int g) { return ferry::slice(z, axis, g * hidden_, hidden_); };
    const auto seen = [&](Tensor x, size_t g, std::optional<Tensor> cell) {
      return params_.peepholes && cell ? x + *cell * peephole(g) : x;
    };
    const Tensor forget = ferry::sigmoid(seen(part(2), 1, before));
    const Tensor input = coupled_ ? (forget * -1.0) + 1.0 : ferry::sigmoid(seen(part(0), 0, before));
    const Tensor added = input * activation(part(3));
    Tensor cell = before ? forget * *before + added : added;
    if (clip_ > 0) cell = clamp(cell, -clip_, clip_);
    return {ferry::sigmoid(seen(part(1), 2, cell)) * activation(cell), cell};
  }

  Op& op_;
  size_t first_;
  float clip_;
  bool coupled_;
  int hidden_ = 0;
  fbs::RecurrenceT params_;
};

// Inputs `first` on: the input weight, the recurrent one and the bias.
Tensor rnn(Op& op, Tensor x, size_t first, Act function, bool reverse) {
  const int hidden = op.shape(first)[0];
  fbs::RecurrenceT params;
  params.cell = Cell::Rnn;
  params.reverse = reverse;
  params.f = gate(op, function);
  const Tensor projected = op.graph().add_op(
      "", fbs::LinearT{}, {x, parameter(op, first, hidden, x.shape()[2]), parameter(op, first + 2, hidden, 0)});
  const Tensor y = op.graph().add_op("", std::move(params),
                                     {projected, parameter(op, first + 1, hidden, hidden), zeros(op, 1, hidden)});
  return ferry::slice(y, 0, 1, -1);
}

// Sets one output of both directions, or two.
void set_directions(Op& op, Tensor forward, Tensor backward, bool time_major, bool merge) {
  if (merge) return op.set(in_order(concat({forward, backward}, 2), time_major));
  op.set(0, in_order(forward, time_major));
  op.set(1, in_order(backward, time_major));
}

void refuse_more(const Op& op, size_t first, size_t count, const char* what) {
  for (size_t i = first; i < first + count; ++i)
    if (op.has(i)) op.refuse("it has %s (input %zu), which is not supported", what, i);
}

}  // namespace

void unidirectional_sequence_lstm(Op& op) {
  const auto& o = op.options<schema::UnidirectionalSequenceLSTMOptions>();
  refuse_more(op, 20, 4, "a layer normalisation");
  if (o.diagonal_recurrent_tensors()) op.refuse("its recurrent weights are diagonals");
  const Tensor y = Lstm(op, 1, o.fused_activation_function(), o.cell_clip(), false).over(steps_of(op, o.time_major()));
  op.set(in_order(y, o.time_major()));
}

void bidirectional_sequence_lstm(Op& op) {
  const auto& o = op.options<schema::BidirectionalSequenceLSTMOptions>();
  refuse_more(op, 39, 9, "an auxiliary input");
  const Tensor x = steps_of(op, o.time_major());
  const Tensor forward = Lstm(op, 1, o.fused_activation_function(), o.cell_clip(), false).over(x);
  const Tensor backward = Lstm(op, 18, o.fused_activation_function(), o.cell_clip(), true).over(x);
  set_directions(op, forward, backward, o.time_major(), o.merge_outputs());
}

void unidirectional_sequence_rnn(Op& op) {
  const auto& o = op.options<schema::SequenceRNNOptions>();
  const Tensor y = rnn(op, steps_of(op, o.time_major()), 1, o.fused_activation_function(), false);
  op.set(in_order(y, o.time_major()));
}

void bidirectional_sequence_rnn(Op& op) {
  const auto& o = op.options<schema::BidirectionalSequenceRNNOptions>();
  refuse_more(op, 9, 3, "an auxiliary input");
  const Tensor x = steps_of(op, o.time_major());
  const Tensor forward = rnn(op, x, 1, o.fused_activation_function(), false);
  const Tensor backward = rnn(op, x, 5, o.fused_activation_function(), true);
  set_directions(op, forward, backward, o.time_major(), o.merge_outputs());
}

namespace {

// A state that is the file's variable, or an activation.
Tensor before(const Op& op, size_t i) { return op.is_state(i) ? op.state(i) : op.tensor(i); }

// TensorFlow's first LSTM: inputs x [N,C], the hidden state [N,H], a weight [4H,C+H] and a bias of the gates input,
// cell, forget, output, and the cells [N,H]. Outputs: the hidden state, the cells, and two of no use to others.
void basic_lstm_step(Op& op) {
  const Tensor x = op.tensor(0), hidden = before(op, 1), cell = before(op, 4);
  if (x.shape().rank != 2 || hidden.shape().rank != 2 || cell.shape() != hidden.shape())
    op.refuse("inputs %s, %s and %s, expected [N,C], [N,H] and [N,H]", to_string(x.shape()).c_str(),
              to_string(hidden.shape()).c_str(), to_string(cell.shape()).c_str());
  const int units = hidden.shape()[1];
  const Shape weight = op.shape(2);
  if (weight.rank != 2 || weight[0] != 4 * int64_t{units} || weight[1] != int64_t{x.shape()[1]} + units)
    op.refuse("its weight is %s", to_string(weight).c_str());
  const int inputs = weight[1];
  const Tensor both = concat({x, hidden}, 1);
  const Tensor z = op.graph().add_op("", fbs::LinearT{},
                                     {both, parameter(op, 2, 4 * units, inputs), parameter(op, 3, 4 * units, 0)});
  const auto part = [&](int g) { return ferry::slice(z, 1, g * units, units); };
  const Tensor next = ferry::sigmoid(part(0)) * ferry::tanh(part(1)) + ferry::sigmoid(part(2)) * cell;
  const Tensor y = ferry::sigmoid(part(3)) * ferry::tanh(next);
  if (op.is_state(1)) op.set_state(1, y);
  if (op.is_state(4)) op.set_state(4, next);
  op.set(0, y);
  op.set(1, next);
  op.set(2, both);
  op.set(3, z);
}

}  // namespace

// One step: x [N,C], an Lstm's parameters from input 1 on, the hidden state (18) and the cells (19).
void lstm_step(Op& op) {
  const auto& o = op.options<schema::LSTMOptions>();
  if (o.kernel_type() == schema::LSTMKernelType::BASIC) return basic_lstm_step(op);
  refuse_more(op, 20, 4, "a layer normalisation");
  const Tensor x = op.tensor(0);
  if (x.shape().rank != 2) op.refuse("its input has %d dimensions, expected 2", x.shape().rank);
  Lstm lstm(op, 1, o.fused_activation_function(), o.cell_clip(), false);
  const auto after = lstm.step(x, {op.state(18), op.state(19)}, o.proj_clip());
  op.set_state(18, after.hidden);
  op.set_state(19, after.cell);
  op.set(after.hidden);
}

// One step: inputs x [N,C], the input weight, the recurrent one, the bias, and the hidden state [N,H].
void rnn_step(Op& op) {
  const Act function = op.options<schema::RNNOptions>().fused_activation_function();
  const Tensor x = op.tensor(0), state = op.state(4);
  if (x.shape().rank != 2) op.refuse("its input has %d dimensions, expected 2", x.shape().rank);
  const int hidden = op.shape(1)[0];
  const Tensor projected =
      op.graph().add_op("", fbs::LinearT{}, {x, parameter(op, 1, hidden, x.shape()[1]), parameter(op, 3, hidden, 0)});
  const Tensor carried = op.graph().add_op("", fbs::LinearT{}, {state, parameter(op, 2, hidden, hidden)});
  const Tensor y = activated(op, projected + carried, function);
  op.set_state(4, y);
  op.set(y);
}

// A rank-factorised filter over time (Nakkiran et al., 2015): inputs x [N,C], feature weights [F,C], time weights
// [F,M], a bias [F/rank], and the last M features of each filter [N,F*M], oldest first.
void svdf(Op& op) {
  const auto& o = op.options<schema::SVDFOptions>();
  const Tensor x = op.tensor(0), state = op.state(4);
  if (x.shape().rank != 2) op.refuse("its input has %d dimensions, expected 2", x.shape().rank);
  const int batch = x.shape()[0], filters = op.shape(1)[0], memory = op.shape(2)[op.shape(2).rank - 1];
  if (o.rank() < 1 || filters % o.rank() != 0) op.refuse("rank %d does not divide %d filters", o.rank(), filters);
  if (state.shape() != Shape{batch, filters * memory})
    op.refuse("its state is %s, expected [%d,%d]", to_string(state.shape()).c_str(), batch, filters * memory);
  const Tensor feature = op.graph().add_op("", fbs::LinearT{}, {x, parameter(op, 1, filters, x.shape()[1])});
  const Tensor before = reshape(state, {batch, filters, memory}), now = reshape(feature, {batch, filters, 1});
  const Tensor features = memory == 1 ? now : concat({ferry::slice(before, 2, 1, -1), now}, 2);
  op.set_state(4, reshape(features, {batch, filters * memory}));
  const int units = filters / o.rank();
  const Tensor filtered = features * parameter(op, 2, filters, memory);
  Tensor y = reduce(reshape(filtered, {batch, units, o.rank() * memory}), fbs::ReduceKind::Sum, {2}, false);
  if (op.has(3)) y = y + parameter(op, 3, units, 0);
  op.set(activated(op, y, o.fused_activation_function()));
}

}  // namespace ferry::tflite
