// Values against those that are right: the reference's, or the oracle's.
#pragma once

#include "cli/bisect/piece.h"
#include "cli/parity/compare.h"

namespace ferry::bisect {

// The relative error of a value that is to be the fixture's; infinite where it is not a number. `channels_first`: the
// fixture's layout is N,C,H,W.
double reference_error(const parity::Entry& entry, const Array& value, bool channels_first);

// The worst element: "[0,27,3,114]: 2.31 where 2.32 is right", or where the reference has another.
std::string worst_text(const parity::Row& row);
std::string worst_text(const Array& ours, const Array& right, const Difference& difference);

}  // namespace ferry::bisect
