// LSTM, GRU and RNN: per direction a Linear for the inputs of all steps, and a Recurrence.
#include <algorithm>
#include <cctype>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

using Cell = fbs::RecurrentCell;
using Kind = fbs::GateFunctionKind;

// ONNX's names of activations, and which parameters they consume. Defaults are those of the operators of these names,
// as the standard says; ONNX Runtime's RNN has 0 instead.
struct Activation {
  const char* name;
  Kind kind;
  bool has_alpha = false, has_beta = false;
  float alpha = 0, beta = 0;
};

constexpr Activation kActivations[] = {
    {"sigmoid", Kind::Sigmoid},
    {"tanh", Kind::Tanh},
    {"relu", Kind::Relu},
    {"affine", Kind::Affine, true, true, 1, 0},
    {"leakyrelu", Kind::LeakyRelu, true, false, 0.01f},
    {"thresholdedrelu", Kind::ThresholdedRelu, true, false, 1},
    {"scaledtanh", Kind::ScaledTanh, true, true, 1, 1},
    {"hardsigmoid", Kind::HardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", Kind::Elu, true, false, 1},
    {"softsign", Kind::Softsign},
    {"softplus", Kind::Softplus},
};

// The functions of all directions. Each takes the next of activation_alpha and activation_beta if it has such a
// parameter.
std::vector<fbs::GateFunction> functions(Op& op, size_t per_direction, size_t directions) {
  std::vector<std::string> names;
  if (const auto given = op.node().attributes.find("activations"); given != op.node().attributes.end())
    names = given->second.strings;
  else
    for (size_t i = 0; i < per_direction * directions; ++i)
      names.push_back(i % per_direction == 0 && per_direction > 1 ? "Sigmoid" : "Tanh");
  if (names.size() != per_direction * directions)
    op.refuse("%zu activations, expected %zu", names.size(), per_direction * directions);
  const std::vector<double> alphas = op.numbers("activation_alpha"), betas = op.numbers("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<fbs::GateFunction> out;
  for (const std::string& name : names) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    const Activation* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                           [&](const Activation& a) { return lower == a.name; });
    if (found == std::end(kActivations)) op.refuse("activation '%s' is none of ONNX's", name.c_str());
    float alpha = found->alpha, beta = found->beta;
    if (found->has_alpha && next_alpha < alphas.size()) alpha = static_cast<float>(alphas[next_alpha++]);
    if (found->has_beta && next_beta < betas.size()) beta = static_cast<float>(betas[next_beta++]);
    out.push_back({found->kind, alpha, beta});
  }
  return out;
}

class Layer {
 public:
  Layer(Op& op, Cell cell) : op_(op) {
    params_.cell = cell;
    params_.reset_after = cell == Cell::Gru && op.integer("linear_before_reset", 0) != 0;
    params_.input_forget = cell == Cell::Lstm && op.integer("input_forget", 0) != 0;
    params_.peepholes = cell == Cell::Lstm && op.has(7);
    if (op.has_attribute("clip")) params_.clip = static_cast<float>(op.number("clip", 0));
    gates_ = cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1;
    parts_ = cell == Cell::Lstm ? 2 : 1;
    batch_first_ = op.integer("layout", 0) != 0;
    read_dims();
  }

  void add() {
    Tensor x = op_.tensor(0);
    if (batch_first_) x = ferry::transpose(x, {1, 0, 2});
    const size_t per_direction = params_.cell == Cell::Lstm ? 3 : params_.cell == Cell::Gru ? 2 : 1;
    const std::vector<fbs::GateFunction> all = functions(op_, per_direction, static_cast<size_t>(directions_));
    std::vector<Tensor> steps;                 // [T,N,H] per direction
    std::vector<std::vector<Tensor>> last(2);  // [1,N,H] per part of the state and direction
    for (int64_t d = 0; d < directions_; ++d) {
      fbs::RecurrenceT params(params_);
      params.reverse = direction_ == "reverse" || d == 1;
      const fbs::GateFunction* f = &all[static_cast<size_t>(d) * per_direction];
      params.f = std::make_unique<fbs::GateFunction>(f[0]);
      if (per_direction > 1) params.g = std::make_unique<fbs::GateFunction>(f[1]);
      if (per_direction > 2) params.h = std::make_unique<fbs::GateFunction>(f[2]);
      const Tensor projected = op_.graph().add_op("", fbs::LinearT{}, {x, weight(1, w_, d), input_bias(d)});
      std::vector<Tensor> inputs = {projected, recurrence(d), state(d)};
      if (lengths_) inputs.push_back(*lengths_);
      const Tensor y = op_.graph().add_op("", std::move(params), inputs);
      for (int part = 0; part < parts_; ++part) last[static_cast<size_t>(part)].push_back(ferry::slice(y, 0, part, 1));
      steps.push_back(ferry::slice(y, 0, parts_, -1));
    }
    set_outputs(steps, last);
  }

