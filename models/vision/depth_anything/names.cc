#include "models/vision/depth_anything/depth_anything.h"

namespace ferry::depth_anything {
namespace {

// The head's names are canonical.
Naming transformers(bool swiglu) {
  const std::string block = "backbone.encoder.layer.{b}", canonical = "backbone.blocks.{b}";
  Naming naming{.framework = "transformers",
                .probes = {"backbone.embeddings.position_embeddings", "neck.convs.0.weight", "head.conv1.weight"},
                .input = "pixel_values"};
  if (swiglu) naming.probes.push_back("backbone.encoder.layer.0.mlp.weights_in.weight");
  naming.keys = {{"backbone.cls_token", {"backbone.embeddings.cls_token"}},
                 {"backbone.mask_token", {"backbone.embeddings.mask_token"}},
                 {"backbone.pos_embed", {"backbone.embeddings.position_embeddings"}},
                 {"backbone.patch_embed.proj", {"backbone.embeddings.patch_embeddings.projection"}},
                 {"backbone.norm", {"backbone.layernorm"}},
                 {canonical, {block}},
                 {canonical + ".norm{i}", {block + ".norm{i}"}},
                 {canonical + ".attn.q_proj", {block + ".attention.attention.query"}},
                 {canonical + ".attn.k_proj", {block + ".attention.attention.key"}},
                 {canonical + ".attn.v_proj", {block + ".attention.attention.value"}},
                 {canonical + ".attn.proj", {block + ".attention.output.dense"}},
                 {canonical + ".ls{i}.gamma", {block + ".layer_scale{i}.lambda1"}},
                 {canonical + ".mlp.fc1", {block + (swiglu ? ".mlp.weights_in" : ".mlp.fc1")}},
                 {canonical + ".mlp.fc2", {block + (swiglu ? ".mlp.weights_out" : ".mlp.fc2")}}};
  naming.taps = {{"backbone.patch_embed", {"backbone.embeddings.patch_embeddings"}},
                 {"backbone.pos_drop", {"backbone.embeddings", "backbone.embeddings.dropout"}},
                 {"backbone.norm_of.{i}", {"backbone.layernorm#{i}"}},
                 {canonical + ".attn", {block + ".attention", block + ".attention.output"}},
                 {canonical + ".ls1", {block + ".layer_scale1", block + ".drop_path"}},
                 {canonical + ".ls2", {block + ".layer_scale2", block + ".drop_path#1"}},
                 {canonical + ".mlp", {block + ".mlp"}}};
  // SwiGLU's gate is not a module there.
  naming.taps.push_back(swiglu ? Rename{canonical + ".mlp.act", {}}
                               : Rename{canonical + ".mlp.act", {block + ".mlp.activation"}});
  return naming;
}

// The authors' repositories count levels from 1, and group the fusion modules by level.
Naming authors(bool swiglu) {
  const std::string head = "depth_head.", scratch = head + "scratch.", block = "pretrained.blocks.{b}";
  const std::string layer = "neck.reassemble_stage.layers.{i}", canonical = "backbone.blocks.{b}";
  Naming naming{.framework = "DepthAnything",
                .probes = {"pretrained.pos_embed", head + "projects.0.weight", scratch + "output_conv1.weight"}};
  if (swiglu) naming.probes.push_back("pretrained.blocks.0.mlp.w12.weight");
  naming.keys = {{"backbone.cls_token", {"pretrained.cls_token"}},
                 {"backbone.mask_token", {"pretrained.mask_token"}},
                 {"backbone.pos_embed", {"pretrained.pos_embed"}},
                 {"backbone.patch_embed", {"pretrained.patch_embed"}},
                 {"backbone.patch_embed.proj", {"pretrained.patch_embed.proj"}},
                 {"backbone.norm", {"pretrained.norm"}},
                 {canonical, {block}},
                 {canonical + ".norm{i}", {block + ".norm{i}"}},
                 {canonical + ".attn", {block + ".attn"}},
                 {canonical + ".attn.qkv", {block + ".attn.qkv"}},
                 {canonical + ".attn.proj", {block + ".attn.proj"}},
                 {canonical + ".ls{i}", {block + ".ls{i}"}},
                 {canonical + ".ls{i}.gamma", {block + ".ls{i}.gamma"}},
                 {canonical + ".mlp", {block + ".mlp"}},
                 {canonical + ".mlp.fc1", {block + (swiglu ? ".mlp.w12" : ".mlp.fc1")}},
                 {canonical + ".mlp.fc2", {block + (swiglu ? ".mlp.w3" : ".mlp.fc2")}},
                 {layer + ".projection", {head + "projects.{i}"}},
                 {layer + ".resize", {head + "resize_layers.{i}"}},
                 {"neck.convs.{i}", {scratch + "layer{i+1}_rn"}},
                 {"head.conv1", {scratch + "output_conv1"}},
                 {"head.conv2", {scratch + "output_conv2.0"}},
                 {"head.conv3", {scratch + "output_conv2.2"}}};
  naming.taps = {{"backbone.pos_drop", {}},
                 {"backbone.norm_of.{i}", {"pretrained.norm#{i}"}},
                 {layer, {}},
                 {"neck", {}},
                 {"neck.reassemble_stage", {}},
                 {"neck.fusion_stage", {}},
                 {"head", {}},
                 {"head.activation1", {scratch + "output_conv2.1"}},
                 {"head.activation2", {scratch + "output_conv2", scratch + "output_conv2.3"}},
                 {"neck.fusion_stage.layers.{i}.residual_layer{k}.activation{j}", {}}};
  if (swiglu)
    naming.taps.push_back({canonical + ".mlp.act", {}});
  else
    naming.keys.push_back({canonical + ".mlp.act", {block + ".mlp.act"}});
  for (int level = 4; level >= 1; --level) {
    const std::string fusion = "neck.fusion_stage.layers." + std::to_string(4 - level);
    const std::string refine = scratch + "refinenet" + std::to_string(level);
    naming.keys.insert(naming.keys.end(),
                       {{fusion, {refine}},
                        {fusion + ".projection", {refine + ".out_conv"}},
                        {fusion + ".residual_layer{k}", {refine + ".resConfUnit{k}"}},
                        {fusion + ".residual_layer{k}.convolution{j}", {refine + ".resConfUnit{k}.conv{j}"}}});
  }
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  // SwiGLU comes first: its table's keys include all probes of the other's.
  static const Naming table[] = {transformers(true), transformers(false), authors(true), authors(false)};
  return table;
}

}  // namespace ferry::depth_anything
