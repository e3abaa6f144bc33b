// Weights that folding multiplied per output or input channel: finds the factors, which restore them up to the rounding
// of the products.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "converter/export/constants.h"
#include "converter/export/restore.h"

namespace ferry {

struct Multiplied {
  std::vector<fbs::Run> runs;        // exactly one
  std::vector<float> rows, columns;  // as in fbs::Numbers; either may be empty
};

// Finds `wanted`, floats of rows x columns x inner, among the Float32 constants, multiplied per row and column. Tries
// the constant named `name` first. Reads all of `wanted` only if a constant may hold it. Nothing if not found.
std::optional<Multiplied> find_multiplied(const Constants& constants, const std::string& name,
                                          const ElementReader& wanted, size_t rows, size_t columns);

// The differences between `wanted`, elements of `size` bytes in a tensor's order, and `near`, the restored ones in the
// order of the constants, to which `order` leads: as fbs::Numbers has them, deflated.
std::vector<std::byte> deflated_differences(std::span<const std::byte> wanted, const Walk& order, size_t size,
                                            std::vector<std::byte> near);

}  // namespace ferry
