#include "models/vision/efficientnet/efficientnet.h"

#include "models/blocks/mobile_trunk.h"
#include "models/vision/classifier.h"

namespace ferry::efficientnet {
namespace {

// Table 1 of the paper.
MobileStages stages(double squeeze) {
  using enum MobileBlock;
  return {
      {{Separable, 1, 3, 1, 1, 16, squeeze}}, {{Inverted, 2, 3, 2, 6, 24, squeeze}},
      {{Inverted, 2, 5, 2, 6, 40, squeeze}},  {{Inverted, 3, 3, 2, 6, 80, squeeze}},
      {{Inverted, 3, 5, 1, 6, 112, squeeze}}, {{Inverted, 4, 5, 2, 6, 192, squeeze}},
      {{Inverted, 1, 3, 1, 6, 320, squeeze}},
  };
}

// timm's port of TensorFlow's weights keeps TensorFlow's epsilon and padding; torchvision uses the epsilon in the large
// networks alone.
MobileStyle style_of(const ImageVariant& variant, const Config& config) {
  MobileStyle style = {.act = config.lite ? relu6 : silu};
  style.same_padding = variant.architecture.starts_with("tf_");
  if (style.same_padding || (variant.framework == "torchvision" && config.width >= 1.6)) style.eps = 1e-3;
  return style;
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const MobileStyle style = style_of(options.variant, config);
  const MobileSize size = {
      .width = config.width, .depth = config.depth, .fixed_stem = config.lite, .fixed_depth = config.lite};
  const Tensor x = mobile_trunk(image_input(graph, options), w, stages(config.lite ? 0 : 0.25), style, size, 32);
  conv_pool_classify(x, w, style, config.lite ? 1280 : round_channels(1280 * config.width), options);
}

}  // namespace ferry::efficientnet
