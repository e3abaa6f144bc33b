// Judges a run operator by operator. If weights are rounded, the distance from the reference measures the cost of
// rounding, not whether the run is right.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// The bound of an operator: its mean squared error over the mean square of the oracle's result for the same inputs.
// Float32 rounding causes about 1e-14; 1e-9 is a root mean square of 3e-5.
inline constexpr double kOperatorBound = 1e-9;

// `computed`: the values of the blob's run. Runs the blob again and keeps the result of every operator. The
// squared_error of each row becomes that of the worst operator after the previous row, compared with the oracle on the
// blob's own constants and the operator's actual inputs. Rows are in bounds up to kOperatorBound. The other errors
// remain those against the reference.
void judge_by_operator(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                       const ferry_session_options& session, Comparison* comparison);

}  // namespace ferry::parity
