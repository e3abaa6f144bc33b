// The certificate of a quantised network: what the integer reference computes for a generated input. Integers are the
// same on every device, so `ferry verify` expects equality where only they lead to a value.
#pragma once

#include <memory>

#include "converter/graph/graph.h"

namespace ferry::int8 {

// Stages are the taps and outputs in the order of the network: with the hash of all values where no Float32 operator
// comes before, with a bound of 1e-4 behind Float32 operators. A value of integers that follow a Float32 operator may
// differ by a step between devices and is no stage. Null if no stage is left, an input is neither an image nor small,
// or the network has more multiplications than the reference computes in a minute.
std::unique_ptr<fbs::CertificateT> certificate_of(const Graph& graph);

}  // namespace ferry::int8
