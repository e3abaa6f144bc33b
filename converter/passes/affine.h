// Scale and shift of each channel, as passes find it in arithmetic with constants: BatchNorm, LayerScale, biases.
#pragma once

#include <optional>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

// y = x * scale + shift for each channel of the last dimension.
struct Affine {
  std::vector<double> scale, shift;

  static Affine identity(int channels);
  // `later` of what this gives.
  Affine then(const Affine& later) const;
};

// `op`, a Binary, as an affine map of its input number `variable`; nothing where it is none or changes the shape. Its
// clamp is not looked at.
std::optional<Affine> as_affine(const Graph& graph, const fbs::OperatorT& op, size_t variable);

// Does a clamp to low..high change anything?
bool clamps(float low, float high);

}  // namespace ferry
