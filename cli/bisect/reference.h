// Compares values with the right ones, which are the reference's or the oracle's.
#pragma once

#include "cli/bisect/piece.h"
#include "cli/parity/compare.h"

namespace ferry::bisect {

// The relative error of `value` against the fixture's entry; infinite if a value is NaN. `channels_first`: the
// fixture's layout is N,C,H,W.
double reference_error(const parity::Entry& entry, const Array& value, bool channels_first);

// The worst element: "[0,27,3,114]: 2.31, expected 2.32", or "the reference has 2.32".
std::string worst_text(const parity::Row& row);
std::string worst_text(const Array& ours, const Array& right, const Difference& difference);

}  // namespace ferry::bisect
