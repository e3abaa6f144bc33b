// Options of vision transformers that no parity fixture has, against PyTorch.
#include <algorithm>

#include "converter/passes/passes.h"
#include "models/dinov3/dinov3.h"
#include "models/vit/vit.h"
#include "tests/converter/torch_case.h"

namespace ferry {
namespace {

const TorchCase kCases[] = {
#include "tests/converter/vision_transformer_fixture.inc"
};

vit::Config vit_config(const std::string& name) {
  vit::Config config{.architecture = "tiny", .patch = 4, .size = {.width = 8, .depth = 2, .heads = 2, .hidden = 12}};
  config.layer_scale = name == "gap" || name == "registers" || name == "dinov2_giant";
  config.clip = config.quick_gelu = name == "clip_quick_gelu";
  config.qkv_bias = name != "gap";
  config.class_token = name != "gap" && !name.ends_with("registers");
  config.swiglu = name == "dinov2_giant";
  config.registers = config.swiglu ? 4 : name == "registers" ? 2 : name == "embedded_registers" ? 1 : 0;
  config.embed_prefix = name != "registers" && name != "dinov2_giant";
  if (name == "registers") config.pool = vit::Pool::Average;
  if (name == "gap" || name == "embedded_registers") config.pool = vit::Pool::NormThenMean;
  return config;
}

class VisionTransformerOptions : public ::testing::TestWithParam<TorchCase> {};

TEST_P(VisionTransformerOptions, ComputeWhatPyTorchDoes) {
  const std::string name = GetParam().name;
  const bool dinov3 = name.starts_with("dinov3");
  const auto file = torch_checkpoint(GetParam());
  Variant variant{.height = dinov3 ? 32 : 8, .width = dinov3 ? 48 : 16};
  const BuildOptions options{.variant = variant, .height = variant.height, .width = variant.width};
  const std::span<const Naming> namings = dinov3 ? dinov3::namings() : vit::namings();
  const Naming* naming = namings.data();
  while (dinov3 && !std::all_of(naming->probes.begin(), naming->probes.end(),
                                [&](const std::string& key) { return file->tensors().contains(key); }))
    ASSERT_NE(++naming, namings.data() + namings.size());
  Graph graph;
  Ledger ledger(file, *naming);
  if (dinov3)
    dinov3::build(graph, Weights(graph, ledger), options,
                  {.architecture = "tiny",
                   .width = 32,
                   .depth = 2,
                   .heads = 2,
                   .hidden = 12,
                   .gated = true,
                   .qkv_bias = true,
                   .class_pool = name == "dinov3_own"});
  else
    vit::build(graph, Weights(graph, ledger), options, vit_config(name));
  ledger.finish();

  ASSERT_EQ(graph.model.outputs.front()->name, "logits");
  for (const char* stage : {"as built", "as packed"}) {
    SCOPED_TRACE(stage);
    expect_near(run_on_torch_input(graph, graph.model.outputs.front()->tensor), GetParam().output);
    run_passes(graph, {});
  }
}

INSTANTIATE_TEST_SUITE_P(VisionTransformer, VisionTransformerOptions, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ferry
