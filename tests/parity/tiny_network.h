// The network of tests/parity/tiny, built by hand for builds without a converter.
#pragma once

#include <filesystem>
#include <memory>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph/graph.h"

namespace ferry::parity {

// Mistakes that a converter could make.
enum class TinyFault {
  None,
  WrongEpsilon,   // 1e-5 instead of 1e-3, in both norms
  FlippedKernel,  // the depthwise kernel rotated by 180 degrees
  PaddingSide,    // the stem padded below and to the right only
  DroppedShift,   // block.0's norm without its bias
  WrongWeight,    // one weight of the head off by 4e-4: the logits then differ by less than 1e-3
  NoFeatures,     // the tap "features" is missing
  NotFinite,      // an infinity in the head's bias, which affects one logit
};

// Builds the network from a checkpoint made by tests/parity/tiny/manifest.json.
std::unique_ptr<Graph> tiny_network(const Checkpoint& checkpoint, TinyFault fault = TinyFault::None);

// The folder tests/parity/tiny.
std::filesystem::path tiny_fixture();
// Writes the network as a blob to `folder` and returns its path.
std::filesystem::path write_tiny_blob(const std::filesystem::path& folder, TinyFault fault = TinyFault::None);

}  // namespace ferry::parity
