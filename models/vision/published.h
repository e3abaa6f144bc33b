// Rows for the tables of variants: what timm, torchvision and users of transformers published, in the conventions of
// each.
#pragma once

#include <optional>
#include <string>

#include "models/vision/image_family.h"

namespace ferry {

// What images are normalized to.
enum class Pixels {
  ImageNet,   // ImageNet's mean and deviation
  Inception,  // -1..1
  Clip,       // the mean and deviation of CLIP's images
  Unit,       // 0..1
};

// What a row says besides its name. A family whose rows leave out something else than stands here sets it first.
struct Training {
  std::optional<int> num_classes = {};  // absent: those of the data set that the tag ends in; 0: not a classifier
  int size = 224;
  std::optional<double> crop_pct = {};  // absent: 0.875
  bool squash = false;
  std::optional<fbs::Filter> filter = {};  // absent: Bicubic in timm, Bilinear in torchvision
  std::optional<Pixels> pixels = {};       // absent: ImageNet
  std::string digest = {};                 // Variant::digest
};

// timm's `architecture.tag`. Without a tag it was never published with weights.
ImageVariant timm(const std::string& architecture, const std::string& tag, const Training& training = {});

// A repository `hub` of transformers' ("google/vit-base-patch16-224"). Absent settings are timm's, 1000 classes.
ImageVariant transformers(const std::string& architecture, const std::string& tag, const std::string& hub,
                          const Training& training = {});

// torchvision's weights `tag` ("v1").
ImageVariant torchvision(const std::string& architecture, const std::string& tag, const Training& training = {});

}  // namespace ferry
