// Measures the error that float16 adds at each stage. A network amplifies the rounding of its first layers in later
// ones, so an error at the end does not show its origin. Every tensor is therefore recomputed on the CPU in float32,
// from the session's own tensors before it, and compared.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"

namespace ferry::parity {

// Replaces the squared_error and verdict of each row of `comparison`. The new error is that against a float32 run of
// the operators between the tensor and the nearest ones before it in `computed` (or the fixture's inputs). Uses the
// threads of `session`. Throws Error if the blob cannot be read.
void judge_by_stage(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                    const ferry_session_options& session, Comparison* comparison);

}  // namespace ferry::parity
