// Weights that folding has multiplied, by channel of the output or of the input: numbers that give them back, but for
// how the products were rounded.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "converter/export/constants.h"

namespace ferry {

struct Multiplied {
  std::vector<fbs::Run> runs;        // one
  std::vector<float> rows, columns;  // as fbs::Numbers has them; either may be empty
};

// Where `weights` lie among the constants of Float32, multiplied: as `rows` by `columns` and what is between. The
// constant of that name comes first. Absent: nowhere.
std::optional<Multiplied> find_multiplied(const Constants& constants, const std::string& name,
                                          std::span<const float> weights, size_t rows, size_t columns);

}  // namespace ferry
