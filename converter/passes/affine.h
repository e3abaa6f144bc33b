// Per-channel scale and shift, found in arithmetic with constants: BatchNorm, LayerScale, biases.
#pragma once

#include <optional>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

// y = x * scale + shift per channel of the last dimension.
struct Affine {
  std::vector<double> scale, shift;

  static Affine identity(int channels);
  // This, followed by `later`.
  Affine then(const Affine& later) const;
};

// `op`, a Binary, as an affine function of its input `variable`; nothing if it is not affine or changes the shape.
// Ignores its clamp.
std::optional<Affine> as_affine(const Graph& graph, const fbs::OperatorT& op, size_t variable);

// Whether a clamp to low..high has an effect.
bool clamps(float low, float high);

}  // namespace ferry
