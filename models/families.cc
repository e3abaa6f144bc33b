#include "models/families.h"

#include "models/language/deepseek/deepseek.h"
#include "models/language/gemma/gemma.h"
#include "models/language/gpt_oss/gpt_oss.h"
#include "models/language/language_family.h"
#include "models/language/llama/llama.h"
#include "models/language/mistral/mistral.h"
#include "models/language/phi/phi.h"
#include "models/language/qwen/qwen.h"
#include "models/language/smollm/smollm.h"
#include "models/vision/birefnet/birefnet.h"
#include "models/vision/coatnet/coatnet.h"
#include "models/vision/convnext/convnext.h"
#include "models/vision/deeplab/deeplab.h"
#include "models/vision/depth_anything/depth_anything.h"
#include "models/vision/dinov3/dinov3.h"
#include "models/vision/efficientnet/efficientnet.h"
#include "models/vision/fastvit/fastvit.h"
#include "models/vision/migan/migan.h"
#include "models/vision/mobilenetv2/mobilenetv2.h"
#include "models/vision/mobilenetv3/mobilenetv3.h"
#include "models/vision/mobilenetv4/mobilenetv4.h"
#include "models/vision/rdn/rdn.h"
#include "models/vision/repvit/repvit.h"
#include "models/vision/resnet/resnet.h"
#include "models/vision/resnetv2/resnetv2.h"
#include "models/vision/rrdbnet/rrdbnet.h"
#include "models/vision/rrdn/rrdn.h"
#include "models/vision/sam/sam.h"
#include "models/vision/segformer/segformer.h"
#include "models/vision/squeezenet/squeezenet.h"
#include "models/vision/srvgg/srvgg.h"
#include "models/vision/swin/swin.h"
#include "models/vision/tiny_vit/tiny_vit.h"
#include "models/vision/vgg/vgg.h"
#include "models/vision/vit/vit.h"

namespace ferry {

Families families() {
  static const ImageFamily kImages[] = {
      ImageFamily({"ResNet", resnet::variants, resnet::namings, resnet::build, resnet::described_by}),
      ImageFamily(
          {"MobileNetV2", mobilenetv2::variants, mobilenetv2::namings, mobilenetv2::build, mobilenetv2::described_by}),
      ImageFamily({"MobileNetV3", mobilenetv3::variants, mobilenetv3::namings, mobilenetv3::build}),
      ImageFamily({"MobileNetV4", mobilenetv4::variants, mobilenetv4::namings, mobilenetv4::build}),
      ImageFamily({"RepViT", repvit::variants, repvit::namings, repvit::build}),
      ImageFamily({"FastViT", fastvit::variants, fastvit::namings, fastvit::build}),
      ImageFamily({"BiT ResNetV2", resnetv2::variants, resnetv2::namings, resnetv2::build}),
      ImageFamily({"ConvNeXt", convnext::variants, convnext::namings, convnext::build, convnext::described_by}),
      ImageFamily({"ViT", vit::variants, vit::namings, vit::build, vit::described_by, vit::stored_size}),
      ImageFamily({"DINOv3", dinov3::variants, dinov3::namings, dinov3::build, dinov3::described_by}),
      ImageFamily({"EfficientNet", efficientnet::variants, efficientnet::namings, efficientnet::build}),
      ImageFamily({"VGG", vgg::variants, vgg::namings, vgg::build}),
      ImageFamily({"Swin Transformer", swin::variants, swin::namings, swin::build, swin::described_by}),
      ImageFamily({"CoAtNet", coatnet::variants, coatnet::namings, coatnet::build}),
      ImageFamily({"TinyViT", tiny_vit::variants, tiny_vit::namings, tiny_vit::build}),
      ImageFamily({"SqueezeNet", squeezenet::variants, squeezenet::namings, squeezenet::build}),
      ImageFamily({"Depth Anything", depth_anything::variants, depth_anything::namings, depth_anything::build,
                   depth_anything::described_by, depth_anything::stored_size}),
      ImageFamily({"SegFormer", segformer::variants, segformer::namings, segformer::build, segformer::described_by}),
      ImageFamily({"DeepLabV3", deeplabv3::variants, deeplabv3::namings, deeplabv3::build}),
      ImageFamily({"FCN", fcn::variants, fcn::namings, fcn::build}),
      ImageFamily({"LR-ASPP", lraspp::variants, lraspp::namings, lraspp::build}),
      ImageFamily({"Real-ESRGAN compact", srvgg::variants, srvgg::namings, srvgg::build}),
      ImageFamily({"Real-ESRGAN", rrdbnet::variants, rrdbnet::namings, rrdbnet::build}),
      ImageFamily({"Residual dense network", rdn::variants, rdn::namings, rdn::build}),
      ImageFamily({"Residual in residual dense network", rrdn::variants, rrdn::namings, rrdn::build}),
      ImageFamily({"MI-GAN", migan::variants, migan::namings, migan::build, nullptr, migan::stored_size}),
      ImageFamily({"Segment Anything", sam::variants, sam::namings, sam::build, sam::described_by, sam::stored_size,
                   sam::graphs}),
      ImageFamily({"BiRefNet", birefnet::variants, birefnet::namings, birefnet::build}),
  };
  static const language::LanguageFamily kLanguages[] = {
      language::LanguageFamily({"Llama", "llama", llama::network}),
      language::LanguageFamily({"Mistral", "mistral", mistral::network}),
      language::LanguageFamily({"Mixtral", "mixtral", mistral::network_of_experts}),
      language::LanguageFamily({"Qwen2", "qwen2", qwen::network_2}),
      language::LanguageFamily({"Qwen3", "qwen3", qwen::network_3}),
      language::LanguageFamily({"Qwen3-Next", "qwen3_next", qwen::network_next}),
      language::LanguageFamily({"Qwen3.5", "qwen3_5_text", qwen::network_3_5}),
      language::LanguageFamily({"Qwen3.5 MoE", "qwen3_5_moe_text", qwen::network_3_5_moe}),
      language::LanguageFamily({"Qwen3-VL", "qwen3_vl", qwen::network_3_vl}),
      language::LanguageFamily({"Qwen3-VL MoE", "qwen3_vl_moe", qwen::network_3_vl_moe}),
      language::LanguageFamily({"Qwen3.5 with images", "qwen3_5", qwen::network_3_5_vl}),
      language::LanguageFamily({"Qwen3.5 MoE with images", "qwen3_5_moe", qwen::network_3_5_vl_moe}),
      language::LanguageFamily({"SmolLM3", "smollm3", smollm3::network}),
      language::LanguageFamily({"Phi-3", "phi3", phi3::network}),
      language::LanguageFamily({"Gemma 2", "gemma2", gemma::network_2}),
      language::LanguageFamily({"Gemma 3", "gemma3_text", gemma::network_3}),
      language::LanguageFamily({"Qwen3 MoE", "qwen3_moe", qwen::network_3_moe}),
      language::LanguageFamily({"GPT-OSS", "gpt_oss", gpt_oss::network}),
      language::LanguageFamily({"DeepSeek-V3", "deepseek_v3", deepseek_v3::network}),
  };
  static const std::vector<const Family*> kTable = [] {
    std::vector<const Family*> all;
    for (const ImageFamily& family : kImages) all.push_back(&family);
    for (const language::LanguageFamily& family : kLanguages) all.push_back(&family);
    return all;
  }();
  return kTable;
}

}  // namespace ferry
