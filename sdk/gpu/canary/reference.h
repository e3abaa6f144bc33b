// What operators compute, by plain loops: the answers that canaries know. Slow, meant for tensors of a few thousand
// elements.
#pragma once

#include <span>
#include <vector>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"

namespace ferry::gpu {

// A tensor, row-major, rows without padding.
struct Array {
  Shape shape;
  std::vector<float> values;
};

// A number in the place of an output's: what a state of fixed size holds after the run.
inline constexpr unsigned kStateAfter = 1;

// The operator's output `number`, which has the shape `output`. Sums are in double precision. Of operators that change
// a state of fixed size the last input is what it holds before the run.
Array compute_plainly(const fbs::Operator& op, std::span<const Array* const> inputs, const Shape& output,
                      unsigned number = 0);

}  // namespace ferry::gpu
