// The distribution of every activation of a network over the calibration samples.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/quantize/sample.h"
#include "sdk/model/per_tensor.h"

namespace ferry::int8 {

inline constexpr size_t kBins = 2048;

// Of one activation. Memory does not depend on the number of samples.
struct Distribution {
  bool observed = false;  // a Float32 activation
  bool finite = true;     // no value was infinite or NaN
  float min = 0, max = 0;
  std::vector<float> channel_max;   // absolute maximum by index of the last dimension
  std::vector<uint64_t> histogram;  // kBins of equal width from min to max

  double bin_width() const { return (static_cast<double>(max) - static_cast<double>(min)) / kBins; }
};

using Distributions = PerTensor<Distribution>;

// `progress`: called with the done fraction. Throws Error like Network.
Distributions observe(Graph& graph, const Samples& samples, int threads, const std::function<void(double)>& progress);

// The activations that operators of the graph compute or read: inputs included, constants not.
std::vector<TensorId> float_activations(const Graph& graph);

}  // namespace ferry::int8
