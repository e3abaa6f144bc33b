// Identifies the network of a checkpoint.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "converter/checkpoint/keys.h"
#include "converter/family.h"
#include "converter/settings.h"

namespace ferry {

struct Identified {
  const Family* family = nullptr;
  const Variant* variant = nullptr;
  const Naming* naming = nullptr;
  KeyPrefix prefix = {};  // how the checkpoint's keys differ from the naming's
  // A sentence if the variant is a guess: other variants have the same tensors, but other preprocessing. Else empty.
  std::string assumed = {};
};

// By name, which is one of
//   - a variant, "resnet50.a1_in1k";
//   - an architecture, "resnet50": its first variant in the framework whose keys the checkpoint has;
//   - one of these after a framework, "timm/resnet50.a1_in1k", "torchvision/resnet50";
//   - "transformers/" and the model type of the checkpoint's config.json, "transformers/vit".
// Throws Error if there is no such model, or the checkpoint has other keys than the family. The family's keys may have
// lost a prefix, or have got another one (converter/checkpoint/keys.h).
Identified identify(Families families, const Checkpoint& checkpoint, const std::string& model);

// Without a name: by the checkpoint's config.json (of timm or transformers), else by comparing keys and shapes with
// every known network. A file name like "resnet18-f37072fd.pth" selects torchvision's variant. Throws Error, with the
// candidates, unless exactly one network matches.
Identified identify(Families families, const std::shared_ptr<const Checkpoint>& checkpoint);

// The checkpoint with the keys of the network's naming. Throws Error if it has several copies and none is chosen.
std::shared_ptr<const Checkpoint> with_keys_of(const Identified& network, std::shared_ptr<const Checkpoint> checkpoint);

// The settings "ignore-keys" and "rename-keys".
KeyRules key_rules(const Settings& settings);

// A checkpoint, dequantised, with the keys of its network.
struct OpenedNetwork {
  std::shared_ptr<const Checkpoint> checkpoint;
  Identified network;
};
// By the settings "model", "state-dict", "ignore-keys" and "rename-keys". Throws Error.
OpenedNetwork open_network(Families families, const std::filesystem::path& path, const Settings& settings);

// A file name like "resnet50-11ad3fa6.pth" has the first digits of the file's SHA-256. Returns a sentence if the actual
// digits differ; else empty.
std::string digest_mismatch(const Checkpoint& checkpoint);

}  // namespace ferry
