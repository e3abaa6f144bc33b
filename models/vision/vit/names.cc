#include "models/vision/vit/vit.h"

namespace ferry::vit {
namespace {

// timm's module names are canonical. The reference runs the head for `features` and for `logits`: two records each.
Naming timm() {
  return {.framework = "timm",
          .probes = {"patch_embed.proj.weight", "pos_embed", "blocks.0.attn.proj.weight"},
          .taps = {{"fc_norm", {"fc_norm", "fc_norm#1"}}}};
}

// DINOv2's repository has timm's modules, and a mask token for training.
Naming facebook(bool swiglu) {
  Naming naming{.framework = "facebookresearch",
                .probes = {"mask_token", "pos_embed", "blocks.0.ls1.gamma"},
                .keys = {{"reg_token", {"register_tokens"}}},
                .taps = {{"pos_drop", {}}, {"norm_pre", {}}, {"fc_norm", {}}}};
  if (!swiglu) return naming;
  naming.probes.push_back("blocks.0.mlp.w12.weight");
  naming.keys.insert(naming.keys.end(),
                     {{"blocks.{b}.mlp.fc1", {"blocks.{b}.mlp.w12"}}, {"blocks.{b}.mlp.fc2", {"blocks.{b}.mlp.w3"}}});
  naming.taps.push_back({"blocks.{b}.mlp.act", {}});
  return naming;
}

// Shared by transformers' ViT and DINOv2. `root` is the prefix of the network inside a classifier ("vit."); a model
// without one has none.
Naming transformers(const std::string& root) {
  const std::string block = root + "encoder.layer.{b}";
  Naming naming{.framework = "transformers", .probes = {root + "embeddings.cls_token"}, .input = "pixel_values"};
  naming.keys = {{"cls_token", {root + "embeddings.cls_token"}},
                 {"reg_token", {root + "embeddings.register_tokens"}},
                 {"mask_token", {root + "embeddings.mask_token"}},
                 {"pos_embed", {root + "embeddings.position_embeddings"}},
                 {"patch_embed.proj", {root + "embeddings.patch_embeddings.projection"}},
                 {"blocks.{b}", {block}},
                 {"blocks.{b}.attn.q_proj", {block + ".attention.attention.query"}},
                 {"blocks.{b}.attn.k_proj", {block + ".attention.attention.key"}},
                 {"blocks.{b}.attn.v_proj", {block + ".attention.attention.value"}},
                 {"blocks.{b}.attn.proj", {block + ".attention.output.dense"}},
                 {"norm", {root + "layernorm"}},
                 {"pooler.dense", {root + "pooler.dense"}},
                 {"head", {"classifier"}}};
  naming.taps = {{"patch_embed", {root + "embeddings.patch_embeddings"}},
                 {"pos_drop", {root + "embeddings", root + "embeddings.dropout"}},
                 {"norm_pre", {}},
                 {"blocks.{b}.attn", {block + ".attention", block + ".attention.output"}},
                 {"norm", {root + "layernorm", "last_hidden_state"}},
                 {"pooler", {root + "pooler", root + "pooler.activation"}}};
  return naming;
}

// The module of the second linear layer includes the residual addition.
Naming transformers_vit(const std::string& root) {
  const std::string block = root + "encoder.layer.{b}";
  Naming naming = transformers(root);
  naming.probes.push_back(root + "encoder.layer.0.layernorm_before.weight");
  naming.keys.insert(naming.keys.end(), {{"blocks.{b}.norm1", {block + ".layernorm_before"}},
                                         {"blocks.{b}.norm2", {block + ".layernorm_after"}},
                                         {"blocks.{b}.mlp.fc1", {block + ".intermediate.dense"}},
                                         {"blocks.{b}.mlp.fc2", {block + ".output.dense"}}});
  naming.taps.insert(naming.taps.end(), {{"blocks.{b}", {block, block + ".output"}},
                                         {"blocks.{b}.mlp", {}},
                                         {"blocks.{b}.mlp.act", {block + ".intermediate"}},
                                         {"fc_norm", {}}});
  return naming;
}

Naming transformers_dinov2(const std::string& root, bool swiglu) {
  const std::string block = root + "encoder.layer.{b}";
  Naming naming = transformers(root);
  naming.probes.push_back(root + "encoder.layer.0.layer_scale1.lambda1");
  if (swiglu) naming.probes.push_back(root + "encoder.layer.0.mlp.weights_in.weight");
  naming.keys.insert(naming.keys.end(), {{"blocks.{b}.norm{i}", {block + ".norm{i}"}},
                                         {"blocks.{b}.ls{i}.gamma", {block + ".layer_scale{i}.lambda1"}},
                                         {"blocks.{b}.mlp.fc1", {block + (swiglu ? ".mlp.weights_in" : ".mlp.fc1")}},
                                         {"blocks.{b}.mlp.fc2", {block + (swiglu ? ".mlp.weights_out" : ".mlp.fc2")}}});
  naming.taps.insert(naming.taps.end(), {{"blocks.{b}.ls1", {block + ".layer_scale1", block + ".drop_path"}},
                                         {"blocks.{b}.ls2", {block + ".layer_scale2", block + ".drop_path#1"}},
                                         {"blocks.{b}.mlp", {block + ".mlp"}},
                                         {"fc_norm", {"pooler_output"}}});
  // SwiGLU's gate is not a module there.
  naming.taps.push_back(swiglu ? Rename{"blocks.{b}.mlp.act", {}}
                               : Rename{"blocks.{b}.mlp.act", {block + ".mlp.activation"}});
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  // A table whose keys include another's probes comes first.
  static const std::vector<Naming> table = [] {
    std::vector<Naming> all = {facebook(true), facebook(false), timm()};
    for (const char* root : {"", "dinov2.", "dinov2_with_registers."})
      for (const bool swiglu : {true, false}) all.push_back(transformers_dinov2(root, swiglu));
    for (const char* root : {"", "vit."}) all.push_back(transformers_vit(root));
    return all;
  }();
  return table;
}

}  // namespace ferry::vit
