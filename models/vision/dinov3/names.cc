#include "models/vision/dinov3/dinov3.h"

namespace ferry::dinov3 {
namespace {

// timm's module names are canonical. The reference runs the head for `features` and for `logits`: two records each.
// LayerScale and the rotary tables are not modules there.
Naming timm() {
  return {.framework = "timm",
          .probes = {"reg_token", "patch_embed.proj.weight", "blocks.0.gamma_1"},
          .taps = {{"fc_norm", {"fc_norm", "fc_norm#1"}}, {"rope", {}}, {"blocks.{b}.gamma_{i}", {}}}};
}

// transformers' DINOv3ViTModel: its blocks are `layer` in checkpoints, but `model.layer` in the module tree.
Naming transformers() {
  const std::string key = "layer.{b}", tap = "model.layer.{b}";
  Naming naming{.framework = "transformers",
                .probes = {"embeddings.register_tokens", "layer.0.layer_scale1.lambda1"},
                .input = "pixel_values"};
  naming.keys = {{"cls_token", {"embeddings.cls_token"}},
                 {"reg_token", {"embeddings.register_tokens"}},
                 {"mask_token", {"embeddings.mask_token"}},
                 {"patch_embed.proj", {"embeddings.patch_embeddings"}},
                 {"rope", {"rope_embeddings"}}};
  naming.taps = {{"patch_embed", {}},
                 {"pos_drop", {"embeddings"}},
                 {"norm_pre", {}},
                 {"fc_norm", {"pooler_output"}},
                 {"norm", {"norm", "last_hidden_state"}},
                 {"head", {}},
                 {"blocks.{b}", {tap}},
                 {"blocks.{b}.attn", {tap + ".attention"}},
                 {"blocks.{b}.mlp", {tap + ".mlp"}},
                 {"blocks.{b}.mlp.act", {tap + ".mlp.act_fn"}},
                 {"blocks.{b}.gamma_1", {tap + ".layer_scale1", tap + ".drop_path"}},
                 {"blocks.{b}.gamma_2", {tap + ".layer_scale2", tap + ".drop_path#1"}}};
  const auto module = [&](const std::string& canonical, const std::string& source) {
    naming.keys.push_back({"blocks.{b}." + canonical, {key + "." + source}});
    naming.taps.push_back({"blocks.{b}." + canonical, {tap + "." + source}});
  };
  module("norm{i}", "norm{i}");
  for (const std::string which : {"q", "k", "v"}) module("attn." + which + "_proj", "attention." + which + "_proj");
  module("attn.proj", "attention.o_proj");
  module("mlp.fc1", "mlp.up_proj");
  module("mlp.fc1_g", "mlp.gate_proj");
  module("mlp.fc1_x", "mlp.up_proj");
  module("mlp.fc2", "mlp.down_proj");
  for (const std::string i : {"1", "2"})
    naming.keys.push_back({"blocks.{b}.gamma_" + i, {key + ".layer_scale" + i + ".lambda1"}});
  return naming;
}

// The authors' repository.
Naming facebook(bool gated) {
  Naming naming{.framework = "facebookresearch",
                .probes = {"storage_tokens", "rope_embed.periods", "blocks.0.ls1.gamma"},
                .keys = {{"reg_token", {"storage_tokens"}},
                         {"rope", {"rope_embed"}},
                         {"blocks.{b}.gamma_{i}", {"blocks.{b}.ls{i}.gamma"}}},
                .taps = {{"rope", {}},
                         {"pos_drop", {}},
                         {"norm_pre", {}},
                         {"fc_norm", {}},
                         {"blocks.{b}.gamma_{i}", {"blocks.{b}.ls{i}"}}}};
  if (!gated) return naming;
  naming.probes.push_back("blocks.0.mlp.w1.weight");
  naming.keys.insert(naming.keys.end(), {{"blocks.{b}.mlp.fc1_g", {"blocks.{b}.mlp.w1"}},
                                         {"blocks.{b}.mlp.fc1_x", {"blocks.{b}.mlp.w2"}},
                                         {"blocks.{b}.mlp.fc2", {"blocks.{b}.mlp.w3"}}});
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  // SwiGLU comes first: its table's keys include all probes of the other's.
  static const Naming table[] = {timm(), transformers(), facebook(true), facebook(false)};
  return table;
}

}  // namespace ferry::dinov3
