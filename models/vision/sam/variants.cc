#include <string>

#include "converter/error.h"
#include "models/vision/sam/parts.h"

namespace ferry::sam {
namespace {

constexpr Published kPublished[] = {
    {"sam_vit_b", "facebook/sam-vit-base", 768, 12},
    {"sam_vit_l", "facebook/sam-vit-large", 1024, 24},
    {"sam_vit_h", "facebook/sam-vit-huge", 1280, 32},
};

// The longer side is resized to 1024 pixels, normalized by ImageNet's mean and deviation, and padded with zeros to a
// square: segment-anything's ResizeLongestSide and Sam.preprocess, and transformers' SamImageProcessor.
ImageVariant variant(const char* architecture, const char* framework, const char* hub = "") {
  ImageVariant row;
  row.architecture = architecture;
  row.framework = framework;
  row.hub = hub;
  row.num_classes = 0;
  row.height = row.width = 1024;
  row.image.filter = fbs::Filter::Bilinear;
  row.image.crop_pct = 1;
  row.image.crop_mode = CropMode::Corner;
  row.imagenet_labels = false;
  return row;
}

}  // namespace

std::span<const Published> published() { return kPublished; }

void check_architecture(const std::string& architecture, const Config& config) {
  for (const Published& known : kPublished) {
    const bool same = config.width == known.width && config.depth == known.depth;
    if (architecture == known.architecture && !same)
      fail("%s has %d blocks of %d channels, the checkpoint %d of %d: --model %s takes any", known.architecture,
           known.depth, known.width, config.depth, config.width, kAnyViT);
    if (architecture == kAnyViT && same) fail("the checkpoint is a %s", known.architecture);
  }
}

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> rows = {variant("mobile_sam", "mobilesam")};
    for (const Published& known : kPublished) rows.push_back(variant(known.architecture, "facebookresearch"));
    rows.push_back(variant(kAnyViT, "facebookresearch"));
    for (const Published& known : kPublished) rows.push_back(variant(known.architecture, "transformers", known.hub));
    return rows;
  }();
  return all;
}

}  // namespace ferry::sam
