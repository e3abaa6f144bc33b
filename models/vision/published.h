// Rows of the variant tables: what timm, torchvision and transformers' users published, in the conventions of each.
#pragma once

#include <optional>
#include <string>

#include "models/vision/image_family.h"

namespace ferry {

// Normalization of images.
enum class Pixels {
  ImageNet,   // ImageNet's mean and standard deviation
  Inception,  // -1..1
  Clip,       // CLIP's mean and standard deviation
  Unit,       // 0..1
};

// Settings of a row besides its name. A family with other defaults sets them first.
struct Training {
  std::optional<int> num_classes = {};  // absent: those of the dataset at the end of the tag; 0: not a classifier
  int size = 224;
  std::optional<double> crop_pct = {};  // absent: 0.875
  bool squash = false;
  std::optional<fbs::Filter> filter = {};  // absent: Bicubic in timm, Bilinear in torchvision
  std::optional<Pixels> pixels = {};       // absent: ImageNet
  std::string digest = {};                 // Variant::digest
};

// timm's `architecture.tag`. Without a tag, timm publishes no weights.
ImageVariant timm(const std::string& architecture, const std::string& tag, const Training& training = {});

// The transformers repository `hub` ("google/vit-base-patch16-224"). Absent settings are timm's, with 1000 classes.
ImageVariant transformers(const std::string& architecture, const std::string& tag, const std::string& hub,
                          const Training& training = {});

// torchvision's weights `tag` ("v1").
ImageVariant torchvision(const std::string& architecture, const std::string& tag, const Training& training = {});

}  // namespace ferry
