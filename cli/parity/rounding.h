// Measures how far rounding alone may move a run from the reference. It applies if constants or activations have fewer
// bits than the reference's float32.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// The bound against the reference, as a multiple of the cost of rounding, both as mean squared errors. The cost is an
// estimate. For many values the two differ by up to a factor of 1.5; for n values, a mean of squares scatters by 1 + 8
// / n and more.
inline constexpr double kRoundingFactor = 4;
double rounding_factor(size_t values);  // kRoundingFactor * (1 + 8 / values)

// True if some of the blob's constants are stored in fewer bits than float32: as float16, or as integers with scales.
bool has_rounded_constants(const std::filesystem::path& blob);

// Fails the rows of `comparison` whose squared_error against the reference exceeds rounding_factor() times the cost of
// rounding (1e-9 is always allowed). To measure the cost, the blob runs again on the CPU in float32. Noise, uniform
// within half a rounding step up or down, is added to each rounded constant, and `computed` is compared with that run.
// So a blob with another checkpoint's weights is out of bounds, even if each of its operators is right. Uses the
// threads of `session`. Throws Error if the blob cannot be read or run.
void bound_by_rounding(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                       const ferry_session_options& session, Comparison* comparison);

}  // namespace ferry::parity
