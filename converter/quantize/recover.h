// The integers of a quantised file, from the values that they stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ferry_generated.h"

namespace ferry {

// Values that are exactly scale * integer. The scale is positive; integers are from `low` to `high`, within 128.
struct Recovered {
  double scale = 1;
  int low = 0, high = 0;

  // The scale with the sign for which all integers fit `bits` in two's complement; nothing if neither does.
  std::optional<double> scale_in(unsigned bits) const;
};

// The largest scale that is a value of `scales` (Float16, BFloat16 or Float32); 1 if all values are 0. Passes that move
// rows (merge, split, permute, stack) keep the values, so integers need not be passed through them.
std::optional<Recovered> recover(std::span<const double> values, fbs::DType scales);

}  // namespace ferry
