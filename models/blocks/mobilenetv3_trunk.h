// MobileNetV3's trunks (Howard et al., arXiv:1905.02244), and torchvision's names of their modules.
#pragma once

#include <string>

#include "converter/graph/naming.h"
#include "models/blocks/mobile_trunk.h"

namespace ferry {

const MobileStages& mobilenetv3_large();
const MobileStages& mobilenetv3_small();

// Dilates the convolutions of the last stage; it keeps the size of its input.
MobileStages dilated(MobileStages stages);

// Uses timm's default epsilon of BatchNorm.
inline constexpr MobileStyle kMobileNetV3Style = {
    .act = hard_swish, .squeeze_expanded = true, .squeeze_act = relu, .gate = hard_sigmoid};
// TensorFlow's epsilon of BatchNorm, which torchvision uses as well.
inline constexpr double kMobileNetV3Epsilon = 1e-3;

// Adds torchvision's names of a trunk with separate normalizations: module `canonical`... is `source`.N. torchvision
// numbers the blocks of all stages consecutively, and the steps of a block, too; convolution, normalization and
// activation are one Sequential. Returns the last number.
int add_torchvision_names(Naming* naming, const MobileStages& stages, const std::string& canonical,
                          const std::string& source);

}  // namespace ferry
