// Certificates: what a fixture holds of every stage of a network, put into the blob, so that `ferry verify` and
// ferry_model_verify() can measure it anywhere.
#pragma once

#include <cstddef>
#include <filesystem>

#include "cli/parity/fixture.h"
#include "converter/pack/pack.h"

namespace ferry::parity {

// Of all graphs of a blob together.
inline constexpr size_t kMaxCertificateBytes = 64 << 10;

// Certificates from `fixture` for the graphs of the blob that it is about, by graph. Runs them on the CPU; throws Error
// where one is out of the fixture's bounds, and where the fixture's inputs neither follow from its seed nor are small.
Certificates certificates_of(const std::filesystem::path& blob, const Fixture& fixture);

}  // namespace ferry::parity
