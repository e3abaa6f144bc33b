#include "models/vision/mobilenetv2/mobilenetv2.h"

#include "models/blocks/mobile_trunk.h"
#include "models/vision/classifier.h"

namespace ferry::mobilenetv2 {

void build(Graph& graph, const Weights& w, const PictureOptions& options) {
  // Table 2 of the paper.
  using enum MobileBlock;
  static const MobileStages stages = {
      {{Separable, 1, 3, 1, 1, 16}}, {{Inverted, 2, 3, 2, 6, 24}}, {{Inverted, 3, 3, 2, 6, 32}},
      {{Inverted, 4, 3, 2, 6, 64}},  {{Inverted, 3, 3, 1, 6, 96}}, {{Inverted, 3, 3, 2, 6, 160}},
      {{Inverted, 1, 3, 1, 6, 320}},
  };
  const Config& config = config_of(options.variant.architecture);
  const MobileStyle style = {
      .act = relu6, .eps = options.variant.layer_norm_eps.value_or(1e-5), .same_padding = config.same_padding};
  const int head = config.fixed_ends ? 1280 : std::max(1280, round_channels(1280 * config.width));

  const MobileSize size = {
      .width = config.width, .depth = config.depth, .fixed_stem = config.fixed_ends, .fixed_depth = true};
  const Tensor x = mobile_trunk(picture_input(graph, options), w, stages, style, size, 32);
  conv_pool_classify(x, w, style, head, options);
}

}  // namespace ferry::mobilenetv2
