#include <initializer_list>
#include <utility>

#include "models/vision/swin/swin.h"

namespace ferry::swin {
namespace {

// timm's module names are canonical. The reference runs the head for `features` and for `logits`: two records each.
Naming timm() {
  return {.framework = "timm",
          .probes = {"patch_embed.norm.weight", "layers.0.blocks.1.attn.relative_position_bias_table"},
          .taps = {{"head.global_pool",
                    {"head.global_pool", "head.global_pool#1", "head.drop", "head.drop#1", "head.flatten", "head"}},
                   {"head.fc", {"head.fc", "head.flatten#1", "head#1"}}}};
}

// torchvision numbers one Sequential: the embedding, then stages and merging layers alternately. It computes on maps
// where timm computes on tokens: these taps are omitted.
Naming torchvision() {
  Naming naming{.framework = "torchvision",
                .probes = {"features.0.2.weight", "features.1.1.attn.relative_position_bias_table"}};
  naming.keys = {{"patch_embed", {"features.0"}},
                 {"patch_embed.proj", {"features.0.0"}},
                 {"patch_embed.norm", {"features.0.2"}},
                 {"head.fc", {"head"}}};
  naming.taps = {{"layers.0.downsample", {}}, {"head.global_pool", {"flatten"}}};
  for (int s = 0; s < 4; ++s) {
    const std::string stage = "layers." + std::to_string(s), stage_source = "features." + std::to_string(2 * s + 1);
    const std::string block = stage + ".blocks.{b}", block_source = stage_source + ".{b}";
    naming.keys.push_back({stage, {stage_source}});
    naming.keys.push_back({block, {block_source}});
    naming.keys.push_back({block + ".norm1", {block_source + ".norm1"}});
    for (const auto& [module, source] : std::initializer_list<std::pair<std::string, std::string>>{
             {".attn", ".attn"},
             {".attn.qkv", ".attn.qkv"},
             {".attn.proj", ".attn.proj"},
             {".attn.relative_position_index", ".attn.relative_position_index"},
             {".norm2", ".norm2"},
             {".mlp.fc1", ".mlp.0"},
             {".mlp.fc2", ".mlp.3"}}) {
      naming.keys.push_back({block + module, {block_source + source}});
      naming.taps.push_back({block + module, {}});
    }
    for (const char* module : {".attn.softmax", ".drop_path1", ".drop_path2", ".mlp", ".mlp.act", ".tokens"})
      naming.taps.push_back({block + module, {}});
    if (s == 0) continue;
    const std::string merging = stage + ".downsample", merging_source = "features." + std::to_string(2 * s);
    for (const char* module : {"", ".norm", ".reduction"})
      naming.keys.push_back({merging + module, {merging_source + module}});
  }
  return naming;
}

// transformers' SwinModel; `root` is its prefix inside a classifier ("swin."). Patches are merged at the end of a
// stage. It computes on tokens where timm computes on maps: of these taps only the blocks' are kept.
Naming transformers(const std::string& root) {
  const std::string layers = root + "encoder.layers.";
  Naming naming{
      .framework = "transformers",
      .probes = {root + "embeddings.norm.weight", layers + "0.blocks.0.attention.self.relative_position_bias_table"},
      .input = "pixel_values"};
  naming.keys = {{"patch_embed.proj", {root + "embeddings.patch_embeddings.projection"}},
                 {"patch_embed.norm", {root + "embeddings.norm"}},
                 {"norm", {root + "layernorm"}},
                 {"head.fc", {"classifier"}}};
  naming.taps = {{"patch_embed", {}},
                 {"patch_embed.norm", {}},
                 {"layers.{s}", {}},
                 {"layers.{s}.downsample", {}},
                 {"layers.{s}.downsample.norm", {}},
                 {"layers.{s}.downsample.reduction", {}},
                 {"norm", {}},
                 {"head.global_pool", {"pooler_output"}}};
  const std::string block = "layers.{s}.blocks.{b}", source = layers + "{s}.blocks.{b}";
  for (const auto& [module, name] : std::initializer_list<std::pair<std::string, std::string>>{
           {".norm1", ".layernorm_before"},
           {".norm2", ".layernorm_after"},
           {".attn", ".attention.self"},
           {".attn.q_proj", ".attention.self.query"},
           {".attn.k_proj", ".attention.self.key"},
           {".attn.v_proj", ".attention.self.value"},
           {".attn.relative_position_index", ".attention.self.relative_position_index"},
           {".attn.proj", ".attention.output.dense"},
           {".mlp.fc1", ".intermediate.dense"},
           {".mlp.fc2", ".output.dense"}})
    naming.keys.push_back({block + module, {source + name}});
  for (const char* module : {".norm", ".reduction"})
    naming.keys.push_back({std::string("layers.{s}.downsample") + module, {layers + "{s-1}.downsample" + module}});
  naming.taps.insert(naming.taps.end(), {{block, {}},
                                         {block + ".tokens", {source}},
                                         {block + ".norm1", {}},
                                         {block + ".attn", {source + ".attention", source + ".attention.output"}},
                                         {block + ".attn.softmax", {}},
                                         {block + ".drop_path1", {}},
                                         {block + ".drop_path2", {}},
                                         {block + ".mlp", {source + ".output"}},
                                         {block + ".mlp.act", {source + ".intermediate"}}});
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {timm(), torchvision(), transformers(""), transformers("swin.")};
  return table;
}

}  // namespace ferry::swin
