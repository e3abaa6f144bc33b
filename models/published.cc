#include "models/published.h"

namespace ferry {
namespace {

int classes_of(const std::string& tag) {
  if (tag.ends_with("in12k")) return 11821;
  if (tag.ends_with("in21k")) return 21843;
  if (tag.ends_with("in22k")) return 21841;
  return 1000;
}

void normalize(Pixels pixels, PictureRecipe* picture) {
  switch (pixels) {
    case Pixels::ImageNet: break;  // a recipe's defaults
    case Pixels::Inception: picture->mean = picture->std = {0.5f, 0.5f, 0.5f}; break;
    case Pixels::Clip:
      picture->mean = {0.48145466f, 0.4578275f, 0.40821073f};
      picture->std = {0.26862954f, 0.26130258f, 0.27577711f};
      break;
    case Pixels::Unit:
      picture->mean = {0, 0, 0};
      picture->std = {1, 1, 1};
      break;
  }
}

Variant published(const char* framework, const std::string& architecture, const std::string& tag,
                  const Training& training, fbs::Filter usual_filter) {
  const int classes = training.num_classes.value_or(classes_of(tag));
  Variant variant = {.architecture = architecture,
                     .tag = tag,
                     .framework = framework,
                     .hub = tag.empty() ? "" : std::string(framework) + "/" + architecture + "." + tag,
                     .num_classes = classes,
                     .height = training.size,
                     .width = training.size,
                     .picture = {.filter = training.filter.value_or(usual_filter),
                                 .crop_pct = training.crop_pct.value_or(0.875),
                                 .crop_mode = training.squash ? CropMode::Squash : CropMode::Center},
                     .imagenet_labels = classes == 1000};
  normalize(training.pixels.value_or(Pixels::ImageNet), &variant.picture);
  return variant;
}

}  // namespace

Variant timm(const std::string& architecture, const std::string& tag, const Training& training) {
  return published("timm", architecture, tag, training, fbs::Filter::Bicubic);
}

Variant transformers(const std::string& architecture, const std::string& tag, const std::string& hub,
                     const Training& training) {
  Training settings = training;
  settings.num_classes = training.num_classes.value_or(1000);
  Variant variant = published("transformers", architecture, tag, settings, fbs::Filter::Bicubic);
  variant.hub = hub;
  return variant;
}

Variant torchvision(const std::string& architecture, const std::string& tag, const Training& training) {
  return published("torchvision", architecture, tag, training, fbs::Filter::Bilinear);
}

}  // namespace ferry
