#include "converter/quantize/calibration.h"

#include <algorithm>
#include <cmath>

#include "converter/quantize/network.h"

namespace ferry::int8 {
namespace {

void widen(std::span<const float> values, size_t channels, Distribution* d) {
  if (values.empty()) return;
  d->channel_max.resize(channels);
  float low = values[0], high = values[0];
  size_t channel = 0;
  for (const float v : values) {
    float& largest = d->channel_max[channel];
    largest = std::max(largest, std::fabs(v));
    channel = channel + 1 == channels ? 0 : channel + 1;
    d->finite = d->finite && std::isfinite(v);
    low = std::min(low, v);
    high = std::max(high, v);
  }
  d->min = d->observed ? std::min(d->min, low) : low;
  d->max = d->observed ? std::max(d->max, high) : high;
  d->observed = true;
}

void count(std::span<const float> values, size_t, Distribution* d) {
  if (!d->observed || !d->finite || d->max <= d->min) return;
  d->histogram.resize(kBins);
  const double per_width = 1 / d->bin_width(), min = static_cast<double>(d->min);
  for (const float v : values) {
    const double bin = (static_cast<double>(v) - min) * per_width;
    ++d->histogram[std::min(static_cast<size_t>(std::max(bin, 0.0)), kBins - 1)];
  }
}

}  // namespace

std::vector<TensorId> float_activations(const Graph& graph) {
  std::vector<TensorId> out;
  const auto add = [&](TensorId t) {
    if (!graph.is_constant(t) && graph.at(t).dtype == fbs::DType::Float32) out.push_back(t);
  };
  for (const auto& input : graph.table.inputs) add(input->tensor);
  for (const auto& op : graph.table.operators)
    for (const TensorId t : op->outputs) add(t);
  return out;
}

Distributions observe(Graph& graph, const Samples& samples, int threads, const std::function<void(double)>& progress) {
  const std::vector<TensorId> watched = float_activations(graph);
  Network network(graph, watched, threads);
  Distributions out(graph.table.tensors.size());
  const double total = 2 * static_cast<double>(samples.size());
  double done = 0;
  // The histogram's range must be known before it is filled.
  for (const auto& visit : {widen, count}) {
    for (const Sample* sample : samples) {
      network.run(*sample);
      for (const TensorId t : watched) {
        const Shape& shape = network.shape(t);
        visit(network.values(t), shape.rank > 0 ? static_cast<size_t>(shape[shape.rank - 1]) : 1, &out[t]);
      }
      if (progress) progress(++done / total);
    }
  }
  return out;
}

}  // namespace ferry::int8
