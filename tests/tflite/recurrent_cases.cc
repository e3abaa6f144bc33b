// Recurrent layers over sequences.
#include "tests/tflite/operator_cases.h"

namespace ferry::testing::recurrent {
namespace {

using Act = schema::ActivationFunctionType;
using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Shape = FileBuilder::Shape;
using Outputs = std::vector<int>;

constexpr int kBatch = 2, kSteps = 6, kInputs = 3, kHidden = 4, kNone = -1;

// The parameters of one direction: input weights, recurrent weights, peepholes, biases, no projection.
std::vector<int> lstm_parameters(FileBuilder& b, bool input_gate, bool peepholes, uint32_t seed) {
  std::vector<int> out;
  const auto add = [&](bool present, const Shape& shape) { out.push_back(present ? b.random(shape, seed++) : kNone); };
  for (int g = 0; g < 4; ++g) add(g > 0 || input_gate, {kHidden, kInputs});
  for (int g = 0; g < 4; ++g) add(g > 0 || input_gate, {kHidden, kHidden});
  for (int g = 0; g < 3; ++g) add(peepholes && (g > 0 || input_gate), {kHidden});
  for (int g = 0; g < 4; ++g) add(g > 0 || input_gate, {kHidden});
  out.insert(out.end(), 2, kNone);
  return out;
}

// Makes `parameters` those of an LSTM with `outputs` elements after a projection.
void project(FileBuilder& b, int outputs, std::vector<int>* parameters) {
  for (size_t g = 4; g < 8; ++g)
    if ((*parameters)[g] != kNone) (*parameters)[g] = b.random({kHidden, outputs}, 60 + static_cast<uint32_t>(g));
  (*parameters)[15] = b.random({outputs, kHidden}, 70);
  (*parameters)[16] = b.random({outputs}, 71);
}

// The factors of layer normalisations, or none.
void add_normalisation(FileBuilder& b, bool present, bool input_gate, std::vector<int>* inputs) {
  for (uint32_t g = 0; g < 4; ++g)
    inputs->push_back(present && (g > 0 || input_gate) ? b.random({kHidden}, 80 + g) : kNone);
}

template <bool input_gate, bool peepholes, bool time_major, int clip_in_tenths, bool normalised = false,
          int projected = 0>
Outputs lstm(FileBuilder& b) {
  const Shape shape = time_major ? Shape{kSteps, kBatch, kInputs} : Shape{kBatch, kSteps, kInputs};
  Shape out = shape;
  out[2] = projected == 0 ? kHidden : projected;
  std::vector<int> inputs = {b.input(shape)}, parameters = lstm_parameters(b, input_gate, peepholes, 1);
  if (projected > 0) project(b, projected, &parameters);
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  inputs.push_back(b.variable({kBatch, out[2]}));
  inputs.push_back(b.variable({kBatch, kHidden}));
  add_normalisation(b, normalised, input_gate, &inputs);
  const int y = b.activation(out);
  b.op(Op::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {y}, Kind::UnidirectionalSequenceLSTMOptions,
       schema::CreateUnidirectionalSequenceLSTMOptions(b.fbb, Act::TANH, 0.1f * clip_in_tenths, 0.05f * clip_in_tenths,
                                                       time_major)
           .Union());
  return {y};
}

// An auxiliary input of `channels`, with weights for both directions or, for the backward one only, without.
void add_auxiliary(FileBuilder& b, const Shape& shape, bool weights, uint32_t gates, std::vector<int>* inputs) {
  inputs->push_back(b.input(shape));
  for (uint32_t i = 0; i < 2 * gates; ++i) inputs->push_back(weights ? b.random({kHidden, shape[2]}, 90 + i) : kNone);
}

// The interpreter steps through the auxiliary input as if it had the channels of the other one.
template <bool merge, bool auxiliary = false, bool weights = false>
Outputs bidirectional_lstm(FileBuilder& b) {
  std::vector<int> inputs = {b.input({kBatch, kSteps, kInputs})};
  for (const uint32_t seed : {1u, 40u}) {
    const std::vector<int> parameters = lstm_parameters(b, true, false, seed);
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  }
  for (int i = 0; i < 4; ++i) inputs.push_back(b.variable({kBatch, kHidden}));
  if (auxiliary)
    add_auxiliary(b, {kBatch, kSteps, kInputs}, weights, 4, &inputs);
  else
    inputs.insert(inputs.end(), 9, kNone);
  Outputs outputs = {b.activation({kBatch, kSteps, merge ? 2 * kHidden : kHidden})};
  if (!merge) outputs.push_back(b.activation({kBatch, kSteps, kHidden}));
  b.op(Op::BIDIRECTIONAL_SEQUENCE_LSTM, inputs, outputs, Kind::BidirectionalSequenceLSTMOptions,
       schema::CreateBidirectionalSequenceLSTMOptions(b.fbb, Act::TANH, 0, 0, merge, false).Union(), 2);
  return outputs;
}

std::vector<int> rnn_parameters(FileBuilder& b, uint32_t seed) {
  const int weight = b.random({kHidden, kInputs}, seed), recurrent = b.random({kHidden, kHidden}, seed + 1);
  return {weight, recurrent, b.random({kHidden}, seed + 2), b.variable({kBatch, kHidden})};
}

template <Act act, bool time_major>
Outputs rnn(FileBuilder& b) {
  const Shape shape = time_major ? Shape{kSteps, kBatch, kInputs} : Shape{kBatch, kSteps, kInputs};
  Shape out = shape;
  out[2] = kHidden;
  std::vector<int> inputs = {b.input(shape)};
  const std::vector<int> parameters = rnn_parameters(b, 1);
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const int y = b.activation(out);
  b.op(Op::UNIDIRECTIONAL_SEQUENCE_RNN, inputs, {y}, Kind::SequenceRNNOptions,
       schema::CreateSequenceRNNOptions(b.fbb, time_major, act).Union());
  return {y};
}

// The interpreter's backward direction ignores an auxiliary input without weights, unless time comes first; then it
// gives a second output the shape of another order.
template <bool time_major = false, int auxiliary = 0, bool weights = false>
Outputs bidirectional_rnn(FileBuilder& b) {
  const auto steps = [](int channels) {
    return time_major ? Shape{kSteps, kBatch, channels} : Shape{kBatch, kSteps, channels};
  };
  std::vector<int> inputs = {b.input(steps(kInputs))};
  for (const uint32_t seed : {1u, 40u}) {
    const std::vector<int> parameters = rnn_parameters(b, seed);
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  }
  if (auxiliary > 0)
    add_auxiliary(b, steps(auxiliary), weights, 1, &inputs);
  else
    inputs.insert(inputs.end(), 3, kNone);
  Outputs outputs = {b.activation(steps(time_major ? 2 * kHidden : kHidden))};
  if (!time_major) outputs.push_back(b.activation(steps(kHidden)));
  b.op(Op::BIDIRECTIONAL_SEQUENCE_RNN, inputs, outputs, Kind::BidirectionalSequenceRNNOptions,
       schema::CreateBidirectionalSequenceRNNOptions(b.fbb, time_major, Act::TANH, time_major).Union());
  return outputs;
}

// One step; the file's states are zeros.
template <bool input_gate, bool peepholes, int projected, int clip_in_tenths, bool normalised = false>
Outputs lstm_step(FileBuilder& b) {
  constexpr int kOut = projected == 0 ? kHidden : projected;
  std::vector<int> inputs = {b.input({kBatch, kInputs})}, parameters = lstm_parameters(b, input_gate, peepholes, 1);
  if (projected > 0) project(b, kOut, &parameters);
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  inputs.push_back(b.variable({kBatch, kOut}));
  inputs.push_back(b.variable({kBatch, kHidden}));
  add_normalisation(b, normalised, input_gate, &inputs);
  const int y = b.activation({kBatch, kOut});
  b.op(Op::LSTM, inputs, {y}, Kind::LSTMOptions,
       schema::CreateLSTMOptions(b.fbb, Act::TANH, 0.1f * clip_in_tenths, 0.05f * clip_in_tenths).Union());
  return {y};
}

// TensorFlow's first kernel, whose states are values of the graph here.
Outputs basic_lstm_step(FileBuilder& b) {
  const int x = b.input({kBatch, kInputs}), hidden = b.input({kBatch, kHidden}), cell = b.input({kBatch, kHidden});
  const int y = b.activation({kBatch, kHidden}), next = b.activation({kBatch, kHidden});
  const int both = b.activation({kBatch, kInputs + kHidden}), gates = b.activation({kBatch, 4 * kHidden});
  b.op(Op::LSTM, {x, hidden, b.random({4 * kHidden, kInputs + kHidden}, 1), b.random({4 * kHidden}, 2), cell},
       {y, next, both, gates}, Kind::LSTMOptions,
       schema::CreateLSTMOptions(b.fbb, Act::TANH, 0, 0, schema::LSTMKernelType::BASIC).Union(), 2);
  return {y, next};
}

Outputs rnn_step(FileBuilder& b) {
  std::vector<int> inputs = {b.input({kBatch, kInputs})};
  const std::vector<int> parameters = rnn_parameters(b, 1);
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const int y = b.activation({kBatch, kHidden});
  b.op(Op::RNN, inputs, {y}, Kind::RNNOptions, schema::CreateRNNOptions(b.fbb, Act::TANH).Union());
  return {y};
}

template <int rank>
Outputs svdf(FileBuilder& b) {
  constexpr int kMemory = 5, kFilters = kHidden * rank;
  const int y = b.activation({kBatch, kHidden});
  b.op(Op::SVDF,
       {b.input({kBatch, kInputs}), b.random({kFilters, kInputs}, 1), b.random({kFilters, kMemory}, 2),
        b.random({kHidden}, 3), b.variable({kBatch, kFilters * kMemory})},
       {y}, Kind::SVDFOptions, schema::CreateSVDFOptions(b.fbb, rank, Act::RELU).Union());
  return {y};
}

}  // namespace

const std::vector<OperatorCase>& cases() {
  static const std::vector<OperatorCase> kCases = {
      {"bidirectional_lstm", bidirectional_lstm<false>},
      {"bidirectional_lstm_merged", bidirectional_lstm<true>},
      {"bidirectional_lstm_auxiliary", bidirectional_lstm<false, true, true>},
      {"bidirectional_lstm_crossed", bidirectional_lstm<true, true, false>},
      {"bidirectional_rnn", bidirectional_rnn<>},
      {"bidirectional_rnn_auxiliary", bidirectional_rnn<false, 2, true>},
      {"bidirectional_rnn_crossed", bidirectional_rnn<true, kInputs, false>},
      {"lstm", lstm<true, false, false, 0>},
      {"lstm_clipped", lstm<true, true, false, 3>},
      {"lstm_clipped_coupled", lstm<false, false, true, 3>},
      {"lstm_coupled", lstm<false, true, false, 0>},
      {"lstm_normalised", lstm<true, true, false, 0, true>},
      {"lstm_normalised_coupled", lstm<false, false, true, 3, true, 3>},
      {"lstm_peepholes", lstm<true, true, true, 100>},
      {"lstm_projected", lstm<true, true, true, 3, false, 3>},
      {"lstm_step", lstm_step<true, false, 0, 0>},
      {"lstm_step_basic", basic_lstm_step},
      {"lstm_step_coupled", lstm_step<false, true, 0, 2>},
      {"lstm_step_normalised", lstm_step<true, true, 3, 0, true>},
      {"lstm_step_peepholes", lstm_step<true, true, 0, 0>},
      {"lstm_step_projected", lstm_step<true, true, 3, 3>},
      {"rnn", rnn<Act::TANH, false>},
      {"rnn_relu", rnn<Act::RELU, true>},
      {"rnn_step", rnn_step},
      {"svdf", svdf<1>},
      {"svdf_rank_2", svdf<2>},
  };
  return kCases;
}

}  // namespace ferry::testing::recurrent
