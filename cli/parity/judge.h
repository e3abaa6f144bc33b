// Decides whether a run is right, by one rule for each precision.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// Compares `computed` with the fixture. It comes from the blob's run on the fixture's inputs in a session of these
// options (without taps). Float32 runs are judged by the bounds of compare.h. Where something is rounded, the error
// against the fixture may not exceed the cost of rounding (rounding.h); float16 runs are also judged stage by stage
// (stages.h), and constants of fewer bits operator by operator (operators.h). Float32 runs of networks on integers are
// judged operator by operator against the reference (equal_inputs.h). Throws Error if the blob cannot be read or run.
Comparison judge(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                 const ferry_session_options& session);

}  // namespace ferry::parity
