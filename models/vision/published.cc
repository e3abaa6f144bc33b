#include "models/vision/published.h"

namespace ferry {
namespace {

int classes_of(const std::string& tag) {
  if (tag.ends_with("in12k")) return 11821;
  if (tag.ends_with("in21k")) return 21843;
  if (tag.ends_with("in22k")) return 21841;
  return 1000;
}

void normalize(Pixels pixels, ImagePreprocessing* image) {
  switch (pixels) {
    case Pixels::ImageNet: break;  // the default
    case Pixels::Inception: image->mean = image->std = {0.5f, 0.5f, 0.5f}; break;
    case Pixels::Clip:
      image->mean = {0.48145466f, 0.4578275f, 0.40821073f};
      image->std = {0.26862954f, 0.26130258f, 0.27577711f};
      break;
    case Pixels::Unit:
      image->mean = {0, 0, 0};
      image->std = {1, 1, 1};
      break;
  }
}

ImageVariant published(const char* framework, const std::string& architecture, const std::string& tag,
                       const Training& training, fbs::Filter usual_filter) {
  const int classes = training.num_classes.value_or(classes_of(tag));
  ImageVariant variant;
  variant.architecture = architecture;
  variant.tag = tag;
  variant.framework = framework;
  if (!tag.empty()) variant.hub = std::string(framework) + "/" + architecture + "." + tag;
  variant.digest = training.digest;
  variant.num_classes = classes;
  variant.height = variant.width = training.size;
  variant.image.filter = training.filter.value_or(usual_filter);
  variant.image.crop_pct = training.crop_pct.value_or(0.875);
  if (training.squash) variant.image.crop_mode = CropMode::Squash;
  variant.imagenet_labels = classes == 1000;
  normalize(training.pixels.value_or(Pixels::ImageNet), &variant.image);
  return variant;
}

}  // namespace

ImageVariant timm(const std::string& architecture, const std::string& tag, const Training& training) {
  return published("timm", architecture, tag, training, fbs::Filter::Bicubic);
}

ImageVariant transformers(const std::string& architecture, const std::string& tag, const std::string& hub,
                          const Training& training) {
  Training settings = training;
  settings.num_classes = training.num_classes.value_or(1000);
  ImageVariant variant = published("transformers", architecture, tag, settings, fbs::Filter::Bicubic);
  variant.hub = hub;
  return variant;
}

ImageVariant torchvision(const std::string& architecture, const std::string& tag, const Training& training) {
  return published("torchvision", architecture, tag, training, fbs::Filter::Bilinear);
}

}  // namespace ferry
