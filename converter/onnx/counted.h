// Sizes that follow from values: NonZero, NonMaxSuppression, boolean masks.
//
// The graph computes with the maximum of such a size, its bound; elements beyond the count are padding. During import a
// value carries, for each of its dimensions, the count that a run sets. Operators pass counts on; those that combine
// elements along a counted dimension mask the padding. Outputs are cut to their counts after a run (Port.counts).
#pragma once

#include <optional>
#include <vector>

#include "converter/onnx/array.h"

namespace ferry::onnx {

class Op;

struct Counted {
  // Per dimension its size in a run (Int32 [1]), or nothing if the size is known. Empty: all sizes are known.
  std::vector<std::optional<Tensor>> sizes;
  // A constant that follows from counts, such as the shape of a counted value, is its value at the bounds. Then these
  // are its value if all counts are 0, and its value in a run (Int32).
  std::optional<Array> least;
  std::optional<Tensor> in_run;

  bool any() const { return !sizes.empty() || least.has_value(); }
};

// Imports a node with a counted input by its function.
void import_counted(Op& op, void (*function)(Op&));
// The indices that move the elements whose flag (Int32 [n], 0 or 1) is set to the front, in order; and their number.
std::pair<Tensor, Tensor> pick_flagged(Tensor flags);

}  // namespace ferry::onnx
