// timm's config.json, published beside its checkpoints:
//
//     {"architecture": "resnet50", "num_classes": 1000, "label_names": [...], "label_descriptions": {...},
//      "pretrained_cfg": {"tag": "a1_in1k", "input_size": [3, 224, 224], "interpolation": "bicubic", "crop_pct": 0.95,
//                         "mean": [...], "std": [...]}}
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/vision/image_family.h"

namespace ferry {

bool is_timm_config(const nlohmann::json& config);

// The variant with the config's training: tag, classes, input, preprocessing. Throws Error if an entry has an
// unexpected type or value.
ImageVariant with_timm_config(ImageVariant variant, const nlohmann::json& config);

// Class names in the order of the logits; empty if the config has none.
std::vector<std::string> timm_labels(const nlohmann::json& config);

}  // namespace ferry
