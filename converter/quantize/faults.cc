#include "converter/quantize/faults.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/quantize/calibration.h"
#include "converter/quantize/fault_causes.h"
#include "converter/quantize/network.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

// An operator whose noise is so many times the expected one is faulty: 6 dB.
constexpr double kFactor = 4;

double decibel(double signal, double noise) { return noise > 0 ? 10 * std::log10(signal / noise) : INFINITY; }

double power(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum;
}

double noise_between(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return sum;
}

std::string name_of(const fbs::OperatorT& op, size_t index) {
  return op.name.empty() ? "operator " + std::to_string(index) : op.name;
}

class Search {
 public:
  Search(Graph& real, Graph& quantised, const Sample& sample, int threads)
      : real_(real), quantised_(quantised), threads_(threads), forms_(real.table.tensors.size(), TensorId::None) {
    match();
    Network network(real, float_activations(real), threads);
    network.run(sample);
    values_.resize(real.table.tensors.size());
    for (const TensorId t : float_activations(real)) {
      const std::span<const float> values = network.values(t);
      values_[t].assign(values.begin(), values.end());
    }
    carry(sample);
  }

  FaultReport run() {
    FaultReport report;
    for (size_t i = 0; i < real_.table.operators.size(); ++i) {
      const fbs::OperatorT& op = *real_.table.operators[i];
      const TensorId output = op.outputs.front();
      if (!is_integer(forms_[output])) continue;
      Examined row{.name = name_of(op, i), .kind = op_name(op.params.type)};
      examine(i, &row);
      const double signal = power(values_[output]);
      row.carried = decibel(signal, noise_between(values_[output], carried_[output]));
      if (row.faulty && !report.first) report.first = report.operators.size();
      report.operators.push_back(std::move(row));
    }
    return report;
  }

 private:
  bool is_integer(TensorId t) const { return t != TensorId::None && quantised_.at(t).dtype == fbs::DType::Int8; }

  // The quantised operator of each float one, and the tensors that hold each value.
  void match() {
    std::vector<const fbs::OperatorT*> operators;
    for (const auto& op : quantised_.table.operators)
      if (op->params.type != fbs::OpParams::Requantize) operators.push_back(op.get());
    const auto& own = real_.table.operators;
    if (operators.size() != own.size())
      fail("the quantised blob has %zu operators and the float blob %zu: expected the blob that it was made from",
           operators.size(), own.size());
    for (size_t i = 0; i < own.size(); ++i) {
      const bool table = operators[i]->params.type == fbs::OpParams::Lookup;
      const fbs::OpParams type = table ? fbs::OpParams::Unary : operators[i]->params.type;
      if (operators[i]->name != own[i]->name || type != own[i]->params.type)
        fail(
            "operator %zu is %s '%s' in the quantised blob and %s '%s' in the float blob: expected the blob that it "
            "was made from",
            i, op_name(operators[i]->params.type), operators[i]->name.c_str(), op_name(own[i]->params.type),
            own[i]->name.c_str());
      for (size_t o = 0; o < own[i]->outputs.size(); ++o) forms_[own[i]->outputs[o]] = operators[i]->outputs[o];
    }
    operators_ = std::move(operators);
  }

  // The quantised network's values, as real numbers.
  void carry(const Sample& sample) {
    const std::unique_ptr<Graph> visible = quantised_.copy();
    std::vector<TensorId> watched(forms_.size(), TensorId::None);
    std::vector<TensorId> all;
    for (const TensorId t : real_.tensors()) {
      if (!is_integer(forms_[t])) continue;
      fbs::RequantizeT to_real;
      to_real.to = fbs::DType::Float32;
      watched[index_of(t)] = visible->add_op("watched", to_real, {Tensor{visible.get(), forms_[t]}}).id;
      all.push_back(watched[index_of(t)]);
    }
    Network network(*visible, all, threads_);
    network.run(sample);
    carried_.resize(forms_.size());
    for (const TensorId t : real_.tensors()) {
      if (watched[index_of(t)] == TensorId::None) continue;
      const std::span<const float> values = network.values(watched[index_of(t)]);
      carried_[t].assign(values.begin(), values.end());
    }
  }

  Range range_of_values(TensorId t) const {
    Range range;
    for (const float v : values_[t]) range = joined(range, {static_cast<double>(v), static_cast<double>(v)});
    return range;
  }

  // What a value's integers stand for where operator `op` reads or writes it.
  Affine affine_of_value(size_t op, TensorId t) const {
    const auto& own = real_.table.operators[op]->inputs;
    const auto place = std::find(own.begin(), own.end(), t);
    const TensorId at =
        place == own.end() ? forms_[t] : operators_[op]->inputs[static_cast<size_t>(place - own.begin())];
    const Type type = type_of(quantised_.at(at));
    return {type.float_scale, type.zero_point};
  }

  // The same, if it covers the float network's values well enough; otherwise one that does.
  Affine proper_affine(size_t op, TensorId t) const {
    constexpr double kClipped = 0.002, kTooWide = 16;
    const Affine affine = affine_of_value(op, t);
    const double low = affine.real(-128) - static_cast<double>(affine.scale) / 2,
                 high = affine.real(127) + static_cast<double>(affine.scale) / 2;
    const auto clipped = std::count_if(values_[t].begin(), values_[t].end(), [&](float v) {
      return static_cast<double>(v) < low || static_cast<double>(v) > high;
    });
    const Affine own = affine_of(range_of_values(t));
    const bool covers = static_cast<double>(clipped) <= kClipped * static_cast<double>(values_[t].size());
    return covers && affine.scale <= static_cast<float>(kTooWide) * own.scale ? affine : own;
  }

  void examine(size_t index, Examined* row) {
    const fbs::OperatorT& op = *real_.table.operators[index];
    OneOperator proper(real_, index, values_), actual = proper;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const TensorId t : *list) {
        if (real_.is_constant(t) || values_[t].empty()) continue;
        proper.affine[t] = proper_affine(index, t);
        actual.affine[t] = affine_of_value(index, t);
      }
    }
    if (has_weight(op.params.type)) {
      proper.weight = nearest_weight(real_, op);
      actual.weight = stored_weight(quantised_, *operators_[index], actual.affine[op.inputs.front()].scale);
      actual.params = operators_[index]->params;
    } else if (op.params.type == fbs::OpParams::Unary) {
      actual.table = stored_integers(quantised_, operators_[index]->inputs[1]);
    }
    const double signal = power(values_[op.outputs.front()]), tiny = 1e-9 * signal;
    const double noise = actual.noise(threads_), expected = proper.noise(threads_);
    row->local = decibel(signal, noise);
    row->expected = decibel(signal, expected);
    row->faulty = noise > kFactor * expected + tiny;
    if (row->faulty) row->cause = cause_of(actual, proper, noise, threads_);
  }

  Graph &real_, &quantised_;
  const int threads_;
  PerTensor<TensorId> forms_;                       // by tensor of the float graph: the same value
  std::vector<const fbs::OperatorT*> operators_;    // of the quantised graph, by operator of the float graph
  PerTensor<std::vector<float>> values_, carried_;  // by tensor of the float graph
};

}  // namespace

FaultReport find_faults(Graph& real, Graph& quantised, const Sample& sample, int threads) {
  return Search(real, quantised, sample, threads).run();
}

}  // namespace ferry::int8
