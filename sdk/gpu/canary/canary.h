// Canaries: small problems with known answers, by which a driver proves that it computes a kernel's variant rightly
// before a model relies on it.
#pragma once

#include <string>
#include <vector>

#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

// Bounds on the largest difference from the known answer, as a fraction of the answer's largest magnitude.
inline constexpr float kCanaryBound = 2e-5f, kCanaryFloat16Bound = 4e-3f;

struct Canaries {
  size_t failures = 0;             // variants found wrong
  double milliseconds = 0;         // in all, but for the pipelines that the program needs anyway
  std::vector<std::string> notes;  // a sentence for each variant found wrong, or that could not be tested
};

// Makes all pipelines of the program; then, for every step with a variant on which there is no verdict yet, runs the
// same operators by the same variants on made-up inputs and constants of a small size, all in one submission, and tells
// the device's pipelines the verdicts. After failures the program must be made again. A pipeline that the driver cannot
// make is a wrong one.
// FERRY_GPU_LOST, FERRY_OUT_OF_MEMORY: no verdicts then.
Status run_canaries(const Model& model, const Program& program, Device& device, Canaries* out);

}  // namespace ferry::gpu
