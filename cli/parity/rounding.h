// How far rounding alone may take a run from the reference, where constants or activations have fewer bits than the
// reference's Float32.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// The bound against the reference, as a multiple of what rounding costs, both as mean squared errors. The cost is an
// estimate: over many values the two are within a half of each other; over n, a mean of squares scatters by 1 + 8 / n
// and more.
inline constexpr double kRoundingFactor = 4;
double rounding_factor(size_t values);  // kRoundingFactor * (1 + 8 / values)

// Are some of the blob's constants stored in fewer bits than Float32 has: Float16, or integers with scales?
bool has_rounded_constants(const std::filesystem::path& blob);

// Refuses the rows of `comparison` whose squared_error, against the reference, is more than rounding_factor() times
// what rounding costs there (but 1e-9 is always allowed). The cost is measured: the blob runs again on the CPU in
// Float32 with each rounded constant moved by noise as large as its rounding was, uniform in half a step up or down,
// and `computed` is compared with that. So a blob of another checkpoint's weights is out of bounds though each operator
// of it computes what it should. Threads are those of `session`. Throws Error where the blob cannot be read or run.
void bound_by_rounding(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                       const ferry_session_options& session, Comparison* comparison);

}  // namespace ferry::parity
