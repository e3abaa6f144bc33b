// The trunk that timm's EfficientNetBuilder creates for MobileNetV2, V3, V4 and EfficientNet, with timm's module names.
#pragma once

#include <cmath>
#include <vector>

#include "models/blocks/squeeze_excite.h"
#include "models/vision/image_family.h"

namespace ferry {

enum class MobileBlock {
  Conv,       // convolution
  Separable,  // depthwise, projection
  Inverted,   // expansion, depthwise, projection
  Edge,       // full convolution as the expansion, projection (FusedMBConv)
  // depthwise, expansion, depthwise, projection; both depthwise convolutions are optional (MobileNetV4's UIB)
  Universal,
};

// Consecutive blocks of one kind in a stage.
struct MobileRow {
  MobileBlock kind;
  int repeats;
  int kernel;  // Universal: of the middle depthwise convolution; 0: none
  int stride;  // of the first block
  double expansion;
  int channels;
  double squeeze = 0;    // squeeze-and-excitation ratio; 0: no squeeze-and-excitation
  bool relu = false;     // overrides the trunk's activation
  int start_kernel = 0;  // Universal: of the depthwise convolution before the expansion; 0: none
  int dilation = 1;      // Inverted: of the depthwise convolution
};
using MobileStages = std::vector<std::vector<MobileRow>>;

// Settings shared by all layers of a network.
struct MobileStyle {
  Tensor (*act)(Tensor);
  double eps = 1e-5;          // of BatchNorm
  bool same_padding = false;  // TensorFlow's SAME padding, computed for the converted size; a resized session keeps it
  // Squeeze-and-excitation. `squeeze_expanded`: the ratio is of the expanded channels, rounded to a multiple of 8;
  // otherwise it is of the block's input channels.
  bool squeeze_expanded = false;
  Tensor (*squeeze_act)(Tensor) = nullptr;  // null: `act`
  Tensor (*gate)(Tensor) = sigmoid;
  // BatchNorm before an activation and the mean of squeeze-and-excitation ("pool") are separate modules.
  bool separate = false;
};

struct MobileSize {
  double width = 1;          // channel multiplier
  double depth = 1;          // block multiplier, rounded up
  bool fixed_stem = false;   // the width multiplier does not apply to the stem
  bool fixed_depth = false;  // the depth multiplier does not apply to the first and the last stage
  // Scaled channel counts are rounded to multiples of `divisor`, and are at least `minimum`. `integers`: they are
  // rounded to integers first, as in transformers.
  int divisor = 8, minimum = 8;
  bool integers = false;
  bool stored = false;  // ignore the above: channel counts are taken from the weights

  // Returns 0 if the channel count is taken from the weights.
  int channels(double value) const {
    if (stored) return 0;
    return round_channels(integers ? std::nearbyint(value) : value, 0.9, divisor, minimum);
  }
};

// A convolution without bias, padded so that the output size is ceil(size / stride).
Tensor mobile_conv(Tensor x, const Weights& w, const MobileStyle& style, Conv2dOptions options);

// conv_stem, bn1 and blocks. Taps "feat/0", "feat/1"... are the last feature map of each resolution (timm's
// features_only). `firsts`, if not null, receives the output of the first block of each stage.
Tensor mobile_trunk(Tensor image, const Weights& w, const MobileStages& stages, const MobileStyle& style,
                    const MobileSize& size, int stem, std::vector<Tensor>* firsts = nullptr);

// The head of MobileNetV2 and EfficientNet: conv_head to `out` channels, bn2, pool, classifier.
void conv_pool_classify(Tensor x, const Weights& w, const MobileStyle& style, int out, const ImageOptions& options);

// The head of MobileNetV3 and V4: pool, conv_head to `out` channels (with norm_head or a bias; a linear layer in
// torchvision's checkpoints), classifier.
void pool_conv_classify(Tensor x, const Weights& w, const MobileStyle& style, int out, bool norm,
                        const ImageOptions& options);

}  // namespace ferry
