#include "models/vision/mobilenetv3/mobilenetv3.h"

#include <algorithm>

#include "models/blocks/mobilenetv3_trunk.h"
#include "models/vision/classifier.h"

namespace ferry::mobilenetv3 {
namespace {

MobileStages stages_of(const Config& config) {
  MobileStages stages = config.large ? mobilenetv3_large() : mobilenetv3_small();
  if (!config.minimal) return stages;
  for (std::vector<MobileRow>& stage : stages) {
    for (MobileRow& row : stage) {
      row.kernel = std::min(row.kernel, 3);
      row.squeeze = 0;
    }
  }
  return stages;
}

// timm's port of TensorFlow's weights keeps TensorFlow's epsilon and padding.
MobileStyle style_of(const ImageVariant& variant, const Config& config) {
  MobileStyle style = kMobileNetV3Style;
  if (config.minimal) style.act = relu;
  style.same_padding = variant.architecture.starts_with("tf_");
  style.separate = variant.framework == "torchvision";
  if (style.same_padding || style.separate) style.eps = kMobileNetV3Epsilon;
  return style;
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const MobileStyle style = style_of(options.variant, config);
  const MobileSize size = {.width = config.width, .fixed_stem = config.width < 0.75};
  const Tensor x = mobile_trunk(image_input(graph, options), w, stages_of(config), style, size, 16);
  pool_conv_classify(x, w, style, config.large ? 1280 : 1024, false, options);
}

}  // namespace ferry::mobilenetv3
