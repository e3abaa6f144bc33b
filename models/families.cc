#include "models/families.h"

#include <sstream>

#include "models/coatnet/coatnet.h"
#include "models/convnext/convnext.h"
#include "models/dinov3/dinov3.h"
#include "models/efficientnet/efficientnet.h"
#include "models/fastvit/fastvit.h"
#include "models/mobilenetv2/mobilenetv2.h"
#include "models/mobilenetv3/mobilenetv3.h"
#include "models/mobilenetv4/mobilenetv4.h"
#include "models/rdn/rdn.h"
#include "models/repvit/repvit.h"
#include "models/resnet/resnet.h"
#include "models/resnetv2/resnetv2.h"
#include "models/squeezenet/squeezenet.h"
#include "models/srvgg/srvgg.h"
#include "models/swin/swin.h"
#include "models/tiny_vit/tiny_vit.h"
#include "models/vgg/vgg.h"
#include "models/vit/vit.h"

namespace ferry {

std::span<const Family> families() {
  static constexpr Family kTable[] = {
      {"ResNet", resnet::variants, resnet::namings, resnet::build, resnet::architecture_of},
      {"MobileNetV2", mobilenetv2::variants, mobilenetv2::namings, mobilenetv2::build, mobilenetv2::architecture_of},
      {"MobileNetV3", mobilenetv3::variants, mobilenetv3::namings, mobilenetv3::build, nullptr},
      {"MobileNetV4", mobilenetv4::variants, mobilenetv4::namings, mobilenetv4::build, nullptr},
      {"RepViT", repvit::variants, repvit::namings, repvit::build, nullptr},
      {"FastViT", fastvit::variants, fastvit::namings, fastvit::build, nullptr},
      {"BiT ResNetV2", resnetv2::variants, resnetv2::namings, resnetv2::build, nullptr},
      {"ConvNeXt", convnext::variants, convnext::namings, convnext::build, convnext::architecture_of},
      {"ViT", vit::variants, vit::namings, vit::build, vit::architecture_of},
      {"DINOv3", dinov3::variants, dinov3::namings, dinov3::build, dinov3::architecture_of},
      {"EfficientNet", efficientnet::variants, efficientnet::namings, efficientnet::build, nullptr},
      {"VGG", vgg::variants, vgg::namings, vgg::build, nullptr},
      {"Swin Transformer", swin::variants, swin::namings, swin::build, swin::architecture_of},
      {"CoAtNet", coatnet::variants, coatnet::namings, coatnet::build, nullptr},
      {"TinyViT", tiny_vit::variants, tiny_vit::namings, tiny_vit::build, nullptr},
      {"SqueezeNet", squeezenet::variants, squeezenet::namings, squeezenet::build, nullptr},
      {"Real-ESRGAN compact", srvgg::variants, srvgg::namings, srvgg::build, nullptr},
      {"Residual dense network", rdn::variants, rdn::namings, rdn::build, nullptr},
  };
  return kTable;
}

const std::vector<std::string>& imagenet_labels() {
  static const std::vector<std::string> labels = [] {
    std::istringstream text(
#include "data/imagenet_1k.inc"
    );
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }();
  return labels;
}

}  // namespace ferry
