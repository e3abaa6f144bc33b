#include "models/vision/convnext/convnext.h"

namespace ferry::convnext {
namespace {

// timm's module names are canonical. The reference runs the head for `features` and for `logits`: two records each.
Naming timm() {
  return {.framework = "timm",
          .probes = {"stem.0.weight", "stages.0.blocks.0.conv_dw.weight", "stages.3.blocks.1.norm.weight"},
          .taps = {{"head.global_pool", {"head.global_pool", "head.global_pool#1"}},
                   {"head.norm", {"head.norm", "head.norm#1"}},
                   {"head.flatten", {"head.flatten", "head.flatten#1"}},
                   {"head.pre_logits", {"head.pre_logits", "head.pre_logits#1"}},
                   {"head.drop", {"head.drop", "head.drop#1"}},
                   {"head.fc", {"head.fc", "head#1"}}}};
}

// transformers' ConvNextModel and ConvNextV2Model; `root` is their prefix inside a classifier ("convnext."). The input
// of the last norm is flattened.
Naming transformers(const std::string& root) {
  const std::string stage = root + "encoder.stages.{s}", layer = stage + ".layers.{b}";
  return {.framework = "transformers",
          .probes = {root + "embeddings.patch_embeddings.weight", root + "encoder.stages.0.layers.0.dwconv.weight"},
          .keys = {{"stem.0", {root + "embeddings.patch_embeddings"}},
                   {"stem.1", {root + "embeddings.layernorm"}},
                   {"stages.{s}", {stage}},
                   {"stages.{s}.downsample.{i}", {stage + ".downsampling_layer.{i}"}},
                   {"stages.{s}.blocks.{b}", {layer}},
                   {"stages.{s}.blocks.{b}.conv_dw", {layer + ".dwconv"}},
                   {"stages.{s}.blocks.{b}.norm", {layer + ".layernorm"}},
                   {"stages.{s}.blocks.{b}.mlp.fc{i}", {layer + ".pwconv{i}"}},
                   {"stages.{s}.blocks.{b}.mlp.grn", {layer + ".grn"}},
                   {"stages.{s}.blocks.{b}.gamma", {layer + ".layer_scale_parameter"}},
                   {"head.norm", {root + "layernorm"}},
                   {"head.fc", {"classifier"}}},
          .taps = {{"stem", {root + "embeddings"}},
                   {"stages.{s}.downsample", {}},
                   {"stages.{s}.blocks.{b}.mlp", {}},
                   {"stages.{s}.blocks.{b}.mlp.act", {layer + ".act"}},
                   {"norm_pre", {}},
                   {"head.global_pool", {}},
                   {"head.norm", {}},
                   {"head.flatten", {root + "layernorm"}},
                   {"head.pre_logits", {}},
                   {"head.drop", {}},
                   {"head", {"pooler_output"}}},
          .input = "pixel_values"};
}

// transformers' DINOv3ConvNextModel: the stem is the first stage's downsampling layer.
Naming transformers_dinov3() {
  const std::string layer = "stages.{s}.layers.{b}";
  return {.framework = "transformers",
          .probes = {"stages.0.downsample_layers.0.weight", "stages.0.layers.0.depthwise_conv.weight"},
          .keys = {{"stem.{i}", {"stages.0.downsample_layers.{i}"}},
                   {"stages.{s}.downsample.{i}", {"stages.{s}.downsample_layers.{i}"}},
                   {"stages.{s}.blocks.{b}", {layer}},
                   {"stages.{s}.blocks.{b}.conv_dw", {layer + ".depthwise_conv"}},
                   {"stages.{s}.blocks.{b}.norm", {layer + ".layer_norm"}},
                   {"stages.{s}.blocks.{b}.mlp.fc{i}", {layer + ".pointwise_conv{i}"}},
                   {"stages.{s}.blocks.{b}.gamma", {layer + ".gamma"}},
                   {"head.norm", {"layer_norm"}}},
          .taps = {{"stem", {}},
                   {"stages.{s}.downsample", {}},
                   {"stages.{s}.blocks.{b}.mlp", {}},
                   {"stages.{s}.blocks.{b}.mlp.act", {layer + ".activation_fn"}},
                   {"norm_pre", {}},
                   {"head.global_pool", {"pool"}},
                   {"head", {"pooler_output"}},
                   {"head.fc", {}}},
          .input = "pixel_values"};
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {timm(), transformers_dinov3(), transformers(""), transformers("convnext."),
                                 transformers("convnextv2.")};
  return table;
}

}  // namespace ferry::convnext
