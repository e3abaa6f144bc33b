// transformers' config.json, as it lies beside the checkpoints that save_pretrained writes:
//
//     {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768, "image_size": 224,
//      "layer_norm_eps": 1e-12, "id2label": {"0": "tench", ...}}
//
// Which network it describes, the families say (Family::architecture_of); the rest is here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/vision/picture_family.h"

namespace ferry {

// The variant with what the config says of this training: classes, input, epsilon. Throws Error where an entry is not
// what transformers writes.
PictureVariant with_transformers_config(PictureVariant variant, const nlohmann::json& config);

// How many classes to expect; 0: the model gives features. Absent where the config leaves it to the checkpoint: it says
// nothing of two classes without names.
std::optional<int> transformers_classes(const nlohmann::json& config, const PictureVariant& variant);

// id2label, in the order of the ids; empty where the names are only "LABEL_<id>".
std::vector<std::string> transformers_labels(const nlohmann::json& config);

}  // namespace ferry
