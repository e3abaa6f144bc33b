// Calibration samples: what a network is run on to measure ranges and errors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sdk/operators/shape.h"

namespace ferry::int8 {

struct Sample {
  struct Input {
    Shape shape;
    std::vector<std::byte> bytes;  // Float32 or Int32, in the blob's layout
  };

  std::string name;           // of its file
  std::string sha256;         // of the file's bytes, or of its own
  std::vector<Input> inputs;  // one per graph input
};

using Samples = std::vector<const Sample*>;

// Three fifths measure ranges, one fifth chooses between candidates, and one fifth, which no decision has seen, states
// the final error.
struct Split {
  Samples calibrate, tune, held_out;

  size_t count() const { return calibrate.size() + tune.size() + held_out.size(); }
};

inline constexpr size_t kMinSamples = 8;
// More samples change the ranges little and cost memory.
inline constexpr size_t kMaxSamples = 512;

// Splits by the hash of the contents: names and order of the files have no effect. Each content counts once; of more
// than kMaxSamples the first are used. Adds a sentence to `notes` for either. Throws Error for fewer than kMinSamples
// different ones.
Split split(std::span<const Sample> samples, std::vector<std::string>* notes);

}  // namespace ferry::int8
