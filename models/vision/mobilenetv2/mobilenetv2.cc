#include "models/vision/mobilenetv2/mobilenetv2.h"

#include "models/blocks/mobile_trunk.h"
#include "models/vision/classifier.h"

namespace ferry::mobilenetv2 {

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  // Table 2 of the paper.
  using enum MobileBlock;
  const Config config = options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
  const double t = config.expansion;
  const MobileStages stages = {
      {{Separable, 1, 3, 1, 1, 16}}, {{Inverted, 2, 3, 2, t, 24}}, {{Inverted, 3, 3, 2, t, 32}},
      {{Inverted, 4, 3, 2, t, 64}},  {{Inverted, 3, 3, 1, t, 96}}, {{Inverted, 3, 3, 2, t, 160}},
      {{Inverted, 1, 3, 1, t, 320}},
  };
  const MobileStyle style = {
      .act = config.act, .eps = options.variant.layer_norm_eps.value_or(1e-5), .same_padding = config.same_padding};
  const MobileSize size = {.width = config.width,
                           .depth = config.depth,
                           .fixed_stem = config.fixed_ends,
                           .fixed_depth = true,
                           .divisor = config.divisor,
                           .minimum = config.minimum,
                           .integers = config.integers};
  const bool fixed_head = config.fixed_ends || (config.fine_head && config.width < 1);
  const int head = fixed_head ? 1280 : size.channels(1280 * config.width);
  const Tensor x = mobile_trunk(image_input(graph, options), w, stages, style, size, 32);
  conv_pool_classify(x, w, style, head, options);
}

}  // namespace ferry::mobilenetv2
