#include "models/vision/sam/sam.h"

namespace ferry::sam {
namespace {

// Outputs of functions in the authors' code, not of modules.
const std::vector<Rename> kValues = {{"prompt_encoder.sparse", {"sparse_prompt"}},
                                     {"mask_decoder.masks", {"low_res_masks"}},
                                     {"mask_decoder.qualities", {"iou_predictions"}}};

// The authors' names are canonical.
Naming facebook() {
  return {.framework = "facebookresearch",
          .probes = {"image_encoder.blocks.0.attn.qkv.weight", "mask_decoder.iou_token.weight"},
          .taps = kValues};
}

// MobileSAM's image encoder; timm's names of TinyViT are canonical. MobileSAM puts downsampling at the end of a stage,
// timm at the beginning of the next one.
Naming mobilesam() {
  Naming naming{.framework = "mobilesam",
                .probes = {"image_encoder.patch_embed.seq.0.c.weight", "mask_decoder.iou_token.weight"}};
  naming.taps = kValues;
  const std::string encoder = "image_encoder.", stage = encoder + "stages.{s}.", layer = encoder + "layers.{s}.",
                    before = encoder + "layers.{s-1}.";
  const auto conv_norm = [&](const std::string& canonical, const std::string& source) {
    naming.keys.push_back({canonical, {source}});
    naming.keys.push_back({canonical + ".conv", {source + ".c"}});
    naming.keys.push_back({canonical + ".bn", {source + ".bn"}});
  };
  conv_norm(encoder + "patch_embed.conv1", encoder + "patch_embed.seq.0");
  conv_norm(encoder + "patch_embed.conv2", encoder + "patch_embed.seq.2");
  conv_norm(stage + "downsample.conv{i}", before + "downsample.conv{i}");
  conv_norm(stage + "blocks.{b}.conv{i}", layer + "blocks.{b}.conv{i}");
  conv_norm(stage + "blocks.{b}.local_conv", layer + "blocks.{b}.local_conv");
  for (const std::string module : {"", ".attn", ".attn.norm", ".attn.qkv", ".attn.proj", ".attn.attention_bias_idxs",
                                   ".mlp", ".mlp.norm", ".mlp.fc{i}", ".mlp.act", ".act{i}"})
    naming.keys.push_back({stage + "blocks.{b}" + module, {layer + "blocks.{b}" + module}});
  naming.taps.insert(naming.taps.end(), {{encoder + "patch_embed.act", {encoder + "patch_embed.seq.1"}},
                                         {stage + "downsample", {before + "downsample", encoder + "layers.{s-1}"}},
                                         {stage + "downsample.act{i}", {}},
                                         {encoder + "stages.{s}", {encoder + "layers.{s}"}}});
  return naming;
}

// transformers' SamModel. Point and mask encoders share the frequencies, which checkpoints store under two names.
Naming transformers() {
  Naming naming{.framework = "transformers",
                .probes = {"vision_encoder.patch_embed.projection.weight", "mask_decoder.iou_token.weight"},
                .input = "pixel_values"};
  const std::string block = "image_encoder.blocks.{b}", layer = "vision_encoder.layers.{b}";
  naming.keys = {
      {"image_encoder", {"vision_encoder"}},
      {"image_encoder.pos_embed", {"vision_encoder.pos_embed"}},
      {"image_encoder.patch_embed", {"vision_encoder.patch_embed"}},
      {"image_encoder.patch_embed.proj", {"vision_encoder.patch_embed.projection"}},
      {block, {layer}},
      {block + ".norm{i}", {layer + ".layer_norm{i}"}},
      {"image_encoder.neck", {"vision_encoder.neck"}},
      {"image_encoder.neck.0", {"vision_encoder.neck.conv1"}},
      {"image_encoder.neck.1", {"vision_encoder.neck.layer_norm1"}},
      {"image_encoder.neck.2", {"vision_encoder.neck.conv2"}},
      {"image_encoder.neck.3", {"vision_encoder.neck.layer_norm2"}},
      {"prompt_encoder.pe_layer.positional_encoding_gaussian_matrix", {"shared_image_embedding.positional_embedding"}},
      {"prompt_encoder.point_embeddings.{i}", {"prompt_encoder.point_embed.{i}"}},
      {"prompt_encoder.mask_downscaling", {"prompt_encoder.mask_embed"}},
      {"prompt_encoder.mask_downscaling.0", {"prompt_encoder.mask_embed.conv1"}},
      {"prompt_encoder.mask_downscaling.1", {"prompt_encoder.mask_embed.layer_norm1"}},
      {"prompt_encoder.mask_downscaling.3", {"prompt_encoder.mask_embed.conv2"}},
      {"prompt_encoder.mask_downscaling.4", {"prompt_encoder.mask_embed.layer_norm2"}},
      {"prompt_encoder.mask_downscaling.6", {"prompt_encoder.mask_embed.conv3"}},
      {"mask_decoder.transformer.layers.{l}.norm{i}", {"mask_decoder.transformer.layers.{l}.layer_norm{i}"}},
      {"mask_decoder.transformer.norm_final_attn", {"mask_decoder.transformer.layer_norm_final_attn"}},
      {"mask_decoder.output_upscaling.0", {"mask_decoder.upscale_conv1"}},
      {"mask_decoder.output_upscaling.1", {"mask_decoder.upscale_layer_norm"}},
      {"mask_decoder.output_upscaling.3", {"mask_decoder.upscale_conv2"}}};
  for (const std::string module : {".attn", ".attn.qkv", ".attn.proj", ".mlp", ".mlp.lin{i}", ".mlp.act"})
    naming.keys.push_back({block + module, {layer + module}});
  naming.taps = {{"prompt_encoder.pe_layer", {}},           {"prompt_encoder.sparse", {}},
                 {"prompt_encoder.mask_downscaling.2", {}}, {"prompt_encoder.mask_downscaling.5", {}},
                 {"mask_decoder.output_upscaling", {}},     {"mask_decoder.output_upscaling.2", {}},
                 {"mask_decoder.output_upscaling.4", {}},   {"mask_decoder.masks", {"pred_masks", "mask_decoder"}},
                 {"mask_decoder.qualities", {"iou_scores"}}};
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {mobilesam(), facebook(), transformers()};
  return table;
}

}  // namespace ferry::sam
