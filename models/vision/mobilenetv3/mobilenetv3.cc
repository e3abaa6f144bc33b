#include "models/vision/mobilenetv3/mobilenetv3.h"

#include "models/blocks/mobile_trunk.h"
#include "models/vision/classifier.h"

namespace ferry::mobilenetv3 {
namespace {

using enum MobileBlock;
constexpr bool kRelu = true;

// Table 1 of the paper.
const MobileStages kLarge = {
    {{Separable, 1, 3, 1, 1, 16, 0, kRelu}},
    {{Inverted, 1, 3, 2, 4, 24, 0, kRelu}, {Inverted, 1, 3, 1, 3, 24, 0, kRelu}},
    {{Inverted, 3, 5, 2, 3, 40, 0.25, kRelu}},
    {{Inverted, 1, 3, 2, 6, 80}, {Inverted, 1, 3, 1, 2.5, 80}, {Inverted, 2, 3, 1, 2.3, 80}},
    {{Inverted, 2, 3, 1, 6, 112, 0.25}},
    {{Inverted, 3, 5, 2, 6, 160, 0.25}},
    {{Conv, 1, 1, 1, 1, 960}},
};

// Table 2 of the paper.
const MobileStages kSmall = {
    {{Separable, 1, 3, 2, 1, 16, 0.25, kRelu}},
    {{Inverted, 1, 3, 2, 4.5, 24, 0, kRelu}, {Inverted, 1, 3, 1, 3.67, 24, 0, kRelu}},
    {{Inverted, 1, 5, 2, 4, 40, 0.25}, {Inverted, 2, 5, 1, 6, 40, 0.25}},
    {{Inverted, 2, 5, 1, 3, 48, 0.25}},
    {{Inverted, 3, 5, 2, 6, 96, 0.25}},
    {{Conv, 1, 1, 1, 1, 576}},
};

MobileStages stages_of(const Config& config) {
  MobileStages stages = config.large ? kLarge : kSmall;
  if (!config.minimal) return stages;
  for (std::vector<MobileRow>& stage : stages) {
    for (MobileRow& row : stage) {
      row.kernel = std::min(row.kernel, 3);
      row.squeeze = 0;
    }
  }
  return stages;
}

// TensorFlow's epsilon and padding in timm's port of its weights; torchvision took over the epsilon.
MobileStyle style_of(const PictureVariant& variant, const Config& config) {
  MobileStyle style = {
      .act = config.minimal ? relu : hard_swish, .squeeze_expanded = true, .squeeze_act = relu, .gate = hard_sigmoid};
  style.same_padding = variant.architecture.starts_with("tf_");
  if (style.same_padding || variant.framework == "torchvision") style.eps = 1e-3;
  return style;
}

}  // namespace

void build(Graph& graph, const Weights& w, const PictureOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const MobileStyle style = style_of(options.variant, config);
  const MobileSize size = {.width = config.width, .fixed_stem = config.width < 0.75};
  const Tensor x = mobile_trunk(picture_input(graph, options), w, stages_of(config), style, size, 16);
  pool_conv_classify(x, w, style, config.large ? 1280 : 1024, false, options);
}

}  // namespace ferry::mobilenetv3
