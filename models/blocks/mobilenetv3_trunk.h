// MobileNetV3's trunks (Howard et al., arXiv:1905.02244), and what torchvision calls their modules.
#pragma once

#include <string>

#include "converter/graph/naming.h"
#include "models/blocks/mobile_trunk.h"

namespace ferry {

const MobileStages& mobilenetv3_large();
const MobileStages& mobilenetv3_small();

// In the last stage of blocks convolutions are dilated instead of halving the map.
MobileStages dilated(MobileStages stages);

// Its BatchNorm is timm's.
inline constexpr MobileStyle kMobileNetV3Style = {
    .act = hard_swish, .squeeze_expanded = true, .squeeze_act = relu, .gate = hard_sigmoid};
// TensorFlow's, which torchvision took over.
inline constexpr double kMobileNetV3Epsilon = 1e-3;

// torchvision's names of a trunk with separate normalizations: modules that begin with `canonical` are called `source`
// and a number. torchvision numbers all blocks through, and the steps of a block too; a convolution, its normalization
// and activation are one Sequential. Returns the last number.
int add_torchvision_names(Naming* naming, const MobileStages& stages, const std::string& canonical,
                          const std::string& source);

}  // namespace ferry
