// Checkpoints of the Hugging Face hub, through the cache of the Python packages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "converter/hub/settings.h"

namespace ferry {

// Progress of `file`: `done` of `total` bytes.
using HubProgress = std::function<void(const std::string& file, uint64_t done, uint64_t total)>;

struct HubFile {
  std::filesystem::path path;           // in the cache, beside the files of its repository that a conversion reads
  std::string source;                   // "hf:timm/resnet50.a1_in1k@COMMIT/model.safetensors"
  std::vector<std::string> notes = {};  // which of several checkpoints was chosen
};

// Returns the repository's checkpoint (see choose_checkpoint) with its shards, config.json etc.: from the cache, or
// downloaded with resume and checked. Without a network, or with HF_HUB_OFFLINE, returns the cached state of the
// revision. Throws Error.
HubFile fetch_from_hub(const HubReference& reference, const HubSettings& settings, const HubProgress& progress = {});

}  // namespace ferry
