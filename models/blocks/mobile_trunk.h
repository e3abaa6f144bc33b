// The trunk that timm's EfficientNetBuilder makes: MobileNetV2, V3 and V4 and EfficientNet consist of it, in timm's
// names.
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
  Edge,       // expansion by a whole convolution, projection
  Universal,  // depthwise, expansion, depthwise, projection; both depthwise ones optional
};

// Blocks of one kind in a stage.
struct MobileRow {
  MobileBlock kind;
  int repeats;
  int kernel;  // Universal: of the depthwise convolution in the middle; 0: none
  int stride;  // of the first
  double expansion;
  int channels;
  double squeeze = 0;    // squeeze-and-excitation to that share of the channels; 0: none
  bool relu = false;     // whatever the trunk's activation
  int start_kernel = 0;  // Universal: of the depthwise convolution before the expansion; 0: none
  int dilation = 1;      // Inverted: of the depthwise convolution
};
using MobileStages = std::vector<std::vector<MobileRow>>;

// What all layers of a network share.
struct MobileStyle {
  Tensor (*act)(Tensor);
  double eps = 1e-5;          // of BatchNorm
  bool same_padding = false;  // as TensorFlow pads; of the size that is converted for, a resized session keeps it
  // Squeeze-and-excitation. `squeeze_expanded`: to a share of the expanded channels, rounded to a multiple of 8;
  // otherwise of the block's input.
  bool squeeze_expanded = false;
  Tensor (*squeeze_act)(Tensor) = nullptr;  // null: `act`
  Tensor (*gate)(Tensor) = sigmoid;
  // Normalizations before an activation, and squeeze-and-excitation's mean ("pool"), are modules of their own.
  bool separate = false;
};

struct MobileSize {
  double width = 1;          // channel multiplier
  double depth = 1;          // block multiplier, rounded up
  bool fixed_stem = false;   // the stem keeps its channels whatever the width
  bool fixed_depth = false;  // the first and the last stage keep their blocks whatever the depth
  // Of products with the multiplier or an expansion: multiples of `divisor`, at least `minimum`. `integers`: rounded to
  // integers first, as transformers does.
  int divisor = 8, minimum = 8;
  bool integers = false;
  bool stored = false;  // none of these: channels are as many as the weights have

  // 0: as many as the weights have.
  int channels(double value) const {
    if (stored) return 0;
    return round_channels(integers ? std::nearbyint(value) : value, 0.9, divisor, minimum);
  }
};

// A convolution without bias, padded to ceil(size / stride).
Tensor mobile_conv(Tensor x, const Weights& w, const MobileStyle& style, Conv2dOptions options);

// conv_stem, bn1 and blocks, with a tap "feat/0", "feat/1"... of the last map of each resolution (timm's
// features_only). `firsts`, where it is given: what the first block of each stage gives.
Tensor mobile_trunk(Tensor image, const Weights& w, const MobileStages& stages, const MobileStyle& style,
                    const MobileSize& size, int stem, std::vector<Tensor>* firsts = nullptr);

// The head of MobileNetV2 and EfficientNet: conv_head to `out` channels, bn2, pool, classifier.
void conv_pool_classify(Tensor x, const Weights& w, const MobileStyle& style, int out, const ImageOptions& options);

// The head of MobileNetV3 and V4: pool, conv_head to `out` channels (with norm_head or a bias; it may be a linear
// layer, as torchvision's is), classifier.
void pool_conv_classify(Tensor x, const Weights& w, const MobileStyle& style, int out, bool norm,
                        const ImageOptions& options);

}  // namespace ferry
