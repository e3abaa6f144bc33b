#include "converter/quantize/measure.h"

#include <algorithm>
#include <cmath>

#include "converter/quantize/integer_graph.h"
#include "converter/quantize/network.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

constexpr double kConfidence = 0.95;
// An output of fewer elements is judged together with its features.
constexpr int64_t kManyElements = 256;

// The logits of an output that is a softmax, reshaped or not: differences of probabilities near 0 and 1 vanish.
TensorId logits_of(const Graph& graph, const PerTensor<size_t>& producers, TensorId output) {
  TensorId t = output;
  while (producers[t] < graph.table.operators.size()) {
    const fbs::OperatorT& op = *graph.table.operators[producers[t]];
    if (op.params.type == fbs::OpParams::Softmax) return op.inputs.front();
    if (op.params.type != fbs::OpParams::Reshape) break;
    t = op.inputs.front();
  }
  return output;
}

// What the last layer before an output reads; None if there is no such activation.
TensorId features_of(const Graph& graph, const PerTensor<size_t>& producers, TensorId output) {
  TensorId t = output;
  while (producers[t] < graph.table.operators.size()) {
    const fbs::OperatorT& op = *graph.table.operators[producers[t]];
    t = op.inputs.front();
    if (has_weight(op.params.type)) return producers[t] < graph.table.operators.size() ? t : TensorId::None;
  }
  return TensorId::None;
}

// The probability that at most `count` of `total` independent samples have a property of probability `p`.
double binomial_tail_from(size_t count, size_t total, double p) {
  double sum = 0;
  for (size_t k = count; k <= total; ++k) {
    const auto n = static_cast<double>(total), i = static_cast<double>(k);
    const double log_term = std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) +
                            (k > 0 ? i * std::log(p) : 0) + (k < total ? (n - i) * std::log1p(-p) : 0);
    sum += std::exp(log_term);
  }
  return sum;
}

size_t best_of(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace

double OutputError::sqnr() const { return noise > 0 ? -10 * std::log10(noise) : INFINITY; }

double lower_limit(size_t count, size_t total) {
  if (count == 0 || total == 0) return 0;
  double low = 0, high = 1;
  constexpr int kHalvings = 50;
  for (int i = 0; i < kHalvings; ++i) {
    const double p = (low + high) / 2;
    (binomial_tail_from(count, total, p) < 1 - kConfidence ? low : high) = p;
  }
  return low;
}

size_t samples_to_show(double share) {
  return static_cast<size_t>(std::ceil(std::log(1 - kConfidence) / std::log(share)));
}

double mean_of(const std::vector<Score>& scores) {
  double sum = 0;
  for (const Score& s : scores) sum += s.value;
  return scores.empty() ? 0 : sum / static_cast<double>(scores.size());
}

double uncertainty_of(const std::vector<Score>& scores) {
  if (scores.size() < 2) return INFINITY;
  const double mean = mean_of(scores), freedom = static_cast<double>(scores.size() - 1);
  double squares = 0;
  for (const Score& s : scores) squares += (s.value - mean) * (s.value - mean);
  // Student's t by the expansion of Cornish and Fisher in 1 / degrees of freedom; the first two are exact.
  constexpr double kNormal = 1.6448536269514722;
  const auto power = [](int n) { return std::pow(kNormal, n); };
  double t = kNormal + (power(3) + kNormal) / (4 * freedom) +
             (5 * power(5) + 16 * power(3) + 3 * kNormal) / (96 * std::pow(freedom, 2)) +
             (3 * power(7) + 19 * power(5) + 17 * power(3) - 15 * kNormal) / (384 * std::pow(freedom, 3)) +
             (79 * power(9) + 776 * power(7) + 1482 * power(5) - 1920 * power(3) - 945 * kNormal) /
                 (92160 * std::pow(freedom, 4));
  if (scores.size() == 2) t = 6.313751514675043;
  if (scores.size() == 3) t = 2.919985580353726;
  return t * std::sqrt(squares / freedom / static_cast<double>(scores.size()));
}

Judge::Judge(Graph& graph, const Split& split, int threads, Answers* answers)
    : graph_(graph), split_(split), threads_(threads), answers_(answers) {
  const PerTensor<size_t> producers = producers_of(graph);
  for (const auto& output : graph.table.outputs)
    if (graph.at(output->tensor).dtype == fbs::DType::Float32)
      judged_.push_back(logits_of(graph, producers, output->tensor));
  if (judged_.empty()) fail("no output is Float32: there is no error to measure");
  outputs_ = judged_.size();
  for (size_t i = 0; i < outputs_; ++i) {
    if (graph.shape(judged_[i]).elements() >= kManyElements) continue;
    const TensorId features = features_of(graph, producers, judged_[i]);
    if (features != TensorId::None && graph.at(features).dtype == fbs::DType::Float32) judged_.push_back(features);
  }
  const Shape shape = graph.shape(judged_.front());
  const auto task = graph.table.postprocess ? graph.table.postprocess->task : fbs::Task::Tensors;
  const bool softmax = judged_.front() != graph.table.outputs.front()->tensor;
  const int32_t classes = shape[shape.rank - 1];
  classes_ = (task == fbs::Task::Classification || softmax) && classes > 1 && shape.elements() == classes;
  Network network(graph, judged_, threads);
  for (const Samples* samples : {&split.tune, &split.held_out}) {
    for (const Sample* sample : *samples) {
      network.run(*sample);
      for (const TensorId t : judged_) {
        const std::span<const float> values = network.values(t);
        expected_[sample].emplace_back(values.begin(), values.end());
      }
    }
  }
}

OutputError Judge::measure(const Plan& plan, const Samples& samples, bool scores) {
  const IntegerGraph integer = integer_graph(graph_, plan, judged_);
  std::vector<TensorId> watched;
  for (const TensorId t : judged_) watched.push_back(integer.floats[t]);
  Network network(*integer.graph, watched, threads_);
  std::vector<double> signal(judged_.size()), noise(judged_.size());
  OutputError error;
  for (const Sample* sample : samples) {
    network.run(*sample);
    for (size_t i = 0; i < judged_.size(); ++i) {
      const std::vector<float>& expected = expected_.at(sample)[i];
      const std::span<const float> values = network.values(watched[i]);
      for (size_t j = 0; j < expected.size(); ++j) {
        const double x = static_cast<double>(expected[j]), difference = static_cast<double>(values[j]) - x;
        signal[i] += x * x;
        noise[i] += difference * difference;
      }
    }
    ++error.images;
    const bool agrees = !classes_ || best_of(expected_.at(sample)[0]) == best_of(network.values(watched[0]));
    error.agreeing += agrees ? 1 : 0;
  }
  for (size_t i = 0; i < judged_.size(); ++i) {
    const size_t of = i < outputs_ ? outputs_ : judged_.size() - outputs_;
    const double ratio = (signal[i] > 0 ? noise[i] / signal[i] : noise[i]) / static_cast<double>(of);
    (i < outputs_ ? error.noise : error.features) += ratio;
  }
  if (scores && answers_ != nullptr) error.scores = answers_->compare(*integer_graph(graph_, plan).graph, samples);
  return error;
}

}  // namespace ferry::int8
