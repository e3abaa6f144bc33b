// Certificates: the fixture's values at every stage of a network, stored in the blob. `ferry verify` and
// ferry_model_verify() compare them with a run on any device.
#pragma once

#include <cstddef>
#include <filesystem>

#include "cli/parity/fixture.h"
#include "converter/pack/pack.h"

namespace ferry::parity {

// For all graphs of a blob together.
inline constexpr size_t kMaxCertificateBytes = 64 << 10;

// Builds certificates from `fixture` for the graphs of the blob that it covers, by graph. Runs these on the CPU. Throws
// Error if one is out of the fixture's bounds, or if the fixture's inputs are neither seeded nor small.
Certificates certificates_of(const std::filesystem::path& blob, const Fixture& fixture);

}  // namespace ferry::parity
