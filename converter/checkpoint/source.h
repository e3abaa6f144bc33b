// Checkpoints as a source of the converter: a family builds the network, a checkpoint has its weights.
#pragma once

#include <filesystem>
#include <memory>

#include "converter/identify.h"
#include "converter/source.h"

namespace ferry {

// A checkpoint, dequantised, with the keys of its network.
struct OpenedNetwork {
  std::shared_ptr<const Checkpoint> checkpoint;
  Identified network;
};
// By the settings "model", "state-dict", "ignore-keys" and "rename-keys". Throws Error.
OpenedNetwork open_network(Families families, const std::filesystem::path& path, const Settings& settings);

Source checkpoint_source();

}  // namespace ferry
