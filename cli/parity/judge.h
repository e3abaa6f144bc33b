// Whether a run is right: one rule for each precision of numbers.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// Compares `computed`, of the blob's run on the fixture's inputs in a session of these options (without taps), with the
// fixture. Where all is in Float32, by the bounds of compare.h. Where something is rounded, against the fixture by what
// that costs (rounding.h), and on its own stage by stage (half precision, stages.h) or operator by operator (constants
// in fewer bits, operators.h). Throws Error where the blob cannot be read or run.
Comparison judge(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                 const ferry_session_options& session);

}  // namespace ferry::parity
