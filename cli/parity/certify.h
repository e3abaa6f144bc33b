// A certificate: what a fixture holds of every stage of a network, put into the blob, so that `ferry verify` and
// ferry_model_verify() can measure it anywhere.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/parity/fixture.h"

namespace ferry::parity {

inline constexpr size_t kMaxCertificateBytes = 64 << 10;

// The blob with a certificate from `fixture`, in the place of one that it had. Runs the blob on the CPU; throws Error where
// it is out of the fixture's bounds, and where the fixture's input neither follows from its seed nor is small.
std::vector<std::byte> certify(const std::vector<std::byte>& blob, const Fixture& fixture);

}  // namespace ferry::parity
