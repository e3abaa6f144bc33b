// Recurrent layers. Those over whole sequences begin each run with a state of zeros, as after the interpreter's
// ResetVariableTensors(): the file's state tensors are not read. Those of one step pass their state on (variables.h).
#include <array>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

using Act = schema::ActivationFunctionType;
using Cell = fbs::RecurrentCell;
using Kind = fbs::GateFunctionKind;

constexpr int kMaxUnrolled = 512;   // steps that become operators each
constexpr float kEpsilon = 1e-12f;  // of a variance, against a division by 0

std::unique_ptr<fbs::GateFunction> gate(const Op& op, Act function) {
  switch (function) {
    case Act::NONE: return std::make_unique<fbs::GateFunction>(Kind::Affine, 1.0f, 0.0f);
    case Act::RELU: return std::make_unique<fbs::GateFunction>(Kind::Relu, 0.0f, 0.0f);
    case Act::TANH: return std::make_unique<fbs::GateFunction>(Kind::Tanh, 0.0f, 0.0f);
    default: op.refuse("its activation is number %d, expected none, RELU or TANH", static_cast<int>(function));
  }
}

Tensor joined(const std::vector<Tensor>& parts, int axis) { return parts.size() == 1 ? parts[0] : concat(parts, axis); }

// The steps of an input, [T,N,C].
Tensor steps_of(const Op& op, bool time_major, size_t input = 0) {
  const Tensor x = op.tensor(input);
  if (x.shape().rank != 3) op.refuse("input %zu has %d dimensions, expected 3", input, x.shape().rank);
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

// Input `i` for the first of `inputs` channels, and `auxiliary` for the last ones.
Tensor input_weight(const Op& op, size_t i, std::optional<size_t> auxiliary, int hidden, int inputs) {
  if (!auxiliary) return parameter(op, i, hidden, inputs);
  const Shape more = op.shape(*auxiliary);
  if (more.rank != 2 || more[1] >= inputs) op.refuse("input %zu is %s", *auxiliary, to_string(more).c_str());
  return concat({parameter(op, i, hidden, inputs - more[1]), parameter(op, *auxiliary, hidden, more[1])}, 1);
}

// One direction of an LSTM, whose parameters are inputs `first` on: four input weights, four recurrent ones, three
// peepholes and four biases, each in the order input, forget, cell, output, and a projection. Without an input gate it
// is 1 - the forget gate. `normalisation`: the first of four inputs that layer normalisations multiply by; `auxiliary`:
// that of four more input weights, for further channels of x.
class Lstm {
 public:
  Lstm(Op& op, size_t first, Act function, float cell_clip, bool reverse, std::optional<size_t> normalisation = {},
       std::optional<size_t> auxiliary = {})
      : op_(op),
        first_(first),
        clip_(cell_clip),
        coupled_(!op.has(first)),
        normalisation_(normalisation),
        auxiliary_(auxiliary) {
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
    const Tensor z = projected(x) + op_.graph().add_op("", fbs::LinearT{}, {before.hidden, recurrent_weight()});
    return stepped(z, before.cell, clip);
  }

  // The hidden state of each step of x [T,N,C]: [T,N,H].
  Tensor over(Tensor x, float clip) {
    // Each step adds at most 1 to the magnitude of a cell, by tanh.
    const int steps = x.shape()[0];
    const bool clips = clip_ > 0 && !(params_.g->kind() == Kind::Tanh && static_cast<float>(steps) <= clip_);
    if (clips || normalisation_ || op_.has(first_ + kProjection)) return unrolled(projected(x), clip);
    std::vector<Tensor> rows = {recurrent_weight()};
    for (const size_t i : {0, 2, 1})  // input, output, forget
      if (params_.peepholes) rows.push_back(reshape(peephole(i), {1, hidden_}));
    const Tensor y =
        op_.graph().add_op("", fbs::RecurrenceT(params_), {projected(x), joined(rows, 0), zeros(op_, 2, hidden_)});
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
  // The elements of h.
  int outputs() const { return op_.has(first_ + kProjection) ? op_.shape(first_ + kProjection)[0] : hidden_; }
  // What the gates get of x [...,C], with the biases, unless a normalisation comes between.
  Tensor projected(Tensor x) {
    const int inputs = x.shape()[x.shape().rank - 1];
    std::vector<Tensor> in = {x, by_gate([&](size_t g) { return gate_weight(g, inputs); })};
    if (!normalisation_) in.push_back(by_gate([&](size_t g) { return bias(g); }));
    return op_.graph().add_op("", fbs::LinearT{}, in);
  }
  Tensor gate_weight(size_t gate, int inputs) {
    const std::optional<size_t> more = auxiliary_ ? std::optional(*auxiliary_ + gate) : std::nullopt;
    return input_weight(op_, first_ + gate, more, hidden_, inputs);
  }
  Tensor recurrent_weight() {
    return by_gate([&](size_t g) { return parameter(op_, first_ + kRecurrent + g, hidden_, outputs()); });
  }
  Tensor bias(size_t gate) { return parameter(op_, first_ + kBias + gate, hidden_, 0); }
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

  // Operators for each step, for what the recurrence lacks.
  Tensor unrolled(Tensor inputs, float clip) {
    const int steps = inputs.shape()[0], batch = inputs.shape()[1];
    if (steps > kMaxUnrolled)
      op_.refuse("it clips, projects or normalises over %d steps, at most %d", steps, kMaxUnrolled);
    const Tensor weight = recurrent_weight();
    std::vector<Tensor> hidden(static_cast<size_t>(steps));
    std::optional<States> last;
    for (int k = 0; k < steps; ++k) {
      const int t = params_.reverse ? steps - 1 - k : k;
      Tensor z = reshape(ferry::slice(inputs, 0, t, 1), {batch, inputs.shape()[2]});
      if (last) z = z + op_.graph().add_op("", fbs::LinearT{}, {last->hidden, weight});
      last = stepped(z, last ? std::optional(last->cell) : std::nullopt, clip);
      hidden[static_cast<size_t>(t)] = reshape(last->hidden, {1, batch, outputs()});
    }
    return joined(hidden, 0);
  }

  // One step of the gates' arguments z [N,4H], without what peepholes add. Without `before` the cells are zeros.
  States stepped(Tensor z, std::optional<Tensor> before, float clip) {
    // In the graph's order, and by the file's number of the gate.
    const auto argument = [&](int part, size_t g, std::optional<Tensor> cell) {
      const Tensor of_gate = ferry::slice(z, 1, part * hidden_, hidden_);
      const bool sees = params_.peepholes && cell;
      return normalised(sees ? of_gate + *cell * peephole(g == 3 ? 2 : g) : of_gate, g);
    };
    const Tensor forget = ferry::sigmoid(argument(2, 1, before));
    const Tensor input = coupled_ ? (forget * -1.0) + 1.0 : ferry::sigmoid(argument(0, 0, before));
    const Tensor added = input * activation(argument(3, 2, {}));
    Tensor cell = before ? forget * *before + added : added;
    if (clip_ > 0) cell = clamp(cell, -clip_, clip_);
    return {hidden_of(ferry::sigmoid(argument(1, 3, cell)) * activation(cell), clip), cell};
  }

  // The argument of a gate with layer normalisation (Ba et al., 2016), whose bias is added after it.
  Tensor normalised(Tensor x, size_t gate) {
    if (!normalisation_) return x;
    fbs::LayerNormT params;
    params.epsilon = kEpsilon;
    return op_.graph().add_op("", params, {x, parameter(op_, *normalisation_ + gate, hidden_, 0), bias(gate)});
  }

  Tensor hidden_of(Tensor y, float clip) {
    if (!op_.has(first_ + kProjection)) return y;
    std::vector<Tensor> in = {y, parameter(op_, first_ + kProjection, outputs(), hidden_)};
    if (op_.has(first_ + kProjection + 1)) in.push_back(parameter(op_, first_ + kProjection + 1, outputs(), 0));
    const Tensor h = op_.graph().add_op("", fbs::LinearT{}, in);
    return clip > 0 ? clamp(h, -clip, clip) : h;
  }

  Op& op_;
  size_t first_;
  float clip_;
  bool coupled_;
  std::optional<size_t> normalisation_, auxiliary_;
  int hidden_ = 0;
  fbs::RecurrenceT params_;
};

// Inputs `first` on: the input weight, the recurrent one and the bias. `auxiliary`: the input weight of the last
// channels.
Tensor rnn(Op& op, Tensor x, size_t first, Act function, bool reverse, std::optional<size_t> auxiliary = {}) {
  const int hidden = op.shape(first)[0];
  fbs::RecurrenceT params;
  params.cell = Cell::Rnn;
  params.reverse = reverse;
  params.f = gate(op, function);
  const Tensor weight = input_weight(op, first, auxiliary, hidden, x.shape()[2]);
  const Tensor projected = op.graph().add_op("", fbs::LinearT{}, {x, weight, parameter(op, first + 2, hidden, 0)});
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

// The first of an LSTM's factors of layer normalisations. Those of the forget gate are there if any are.
std::optional<size_t> normalisation_of(const Op& op) { return op.has(21) ? std::optional<size_t>(20) : std::nullopt; }

struct Steps {
  Tensor forward, backward;  // [T,N,C]
  bool auxiliary = false;    // their last channels have weights of their own
};

// What two directions read. An auxiliary input without weights (one of which is input `weight`) is the backward one's.
Steps steps_of_directions(const Op& op, bool time_major, size_t auxiliary, size_t weight) {
  const Tensor x = steps_of(op, time_major);
  if (!op.has(auxiliary)) return {x, x};
  const Tensor more = steps_of(op, time_major, auxiliary);
  if (!op.has(weight)) return {x, more};
  const Tensor both = concat({x, more}, 2);
  return {both, both, true};
}

}  // namespace

void unidirectional_sequence_lstm(Op& op) {
  const auto& o = op.options<schema::UnidirectionalSequenceLSTMOptions>();
  if (o.diagonal_recurrent_tensors()) op.refuse("its recurrent weights are diagonals");
  Lstm lstm(op, 1, o.fused_activation_function(), o.cell_clip(), false, normalisation_of(op));
  op.set(in_order(lstm.over(steps_of(op, o.time_major()), o.proj_clip()), o.time_major()));
}

void bidirectional_sequence_lstm(Op& op) {
  const auto& o = op.options<schema::BidirectionalSequenceLSTMOptions>();
  const Steps x = steps_of_directions(op, o.time_major(), 39, 40 + 1);
  const auto direction = [&](size_t first, Tensor of, bool reverse, size_t auxiliary) {
    const std::optional<size_t> more = x.auxiliary ? std::optional(auxiliary) : std::nullopt;
    return Lstm(op, first, o.fused_activation_function(), o.cell_clip(), reverse, {}, more).over(of, o.proj_clip());
  };
  set_directions(op, direction(1, x.forward, false, 40), direction(18, x.backward, true, 44), o.time_major(),
                 o.merge_outputs());
}

void unidirectional_sequence_rnn(Op& op) {
  const auto& o = op.options<schema::SequenceRNNOptions>();
  const Tensor y = rnn(op, steps_of(op, o.time_major()), 1, o.fused_activation_function(), false);
  op.set(in_order(y, o.time_major()));
}

void bidirectional_sequence_rnn(Op& op) {
  const auto& o = op.options<schema::BidirectionalSequenceRNNOptions>();
  const Steps x = steps_of_directions(op, o.time_major(), 9, 10);
  const auto direction = [&](size_t first, Tensor of, bool reverse, size_t auxiliary) {
    const std::optional<size_t> more = x.auxiliary ? std::optional(auxiliary) : std::nullopt;
    return rnn(op, of, first, o.fused_activation_function(), reverse, more);
  };
  set_directions(op, direction(1, x.forward, false, 10), direction(5, x.backward, true, 11), o.time_major(),
                 o.merge_outputs());
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
  const Tensor x = op.tensor(0);
  if (x.shape().rank != 2) op.refuse("its input has %d dimensions, expected 2", x.shape().rank);
  Lstm lstm(op, 1, o.fused_activation_function(), o.cell_clip(), false, normalisation_of(op));
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
