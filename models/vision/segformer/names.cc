#include "models/vision/segformer/segformer.h"

namespace ferry::segformer {
namespace {

// transformers' modules, whose names differ from the checkpoint's since version 5. `root` is the prefix of the encoder
// in a model with a head; a model without one has none.
Naming transformers(const std::string& root) {
  const std::string encoder = root + "encoder.", block = encoder + "block.{s}.{b}";
  const std::string stage = "stages.{s}", layer = stage + ".blocks.{b}";
  Naming naming{.framework = "transformers",
                .probes = {encoder + "patch_embeddings.0.proj.weight", encoder + "block.0.0.mlp.dwconv.dwconv.weight"},
                .input = "pixel_values"};
  naming.keys = {{stage + ".patch_embeddings.proj", {encoder + "patch_embeddings.{s}.proj"}},
                 {stage + ".patch_embeddings.layer_norm", {encoder + "patch_embeddings.{s}.layer_norm"}},
                 {stage + ".layer_norm", {encoder + "layer_norm.{s}"}},
                 {layer + ".layer_norm_{i}", {block + ".layer_norm_{i}"}},
                 {layer + ".attention.query", {block + ".attention.self.query"}},
                 {layer + ".attention.key", {block + ".attention.self.key"}},
                 {layer + ".attention.value", {block + ".attention.self.value"}},
                 {layer + ".attention.sr", {block + ".attention.self.sr"}},
                 {layer + ".attention.layer_norm", {block + ".attention.self.layer_norm"}},
                 {layer + ".attention.output", {block + ".attention.output.dense"}},
                 {layer + ".mlp.dense{i}", {block + ".mlp.dense{i}"}},
                 {layer + ".mlp.dwconv", {block + ".mlp.dwconv.dwconv"}},
                 {"decode_head.linear_c.{s}", {"decode_head.linear_c.{s}.proj"}}};
  naming.taps = {{stage + ".patch_embeddings", {root + stage + ".patch_embeddings"}},
                 {stage + ".layer_norm", {root + stage + ".layer_norm"}},
                 {layer, {root + layer}},
                 {layer + ".attention", {root + layer + ".attention"}},
                 {layer + ".mlp", {root + layer + ".mlp"}},
                 {layer + ".mlp.act", {block + ".mlp.intermediate_act_fn"}}};
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {transformers("segformer."), transformers("")};
  return table;
}

}  // namespace ferry::segformer
