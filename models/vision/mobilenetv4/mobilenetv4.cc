#include "models/vision/mobilenetv4/mobilenetv4.h"

#include "converter/error.h"
#include "models/blocks/mobile_trunk.h"
#include "models/vision/classifier.h"
#include "models/vision/published.h"

namespace ferry::mobilenetv4 {
namespace {

// Universal inverted bottleneck (UIB): depthwise kernels before and after the expansion, 0 for none.
constexpr MobileRow universal(int repeats, int start, int middle, int stride, double expansion, int channels) {
  return {.kind = MobileBlock::Universal,
          .repeats = repeats,
          .kernel = middle,
          .stride = stride,
          .expansion = expansion,
          .channels = channels,
          .start_kernel = start};
}

constexpr MobileRow conv(int kernel, int stride, int channels) {
  return {MobileBlock::Conv, 1, kernel, stride, 1, channels};
}

constexpr MobileRow edge(int channels) { return {MobileBlock::Edge, 1, 3, 2, 4, channels}; }

// Tables 11 to 13 of the paper.
const MobileStages kSmall = {
    {conv(3, 2, 32), conv(1, 1, 32)},
    {conv(3, 2, 96), conv(1, 1, 64)},
    {universal(1, 5, 5, 2, 3, 96), universal(4, 0, 3, 1, 2, 96), universal(1, 3, 0, 1, 4, 96)},
    {universal(1, 3, 3, 2, 6, 128), universal(1, 5, 5, 1, 4, 128), universal(1, 0, 5, 1, 4, 128),
     universal(1, 0, 5, 1, 3, 128), universal(2, 0, 3, 1, 4, 128)},
    {conv(1, 1, 960)},
};

const MobileStages kMedium = {
    {edge(48)},
    {universal(1, 3, 5, 2, 4, 80), universal(1, 3, 3, 1, 2, 80)},
    {universal(1, 3, 5, 2, 6, 160), universal(2, 3, 3, 1, 4, 160), universal(1, 3, 5, 1, 4, 160),
     universal(1, 3, 3, 1, 4, 160), universal(1, 3, 0, 1, 4, 160), universal(1, 0, 0, 1, 2, 160),
     universal(1, 3, 0, 1, 4, 160)},
    {universal(1, 5, 5, 2, 6, 256), universal(1, 5, 5, 1, 4, 256), universal(2, 3, 5, 1, 4, 256),
     universal(1, 0, 0, 1, 4, 256), universal(1, 3, 0, 1, 4, 256), universal(1, 3, 5, 1, 2, 256),
     universal(1, 5, 5, 1, 4, 256), universal(2, 0, 0, 1, 4, 256), universal(1, 5, 0, 1, 2, 256)},
    {conv(1, 1, 960)},
};

const MobileStages kLarge = {
    {edge(48)},
    {universal(1, 3, 5, 2, 4, 96), universal(1, 3, 3, 1, 4, 96)},
    {universal(1, 3, 5, 2, 4, 192), universal(3, 3, 3, 1, 4, 192), universal(1, 3, 5, 1, 4, 192),
     universal(5, 5, 3, 1, 4, 192), universal(1, 3, 0, 1, 4, 192)},
    {universal(4, 5, 5, 2, 4, 512), universal(1, 5, 0, 1, 4, 512), universal(1, 5, 3, 1, 4, 512),
     universal(2, 5, 0, 1, 4, 512), universal(1, 5, 3, 1, 4, 512), universal(1, 5, 5, 1, 4, 512),
     universal(3, 5, 0, 1, 4, 512)},
    {conv(1, 1, 960)},
};

struct Config {
  const char* architecture;
  const MobileStages& stages;
  int stem;
  double width = 1;  // channel multiplier
};
const Config kConfigs[] = {
    {"mobilenetv4_conv_small_035", kSmall, 32, 0.35}, {"mobilenetv4_conv_small_050", kSmall, 32, 0.5},
    {"mobilenetv4_conv_small", kSmall, 32},           {"mobilenetv4_conv_medium", kMedium, 32},
    {"mobilenetv4_conv_large", kLarge, 24},
};

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no MobileNetV4 is called '%s'", architecture.c_str());
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const MobileStyle style = {.act = relu};
  const MobileSize size = {.width = config.width, .fixed_stem = config.width < 1};
  const Tensor x = mobile_trunk(image_input(graph, options), w, config.stages, style, size, config.stem);
  pool_conv_classify(x, w, style, 1280, true, options);
}

// The reference runs the head for `pooled` and for `logits`: two records.
std::span<const Naming> namings() {
  static const Naming table[] = {{.framework = "timm",
                                  .probes = {"conv_stem.weight", "blocks.2.0.dw_start.conv.weight", "norm_head.weight"},
                                  .taps = {{"global_pool", {"global_pool", "global_pool#1"}},
                                           {"conv_head", {"conv_head", "conv_head#1"}},
                                           {"norm_head", {"norm_head", "norm_head#1"}}}}};
  return table;
}

// Settings of timm's pretrained configurations.
std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = {
      timm("mobilenetv4_conv_small_035", "", {.pixels = Pixels::Inception}),
      timm("mobilenetv4_conv_small_050", "e3000_r224_in1k", {.pixels = Pixels::Inception}),
      timm("mobilenetv4_conv_small", "e2400_r224_in1k"),
      timm("mobilenetv4_conv_small", "e1200_r224_in1k"),
      timm("mobilenetv4_conv_small", "e3600_r256_in1k", {.size = 256, .crop_pct = 0.95, .pixels = Pixels::Inception}),
      timm("mobilenetv4_conv_medium", "e500_r256_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("mobilenetv4_conv_medium", "e500_r224_in1k", {.crop_pct = 0.95}),
      timm("mobilenetv4_conv_medium", "e250_r384_in12k_ft_in1k", {.size = 384, .crop_pct = 0.95}),
      timm("mobilenetv4_conv_medium", "e180_r384_in12k", {.size = 384, .crop_pct = 1}),
      timm("mobilenetv4_conv_medium", "e180_ad_r384_in12k", {.size = 384, .crop_pct = 1}),
      timm("mobilenetv4_conv_medium", "e250_r384_in12k", {.size = 384, .crop_pct = 1}),
      timm("mobilenetv4_conv_large", "e600_r384_in1k", {.size = 384, .crop_pct = 0.95}),
      timm("mobilenetv4_conv_large", "e500_r256_in1k", {.size = 256, .crop_pct = 0.95}),
  };
  return all;
}

}  // namespace ferry::mobilenetv4
