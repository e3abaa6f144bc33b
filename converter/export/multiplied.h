// Weights that folding multiplied per output or input channel: finds the factors, which restore them up to the rounding
// of the products.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "converter/export/constants.h"

namespace ferry {

struct Multiplied {
  std::vector<fbs::Run> runs;        // exactly one
  std::vector<float> rows, columns;  // as in fbs::Numbers; either may be empty
};

// Finds `weights` among the Float32 constants, multiplied per row and column; `weights` is rows x columns x inner.
// Tries the constant named `name` first. Nothing if not found.
std::optional<Multiplied> find_multiplied(const Constants& constants, const std::string& name,
                                          std::span<const float> weights, size_t rows, size_t columns);

}  // namespace ferry
