// Checkpoints from the Hugging Face hub, by way of the cache that Python's packages use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "converter/hub/settings.h"

namespace ferry {

// `file` of a repository, `done` of `total` bytes here.
using HubProgress = std::function<void(const std::string& file, uint64_t done, uint64_t total)>;

struct HubFile {
  std::filesystem::path path;  // in the cache, with the files of its repository that a conversion reads beside it
  std::string source;          // "hf:timm/resnet50.a1_in1k@COMMIT/model.safetensors"
};

// The repository's checkpoint (see choose_checkpoint), its shards, config.json and the like: taken from the cache where
// they are, else downloaded, resuming what was begun, and checked. Without a network, or with HF_HUB_OFFLINE, what the
// cache has of the revision is given. Throws Error.
HubFile fetch_from_hub(const HubReference& reference, const HubSettings& settings, const HubProgress& progress = {});

}  // namespace ferry
