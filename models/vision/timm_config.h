// timm's config.json, as it lies beside the checkpoints that timm publishes:
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

// The variant with what the config says of this training: tag, classes, input, how images are prepared. Throws Error
// where an entry is not what timm writes.
ImageVariant with_timm_config(ImageVariant variant, const nlohmann::json& config);

// Class names in the order of the logits; empty where the config has none.
std::vector<std::string> timm_labels(const nlohmann::json& config);

}  // namespace ferry