 private:
  void read_dims() {
    w_ = op_.array(1, "W");
    r_ = op_.array(2, "R");
    if (op_.rank(0) != 3 || w_.dims.size() != 3 || r_.dims.size() != 3)
      op_.refuse("X %s, W %s and R %s: expected three dimensions each", to_string(op_.dims(0)).c_str(),
                 to_string(w_.dims).c_str(), to_string(r_.dims).c_str());
    direction_ = op_.text("direction", "forward");
    if (direction_ != "forward" && direction_ != "reverse" && direction_ != "bidirectional")
      op_.refuse("attribute 'direction' is '%s', expected forward, reverse or bidirectional", direction_.c_str());
    directions_ = direction_ == "bidirectional" ? 2 : 1;
    hidden_ = r_.dims[2];
    steps_ = op_.dims(0)[batch_first_ ? 1 : 0];
    batch_ = op_.dims(0)[batch_first_ ? 0 : 1];
    if (w_.dims != Dims{directions_, gates_ * hidden_, op_.dims(0)[2]} ||
        r_.dims != Dims{directions_, gates_ * hidden_, hidden_})
      op_.refuse("W %s and R %s do not fit %lld directions and X %s", to_string(w_.dims).c_str(),
                 to_string(r_.dims).c_str(), static_cast<long long>(directions_), to_string(op_.dims(0)).c_str());
    bias_.assign(static_cast<size_t>(directions_ * 2 * gates_ * hidden_), 0.0);
    if (op_.has(3)) {
      const Array& bias = op_.array(3, "B");
      if (bias.dims != Dims{directions_, 2 * gates_ * hidden_}) op_.refuse("B is %s", to_string(bias.dims).c_str());
      bias_ = bias.floats();
    }
    read_lengths();
  }

  // Lengths of sequences that may be shorter than all steps.
  void read_lengths() {
    if (!op_.has(4)) return;
    if (op_.dims(4) != Dims{batch_}) op_.refuse("sequence_lens is %s", to_string(op_.dims(4)).c_str());
    if (!op_.known(4)) {
      lengths_ = op_.tensor(4);
      return;
    }
    const Array& lengths = op_.array(4, "sequence_lens");
    const std::vector<int64_t> list = lengths.ints();
    for (const int64_t length : list)
      if (length < 1 || length > steps_)
        op_.refuse("sequence_lens holds %lld, expected 1 to %lld", static_cast<long long>(length),
                   static_cast<long long>(steps_));
    if (std::any_of(list.begin(), list.end(), [&](int64_t length) { return length != steps_; }))
      lengths_ = add_constant(op_.graph(), op_.input_name(4), lengths);
  }

  // Direction `d` of a weight [D,...].
  Tensor weight(size_t input, const Array& of_all, int64_t d) const {
    const Dims dims(of_all.dims.begin() + 1, of_all.dims.end());
    const Array one = (directions_ == 1 ? of_all : pick(of_all, 0, {d})).reshaped(dims);
    return add_constant(op_.graph(), op_.input_name(input), one);
  }

  // Of the inputs and of the recurrence, except where a reset gate comes between.
  Tensor input_bias(int64_t d) const {
    const int64_t count = gates_ * hidden_, begin = d * 2 * count;
    std::vector<double> sums;
    for (int64_t i = 0; i < count; ++i) {
      const bool apart = params_.reset_after && i >= 2 * hidden_;
      sums.push_back(bias_[static_cast<size_t>(begin + i)] +
                     (apart ? 0.0 : bias_[static_cast<size_t>(begin + count + i)]));
    }
    return op_.graph().add_constant("", Shape{static_cast<int32_t>(count)}, std::move(sums));
  }

