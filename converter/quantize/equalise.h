// Cross-layer equalisation (Nagel et al., arXiv:1906.04721) before depthwise convolutions: channels of one activation
// share a scale, so channels of a small range keep few integers.
#pragma once

#include <memory>

#include "converter/graph/graph.h"
#include "converter/quantize/calibration.h"

namespace ferry::int8 {

// A copy of the graph that computes the same outputs. Where a depthwise convolution is the only reader of a convolution
// or linear layer with ReLU or without an activation, the layer's output channels are divided by factors that multiply
// the depthwise weights, which have a scale per channel anyway. Taps of such values are removed. Null if there is no
// such pair.
std::unique_ptr<Graph> equalised(Graph& graph, const Distributions& distributions);

}  // namespace ferry::int8
