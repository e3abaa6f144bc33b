#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/published.h"
#include "models/vision/transformers_config.h"
#include "models/vision/vit/vit.h"

namespace ferry::vit {
namespace {

using enum Pixels;

// Most trainings normalize images to -1..1.
ImageVariant timm(const char* architecture, const char* tag, Training training = {}) {
  training.crop_pct = training.crop_pct.value_or(0.9);
  training.pixels = training.pixels.value_or(Inception);
  ImageVariant variant = ferry::timm(architecture, tag, training);
  // The hub has the checkpoint under the name of the network with the other activation.
  constexpr std::string_view kQuick = "quickgelu_";
  if (const size_t at = variant.hub.find(kQuick); at != std::string::npos) variant.hub.erase(at, kQuick.size());
  return variant;
}

// transformers' ViT, the only one with this epsilon.
ImageVariant transformers(const char* architecture, const char* tag, const char* hub, const Training& training) {
  ImageVariant variant = ferry::transformers(architecture, tag, hub, training);
  variant.layer_norm_eps = 1e-12;
  return variant;
}

// Google's, and conversions of timm's weights of the same training; images are normalized to -1..1.
ImageVariant google(const char* architecture, const char* hub, int size = 224, const char* tag = "") {
  return transformers(architecture, tag, hub,
                      {.num_classes = *tag == '\0' ? 1000 : 0,
                       .size = size,
                       .crop_pct = 1.0,
                       .squash = true,
                       .filter = fbs::Filter::Bilinear,
                       .pixels = Inception});
}

ImageVariant dino(const char* architecture, const char* hub) {
  return transformers(
      architecture, "dino", hub,
      {.num_classes = 0, .crop_pct = 1.0, .squash = true, .filter = fbs::Filter::Bilinear, .pixels = ImageNet});
}

// DINOv2 of transformers and of its authors: the position table is for 518 pixels, but preprocessor_config.json of the
// facebook/dinov2-* repositories crops images to 224.
std::vector<ImageVariant> own_dinov2(const std::string& architecture, const std::string& hub) {
  const ImageVariant own = ferry::transformers(architecture, "", "facebook/" + hub, {.num_classes = 0, .size = 518});
  ImageVariant classifier = own, authors = own;
  classifier.tag = "imagenet1k_1_layer";
  classifier.hub += "-imagenet1k-1-layer";
  classifier.num_classes = 1000;
  classifier.imagenet_labels = true;
  authors.framework = "facebookresearch";
  authors.hub.clear();
  return {own, classifier, authors};
}

std::vector<ImageVariant> timm_variants();

std::vector<ImageVariant> make_variants() {
  std::vector<ImageVariant> all = timm_variants();
  for (const std::string size : {"small", "base", "large", "giant"}) {
    for (const auto& [architecture, hub] :
         {std::pair{"dinov2_" + size, "dinov2-" + size},
          std::pair{"dinov2_with_registers_" + size, "dinov2-with-registers-" + size}})
      for (ImageVariant& variant : own_dinov2(architecture, hub)) all.push_back(std::move(variant));
  }
  const ImageVariant rest[] = {
      google("vit_tiny_patch16_224", "WinKawaks/vit-tiny-patch16-224"),
      google("vit_small_patch16_224", "WinKawaks/vit-small-patch16-224"),
      google("vit_base_patch16_224", "google/vit-base-patch16-224"),
      google("vit_base_patch16_384", "google/vit-base-patch16-384", 384),
      google("vit_base_patch32_384", "google/vit-base-patch32-384", 384),
      google("vit_large_patch16_224", "google/vit-large-patch16-224"),
      google("vit_large_patch16_384", "google/vit-large-patch16-384", 384),
      google("vit_large_patch32_384", "google/vit-large-patch32-384", 384),
      google("vit_base_patch16_224", "google/vit-base-patch16-224-in21k", 224, "in21k"),
      google("vit_base_patch32_224", "google/vit-base-patch32-224-in21k", 224, "in21k"),
      google("vit_large_patch16_224", "google/vit-large-patch16-224-in21k", 224, "in21k"),
      google("vit_large_patch32_224", "google/vit-large-patch32-224-in21k", 224, "in21k"),
      google("vit_huge_patch14_224", "google/vit-huge-patch14-224-in21k", 224, "in21k"),
      dino("vit_small_patch16_224", "facebook/dino-vits16"),
      dino("vit_small_patch8_224", "facebook/dino-vits8"),
      dino("vit_base_patch16_224", "facebook/dino-vitb16"),
      dino("vit_base_patch8_224", "facebook/dino-vitb8"),
      transformers("vit_tiny_patch16_224", "deit", "facebook/deit-tiny-patch16-224", {.pixels = ImageNet}),
      transformers("vit_small_patch16_224", "deit", "facebook/deit-small-patch16-224", {.pixels = ImageNet}),
      transformers("vit_base_patch16_224", "deit", "facebook/deit-base-patch16-224", {.pixels = ImageNet}),
  };
  all.insert(all.end(), std::begin(rest), std::end(rest));
  return all;
}

// Settings of timm's pretrained configurations.
std::vector<ImageVariant> timm_variants() {
  return {
      timm("vit_tiny_patch16_224", "augreg_in21k_ft_in1k"),
      timm("vit_tiny_patch16_224", "augreg_in21k"),
      timm("vit_tiny_patch16_384", "augreg_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_small_patch32_224", "augreg_in21k_ft_in1k"),
      timm("vit_small_patch32_224", "augreg_in21k"),
      timm("vit_small_patch32_384", "augreg_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_small_patch16_224", "augreg_in21k_ft_in1k"),
      timm("vit_small_patch16_224", "augreg_in1k"),
      timm("vit_small_patch16_224", "augreg_in21k"),
      timm("vit_small_patch16_224", "dino", {.num_classes = 0, .pixels = ImageNet}),
      timm("vit_small_patch16_384", "augreg_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_small_patch16_384", "augreg_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_small_patch8_224", "dino", {.num_classes = 0, .pixels = ImageNet}),
      timm("vit_base_patch32_224", "augreg_in21k_ft_in1k"),
      timm("vit_base_patch32_224", "augreg_in1k"),
      timm("vit_base_patch32_224", "orig_in21k", {.num_classes = 0}),
      timm("vit_base_patch32_224", "augreg_in21k"),
      timm("vit_base_patch32_224", "sam_in1k"),
      timm("vit_base_patch32_384", "augreg_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_base_patch32_384", "augreg_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_base_patch16_224", "augreg2_in21k_ft_in1k"),
      timm("vit_base_patch16_224", "augreg_in21k_ft_in1k"),
      timm("vit_base_patch16_224", "orig_in21k_ft_in1k"),
      timm("vit_base_patch16_224", "augreg_in1k"),
      timm("vit_base_patch16_224", "orig_in21k", {.num_classes = 0}),
      timm("vit_base_patch16_224", "augreg_in21k"),
      timm("vit_base_patch16_224", "sam_in1k"),
      timm("vit_base_patch16_224", "dino", {.num_classes = 0, .pixels = ImageNet}),
      timm("vit_base_patch16_224", "mae", {.num_classes = 0, .pixels = ImageNet}),
      timm("vit_base_patch16_384", "augreg_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_base_patch16_384", "orig_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_base_patch16_384", "augreg_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_base_patch8_224", "augreg2_in21k_ft_in1k"),
      timm("vit_base_patch8_224", "augreg_in21k_ft_in1k"),
      timm("vit_base_patch8_224", "augreg_in21k"),
      timm("vit_base_patch8_224", "dino", {.num_classes = 0, .pixels = ImageNet}),
      timm("vit_large_patch32_224", "orig_in21k", {.num_classes = 0}),
      timm("vit_large_patch32_384", "orig_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_large_patch16_224", "augreg_in21k_ft_in1k"),
      timm("vit_large_patch16_224", "orig_in21k", {.num_classes = 0}),
      timm("vit_large_patch16_224", "augreg_in21k"),
      timm("vit_large_patch16_224", "mae", {.num_classes = 0, .pixels = ImageNet}),
      timm("vit_large_patch16_384", "augreg_in21k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_large_patch14_224", ""),
      timm("vit_huge_patch14_224", ""),
      timm("vit_huge_patch14_224", "orig_in21k", {.num_classes = 0}),
      timm("vit_huge_patch14_224", "mae", {.num_classes = 0, .pixels = ImageNet}),
      timm("vit_medium_patch16_gap_240", "sw_in12k", {.size = 240, .crop_pct = 0.95}),
      timm("vit_medium_patch16_gap_256", "sw_in12k_ft_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_medium_patch16_gap_384", "sw_in12k_ft_in1k", {.size = 384, .crop_pct = 0.95, .squash = true}),
      timm("vit_betwixt_patch16_gap_256", "", {.size = 256, .crop_pct = 0.95}),
      timm("vit_base_patch16_gap_224", ""),
      timm("vit_base_patch32_clip_224", "laion2b_ft_in12k_in1k", {.pixels = Clip}),
      timm("vit_base_patch32_clip_224", "openai_ft_in12k_in1k", {.pixels = Clip}),
      timm("vit_base_patch32_clip_224", "laion2b_ft_in1k", {.pixels = Clip}),
      timm("vit_base_patch32_clip_224", "openai_ft_in1k", {.pixels = Clip}),
      timm("vit_base_patch32_clip_224", "laion2b", {.num_classes = 512, .pixels = Clip}),
      timm("vit_base_patch32_clip_224", "laion400m_e32", {.num_classes = 512, .pixels = Clip}),
      timm("vit_base_patch32_clip_224", "datacompxl", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch32_clip_224", "metaclip_2pt5b", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch32_clip_224", "metaclip_400m", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch32_clip_224", "openai", {.num_classes = 512, .pixels = Clip}),
      timm("vit_base_patch32_clip_256", "datacompxl",
           {.num_classes = 512, .size = 256, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch32_clip_384", "laion2b_ft_in12k_in1k", {.size = 384, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch32_clip_384", "openai_ft_in12k_in1k",
           {.size = 384, .crop_pct = 0.95, .squash = true, .pixels = Clip}),
      timm("vit_base_patch32_clip_448", "laion2b_ft_in12k_in1k", {.size = 448, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "laion2b_ft_in12k_in1k", {.crop_pct = 0.95, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "openai_ft_in12k_in1k", {.crop_pct = 0.95, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "laion2b_ft_in1k", {.crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "openai_ft_in1k", {.pixels = Clip}),
      timm("vit_base_patch16_clip_224", "laion2b_ft_in12k", {.pixels = Clip}),
      timm("vit_base_patch16_clip_224", "openai_ft_in12k", {.pixels = Clip}),
      timm("vit_base_patch16_clip_224", "laion2b", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "laion400m_e32", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "datacompxl", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "dfn2b", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "metaclip_2pt5b", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "metaclip_400m", {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_224", "openai", {.num_classes = 512, .pixels = Clip}),
      timm("vit_base_patch16_clip_384", "laion2b_ft_in12k_in1k",
           {.size = 384, .crop_pct = 1.0, .squash = true, .pixels = Clip}),
      timm("vit_base_patch16_clip_384", "openai_ft_in12k_in1k",
           {.size = 384, .crop_pct = 0.95, .squash = true, .pixels = Clip}),
      timm("vit_base_patch16_clip_384", "laion2b_ft_in1k",
           {.size = 384, .crop_pct = 1.0, .squash = true, .pixels = Clip}),
      timm("vit_base_patch16_clip_384", "openai_ft_in1k",
           {.size = 384, .crop_pct = 1.0, .squash = true, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "laion2b_ft_in12k_in1k", {.crop_pct = 1.0}),
      timm("vit_large_patch14_clip_224", "openai_ft_in12k_in1k", {.crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "laion2b_ft_in1k", {.crop_pct = 1.0}),
      timm("vit_large_patch14_clip_224", "openai_ft_in1k", {.crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "laion2b_ft_in12k", {.crop_pct = 1.0}),
      timm("vit_large_patch14_clip_224", "openai_ft_in12k", {.crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "laion2b", {.num_classes = 768, .crop_pct = 1.0}),
      timm("vit_large_patch14_clip_224", "laion400m_e32", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "datacompxl", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "dfn2b_s39b", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "dfn2b", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "metaclip_2pt5b", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "metaclip_400m", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "openai", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_224", "apple_mclip2_dfndr2b", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_336", "laion2b_ft_in12k_in1k", {.size = 336, .crop_pct = 1.0, .squash = true}),
      timm("vit_large_patch14_clip_336", "openai_ft_in12k_in1k",
           {.size = 336, .crop_pct = 1.0, .squash = true, .pixels = Clip}),
      timm("vit_large_patch14_clip_336", "laion2b_ft_in1k", {.size = 336, .crop_pct = 1.0, .squash = true}),
      timm("vit_large_patch14_clip_336", "openai", {.num_classes = 768, .size = 336, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "laion2b_ft_in12k_in1k", {.crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "laion2b_ft_in1k", {.crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "laion2b_ft_in12k", {.crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "laion2b", {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "dfn5b", {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "metaclip2_worldwide", {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "metaclip_2pt5b", {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_224", "metaclip_altogether", {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_336", "laion2b_ft_in12k_in1k",
           {.size = 336, .crop_pct = 1.0, .squash = true, .pixels = Clip}),
      timm("vit_huge_patch14_clip_336", "laion2b_ft_in1k",
           {.size = 336, .crop_pct = 1.0, .squash = true, .pixels = Clip}),
      timm("vit_huge_patch14_clip_378", "dfn5b", {.num_classes = 1024, .size = 378, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_378", "metaclip2_worldwide",
           {.num_classes = 1024, .size = 378, .crop_pct = 1.0, .squash = true, .pixels = Clip}),
      timm("vit_base_patch32_clip_quickgelu_224", "laion400m_e32", {.num_classes = 512, .pixels = Clip}),
      timm("vit_base_patch32_clip_quickgelu_224", "metaclip_2pt5b",
           {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch32_clip_quickgelu_224", "metaclip_400m",
           {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch32_clip_quickgelu_224", "openai", {.num_classes = 512, .pixels = Clip}),
      timm("vit_base_patch16_clip_quickgelu_224", "metaclip_2pt5b",
           {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_quickgelu_224", "metaclip_400m",
           {.num_classes = 512, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_base_patch16_clip_quickgelu_224", "openai", {.num_classes = 512, .pixels = Clip}),
      timm("vit_large_patch14_clip_quickgelu_224", "dfn2b", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_quickgelu_224", "metaclip_2pt5b",
           {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_quickgelu_224", "metaclip_400m",
           {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_quickgelu_224", "openai", {.num_classes = 768, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_large_patch14_clip_quickgelu_336", "openai",
           {.num_classes = 768, .size = 336, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_quickgelu_224", "dfn5b", {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_quickgelu_224", "metaclip2_worldwide",
           {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_quickgelu_224", "metaclip_2pt5b",
           {.num_classes = 1024, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_huge_patch14_clip_quickgelu_378", "dfn5b",
           {.num_classes = 1024, .size = 378, .crop_pct = 1.0, .pixels = Clip}),
      timm("vit_small_patch14_dinov2", "lvd142m", {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_base_patch14_dinov2", "lvd142m", {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_large_patch14_dinov2", "lvd142m", {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_giant_patch14_dinov2", "lvd142m", {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_small_patch14_reg4_dinov2", "lvd142m",
           {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_base_patch14_reg4_dinov2", "lvd142m",
           {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_large_patch14_reg4_dinov2", "lvd142m",
           {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_giant_patch14_reg4_dinov2", "lvd142m",
           {.num_classes = 0, .size = 518, .crop_pct = 1.0, .pixels = ImageNet}),
      timm("vit_wee_patch16_reg1_gap_256", "sbb_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_little_patch16_reg1_gap_256", "sbb_in12k_ft_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_little_patch16_reg1_gap_256", "sbb_in12k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_little_patch16_reg4_gap_256", "sbb_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_medium_patch16_reg1_gap_256", "sbb_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_medium_patch16_reg4_gap_256", "sbb_in12k_ft_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_medium_patch16_reg4_gap_256", "sbb_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_medium_patch16_reg4_gap_256", "sbb_in12k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_mediumd_patch16_reg4_gap_256", "sbb2_e200_in12k_ft_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_mediumd_patch16_reg4_gap_256", "sbb_in12k_ft_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_mediumd_patch16_reg4_gap_256", "sbb2_e200_in12k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_mediumd_patch16_reg4_gap_256", "sbb_in12k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_mediumd_patch16_reg4_gap_384", "sbb2_e200_in12k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_betwixt_patch16_reg1_gap_256", "sbb_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_betwixt_patch16_reg4_gap_256", "sbb2_e200_in12k_ft_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_betwixt_patch16_reg4_gap_256", "sbb_in12k_ft_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_betwixt_patch16_reg4_gap_256", "sbb_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_betwixt_patch16_reg4_gap_256", "sbb2_e200_in12k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_betwixt_patch16_reg4_gap_256", "sbb_in12k", {.size = 256, .crop_pct = 0.95}),
      timm("vit_betwixt_patch16_reg4_gap_384", "sbb2_e200_in12k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("vit_base_patch16_reg4_gap_256", "", {.size = 256}),
  };
}

}  // namespace

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = make_variants();
  return all;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  const bool registers = json["model_type"] == "dinov2_with_registers",
             dinov2 = registers || json["model_type"] == "dinov2";
  const int width = read.integer("hidden_size", 768);
  Config config{.architecture = "",
                .patch = read.side("patch_size", dinov2 ? 14 : 16),
                .size = {.width = width,
                         .depth = read.integer("num_hidden_layers", 12),
                         .heads = read.integer("num_attention_heads", 12)}};
  if (width % config.size.heads != 0)
    read.refuse("num_attention_heads", "a divisor of hidden_size, " + std::to_string(width));
  config.qkv_bias = read.flag("qkv_bias", true);
  if (!dinov2) {
    config.act = read.activation("hidden_act", "gelu");
    config.size.hidden = read.integer("intermediate_size", 3072);
    config.pooler_act = read.activation("pooler_act", "tanh");
    config.pooler = read.integer("pooler_output_size", width);
    if (config.pooler == width) config.pooler = 0;
    return config;
  }
  config.layer_scale = true;
  config.class_and_mean = true;
  config.entries = Entries::ClassToken;
  config.antialias = registers;
  if (registers) config.registers = read.integer("num_register_tokens", 4, 0);
  config.swiglu = read.flag("use_swiglu_ffn", false);
  const int hidden = static_cast<int>(width * read.number("mlp_ratio", 4));
  config.size.hidden = config.swiglu ? (hidden * 2 / 3 + 7) / 8 * 8 : hidden;
  if (!config.swiglu) config.act = read.activation("hidden_act", "gelu");
  return config;
}

Described described_by(const nlohmann::json& config) {
  const std::string type = ConfigReader(config).text("model_type", "");
  if (type != "vit" && type != "dinov2" && type != "dinov2_with_registers") return {};
  return described_among<Config>(
      variants(), config, from_transformers(config), config_of, [](const Config& known, const Config& network) {
        return known.layer_scale == network.layer_scale && known.antialias == network.antialias;
      });
}

}  // namespace ferry::vit
