// Options of vision transformers that no parity fixture has, against PyTorch.
#include <gtest/gtest.h>

#include <map>

#include "converter/passes/passes.h"
#include "converter/reference/interpreter.h"
#include "models/dinov3/dinov3.h"
#include "models/vit/vit.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

struct Parameter {
  const char* key;
  std::vector<int64_t> shape;
};

struct Case {
  const char* name;
  std::vector<Parameter> parameters;
  std::vector<double> logits;
};

const Case kCases[] = {
#include "tests/converter/vision_transformer_fixture.inc"
};

// As in make_vision_transformer_fixture.py.
std::vector<float> values(const std::string& key, const std::vector<int64_t>& shape) {
  int64_t seed = 0, count = 1;
  for (char c : key) seed += 11 * c;
  for (int64_t d : shape) count *= d;
  const float offset = key.ends_with("periods") ? 1 : 0;
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(offset + static_cast<float>((i * 37 + seed) % 61 - 30) / 64);
  return out;
}

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

class Options : public ::testing::TestWithParam<Case> {};

TEST_P(Options, ComputeWhatPyTorchDoes) {
  const Case& c = GetParam();
  const std::string name = c.name;
  const bool dinov3 = name.starts_with("dinov3");
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const Parameter& p : c.parameters) file->add(p.key, p.shape, values(p.key, p.shape));

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

  const std::vector<float> planes = values("input", {3, variant.height, variant.width});
  const int places = variant.height * variant.width;
  std::vector<double> pixels;
  for (int place = 0; place < places; ++place)
    for (int channel = 0; channel < 3; ++channel)
      pixels.push_back(planes[static_cast<size_t>(channel * places + place)]);
  const auto expect_right = [&] {
    const Shape shape = graph.shape(static_cast<int>(graph.model.inputs.front()->tensor));
    const auto& output = *graph.model.outputs.front();
    ASSERT_EQ(output.name, "logits");
    const auto computed = reference::interpret(graph, {reference::Array{shape, pixels}});
    const std::vector<double>& logits = computed.at(static_cast<int>(output.tensor)).values;
    ASSERT_EQ(logits.size(), c.logits.size());
    // An epsilon is a float32 in the graph: it and its square root are off by some 1e-8 of themselves.
    for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], c.logits[i], 1e-10);
  };
  {
    SCOPED_TRACE("as built");
    expect_right();
  }
  run_passes(graph, {});
  SCOPED_TRACE("as packed");
  expect_right();
}

INSTANTIATE_TEST_SUITE_P(VisionTransformer, Options, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ferry
