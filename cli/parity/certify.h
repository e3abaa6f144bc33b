// A certificate: what a fixture holds of every stage of a network, put into the blob, so that `ferry verify` and
// ferry_model_verify() can measure it anywhere.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "cli/parity/fixture.h"
#include "ferry_generated.h"

namespace ferry::parity {

inline constexpr size_t kMaxCertificateBytes = 64 << 10;

// A certificate from `fixture` for the blob. Runs it on the CPU; throws Error where it is out of the fixture's bounds,
// and where the fixture's input neither follows from its seed nor is small.
std::unique_ptr<fbs::CertificateT> certificate_of(const std::filesystem::path& blob, const Fixture& fixture);

}  // namespace ferry::parity