  // R, and below it the peepholes or the bias that a reset gate scales.
  Tensor recurrence(int64_t d) const {
    const Tensor r = weight(2, r_, d);
    std::vector<double> rows;
    if (params_.peepholes) {
      const Array& peepholes = op_.array(7, "P");
      if (peepholes.dims != Dims{directions_, 3 * hidden_}) op_.refuse("P is %s", to_string(peepholes.dims).c_str());
      rows = pick(peepholes, 0, {d}).floats();
    } else if (params_.reset_after) {
      const auto begin = bias_.begin() + (d * 2 + 1) * gates_ * hidden_ + 2 * hidden_;
      rows.assign(begin, begin + hidden_);
    }
    if (rows.empty()) return r;
    const Shape shape{static_cast<int32_t>(static_cast<int64_t>(rows.size()) / hidden_), static_cast<int32_t>(hidden_)};
    return ferry::concat({r, op_.graph().add_constant("", shape, std::move(rows))}, 0);
  }

  // The initial state [parts,N,H], or [parts,1,H] for zeros.
  Tensor state(int64_t d) const {
    const auto zeros = [&](int64_t parts, int64_t batch) {
      const Dims dims{parts, batch, hidden_};
      return add_constant(
          op_.graph(), "",
          make_array(Type::Float32, dims, std::vector<double>(static_cast<size_t>(count_computed(dims)))));
    };
    if (!op_.has(5) && !(parts_ == 2 && op_.has(6))) return zeros(parts_, 1);
    std::vector<Tensor> parts;
    for (int part = 0; part < parts_; ++part) {
      const size_t input = part == 0 ? 5 : 6;
      if (!op_.has(input)) {
        parts.push_back(zeros(1, batch_));
        continue;
      }
      Tensor value = op_.tensor(input);
      if (op_.rank(input) != 3) op_.refuse("input %zu is %s", input, to_string(op_.dims(input)).c_str());
      if (batch_first_) value = ferry::transpose(value, {1, 0, 2});
      parts.push_back(directions_ == 1 ? value : ferry::slice(value, 0, static_cast<int>(d), 1));
    }
    return parts.size() == 1 ? parts[0] : ferry::concat(parts, 0);
  }

  void set_outputs(const std::vector<Tensor>& steps, const std::vector<std::vector<Tensor>>& last) {
    const auto joined = [](const std::vector<Tensor>& list, int axis) {
      return list.size() == 1 ? list[0] : ferry::concat(list, axis);
    };
    if (op_.wants(0)) {  // [T,N,D*H] to [T,D,N,H] or [N,T,D,H]
      const Tensor y = reshape_to(joined(steps, 2), {steps_, batch_, directions_, hidden_});
      op_.set(0, batch_first_ ? ferry::transpose(y, {1, 0, 2, 3}) : ferry::transpose(y, {0, 2, 1, 3}));
    }
    for (int part = 0; part < parts_; ++part) {
      const size_t output = static_cast<size_t>(part) + 1;
      if (!op_.wants(output)) continue;
      const Tensor all = joined(last[static_cast<size_t>(part)], 0);
      op_.set(output, batch_first_ ? ferry::transpose(all, {1, 0, 2}) : all);
    }
  }

  Op& op_;
  fbs::RecurrenceT params_;
  Array w_, r_;
  std::vector<double> bias_;
  std::optional<Tensor> lengths_;
  std::string direction_;
  int64_t gates_ = 0, directions_ = 0, hidden_ = 0, steps_ = 0, batch_ = 0;
  int parts_ = 1;
  bool batch_first_ = false;
};

}  // namespace

void lstm(Op& op) { Layer(op, Cell::Lstm).add(); }
void gru(Op& op) { Layer(op, Cell::Gru).add(); }
void rnn(Op& op) { Layer(op, Cell::Rnn).add(); }

}  // namespace ferry::onnx
