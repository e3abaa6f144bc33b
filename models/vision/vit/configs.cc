#include "converter/error.h"
#include "models/vision/vit/vit.h"

namespace ferry::vit {
namespace {

constexpr VitSize kTiny{192, 12, 3};
constexpr VitSize kSmall{384, 12, 6};
constexpr VitSize kBase{768, 12, 12};
constexpr VitSize kLarge{1024, 24, 16};
constexpr VitSize kHuge{1280, 32, 16};
constexpr VitSize kGiant{1536, 40, 24, 4096};
constexpr VitSize kWee{256, 14, 4, 1280};
constexpr VitSize kLittle{320, 14, 5, 1792};
constexpr VitSize kMedium{512, 12, 8};
constexpr VitSize kMediumDeep{512, 20, 8};
constexpr VitSize kBetwixt{640, 12, 10};

constexpr Config clip(const char* architecture, int patch, VitSize size, bool quick = false) {
  return {.architecture = architecture, .patch = patch, .size = size, .act = quick ? quick_gelu : gelu, .clip = true};
}

constexpr Config dinov2(const char* architecture, VitSize size, int registers = 0) {
  return {.architecture = architecture,
          .patch = 14,
          .size = size,
          .layer_scale = true,
          .swiglu = size.width == kGiant.width,
          .registers = registers,
          .entries = registers == 0 ? Entries::All : Entries::Patches};
}

// transformers' and the authors'.
constexpr Config own_dinov2(const char* architecture, VitSize size, int registers = 0) {
  Config config = dinov2(architecture, size, registers);
  config.entries = Entries::ClassToken;
  config.antialias = registers > 0;
  config.class_and_mean = true;
  return config;
}

// Average pooling of the patches, between norm and classifier.
constexpr Config gap(const char* architecture, VitSize size, bool plain = false) {
  return {.architecture = architecture,
          .patch = 16,
          .size = size,
          .qkv_bias = plain,
          .layer_scale = !plain,
          .class_token = false,
          .pool = Pool::NormThenMean};
}

// Registers instead of a class token; the norm follows the pool.
constexpr Config registers(const char* architecture, VitSize size, int count, bool layer_scale = true) {
  return {.architecture = architecture,
          .patch = 16,
          .size = size,
          .layer_scale = layer_scale,
          .class_token = false,
          .registers = count,
          .entries = Entries::Patches,
          .pool = Pool::Average};
}

constexpr Config kConfigs[] = {
    {.architecture = "vit_tiny_patch16_224", .patch = 16, .size = kTiny},
    {.architecture = "vit_tiny_patch16_384", .patch = 16, .size = kTiny},
    {.architecture = "vit_small_patch32_224", .patch = 32, .size = kSmall},
    {.architecture = "vit_small_patch32_384", .patch = 32, .size = kSmall},
    {.architecture = "vit_small_patch16_224", .patch = 16, .size = kSmall},
    {.architecture = "vit_small_patch16_384", .patch = 16, .size = kSmall},
    {.architecture = "vit_small_patch8_224", .patch = 8, .size = kSmall},
    {.architecture = "vit_base_patch32_224", .patch = 32, .size = kBase},
    {.architecture = "vit_base_patch32_384", .patch = 32, .size = kBase},
    {.architecture = "vit_base_patch16_224", .patch = 16, .size = kBase},
    {.architecture = "vit_base_patch16_384", .patch = 16, .size = kBase},
    {.architecture = "vit_base_patch8_224", .patch = 8, .size = kBase},
    {.architecture = "vit_large_patch32_224", .patch = 32, .size = kLarge},
    {.architecture = "vit_large_patch32_384", .patch = 32, .size = kLarge},
    {.architecture = "vit_large_patch16_224", .patch = 16, .size = kLarge},
    {.architecture = "vit_large_patch16_384", .patch = 16, .size = kLarge},
    {.architecture = "vit_large_patch14_224", .patch = 14, .size = kLarge},
    {.architecture = "vit_huge_patch14_224", .patch = 14, .size = kHuge},
    gap("vit_medium_patch16_gap_240", kMedium),
    gap("vit_medium_patch16_gap_256", kMedium),
    gap("vit_medium_patch16_gap_384", kMedium),
    gap("vit_betwixt_patch16_gap_256", kBetwixt),
    gap("vit_base_patch16_gap_224", {768, 12, 16}, true),
    clip("vit_base_patch32_clip_224", 32, kBase),
    clip("vit_base_patch32_clip_256", 32, kBase),
    clip("vit_base_patch32_clip_384", 32, kBase),
    clip("vit_base_patch32_clip_448", 32, kBase),
    clip("vit_base_patch16_clip_224", 16, kBase),
    clip("vit_base_patch16_clip_384", 16, kBase),
    clip("vit_large_patch14_clip_224", 14, kLarge),
    clip("vit_large_patch14_clip_336", 14, kLarge),
    clip("vit_huge_patch14_clip_224", 14, kHuge),
    clip("vit_huge_patch14_clip_336", 14, kHuge),
    clip("vit_huge_patch14_clip_378", 14, kHuge),
    clip("vit_base_patch32_clip_quickgelu_224", 32, kBase, true),
    clip("vit_base_patch16_clip_quickgelu_224", 16, kBase, true),
    clip("vit_large_patch14_clip_quickgelu_224", 14, kLarge, true),
    clip("vit_large_patch14_clip_quickgelu_336", 14, kLarge, true),
    clip("vit_huge_patch14_clip_quickgelu_224", 14, kHuge, true),
    clip("vit_huge_patch14_clip_quickgelu_378", 14, kHuge, true),
    dinov2("vit_small_patch14_dinov2", kSmall),
    dinov2("vit_base_patch14_dinov2", kBase),
    dinov2("vit_large_patch14_dinov2", kLarge),
    dinov2("vit_giant_patch14_dinov2", kGiant),
    dinov2("vit_small_patch14_reg4_dinov2", kSmall, 4),
    dinov2("vit_base_patch14_reg4_dinov2", kBase, 4),
    dinov2("vit_large_patch14_reg4_dinov2", kLarge, 4),
    dinov2("vit_giant_patch14_reg4_dinov2", kGiant, 4),
    own_dinov2("dinov2_small", kSmall),
    own_dinov2("dinov2_base", kBase),
    own_dinov2("dinov2_large", kLarge),
    own_dinov2("dinov2_giant", kGiant),
    own_dinov2("dinov2_with_registers_small", kSmall, 4),
    own_dinov2("dinov2_with_registers_base", kBase, 4),
    own_dinov2("dinov2_with_registers_large", kLarge, 4),
    own_dinov2("dinov2_with_registers_giant", kGiant, 4),
    registers("vit_wee_patch16_reg1_gap_256", kWee, 1),
    registers("vit_little_patch16_reg1_gap_256", kLittle, 1),
    registers("vit_little_patch16_reg4_gap_256", kLittle, 4),
    registers("vit_medium_patch16_reg1_gap_256", kMedium, 1),
    registers("vit_medium_patch16_reg4_gap_256", kMedium, 4),
    registers("vit_mediumd_patch16_reg4_gap_256", kMediumDeep, 4),
    registers("vit_mediumd_patch16_reg4_gap_384", kMediumDeep, 4),
    registers("vit_betwixt_patch16_reg1_gap_256", kBetwixt, 1),
    registers("vit_betwixt_patch16_reg4_gap_256", kBetwixt, 4),
    registers("vit_betwixt_patch16_reg4_gap_384", kBetwixt, 4),
    registers("vit_base_patch16_reg4_gap_256", kBase, 4, false),
};

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no vision transformer is called '%s'", architecture.c_str());
}

}  // namespace ferry::vit
