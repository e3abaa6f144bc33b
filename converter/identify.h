// Which network a checkpoint holds.
#pragma once

#include <memory>
#include <string>

#include "converter/family.h"

namespace ferry {

struct Identified {
  const Family* family = nullptr;
  const Variant* variant = nullptr;
  const Naming* naming = nullptr;
  // Which training the network was taken for, where nothing says it and others have the same tensors but prepare
  // images otherwise: a sentence; else empty.
  std::string assumed = {};
};

// By name: a variant ("resnet50.a1_in1k"), an architecture ("resnet50": the first variant of the framework whose names
// the checkpoint bears), or either with its place in front ("timm/resnet50.a1_in1k", "torchvision/resnet50"). Networks
// that nobody published are called by the model type of the config.json beside the checkpoint ("transformers/vit").
// Throws Error where no variant is so called, or the checkpoint bears none of the family's names.
Identified identify(Families families, const Checkpoint& checkpoint, const std::string& model);

// Without a name: by the config.json beside the checkpoint, timm's or transformers', else by trying which network's
// keys and shapes are those of the file; a file that is called as torchvision's are, "resnet18-f37072fd.pth", is
// torchvision's. Throws Error, listing candidates, where that leaves none or several.
Identified identify(Families families, const std::shared_ptr<const Checkpoint>& checkpoint);

// "resnet50-11ad3fa6.pth" is called by the first digits of its SHA-256: where its bytes have another one, a sentence
// that says so; else empty.
std::string doubt_of_name(const Checkpoint& checkpoint);

}  // namespace ferry
