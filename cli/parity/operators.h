// Judging a run operator by operator, where its distance from the reference says what rounding weights costs and not
// whether the run is right.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// The bound of an operator: its mean squared error over the mean square of what the oracle computes from the inputs
// that it had. Float32's rounding is around 1e-14 there; 1e-9 is a root mean square of 3e-5.
inline constexpr double kOperatorBound = 1e-9;

// `computed`: what the blob's run gave. Runs the blob once more, keeping the result of every operator. The
// squared_error of each row becomes that of the worst operator between the row before it and itself, by the oracle,
// from the blob's own constants and the very inputs that the operator had; rows are in bounds where it is within
// kOperatorBound. The other errors stay: they are against the reference.
void judge_by_operator(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                       const ferry_session_options& session, Comparison* comparison);

}  // namespace ferry::parity
