// What half precision adds, stage by stage. A network amplifies the rounding of its first layers through all that
// follow, so an error measured at the end says little of where it arose. Here every tensor is computed again on the CPU
// in float32 from the very tensors before it that the session had, and compared.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// Gives each row of `comparison` its squared_error and verdict anew: against a float32 run of the operators between
// that tensor and the nearest ones before it in `computed` (or the fixture's inputs). Threads are those of `session`.
// Throws Error where the blob cannot be read.
void judge_by_stage(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                    const ferry_session_options& session, Comparison* comparison);

}  // namespace ferry::parity
