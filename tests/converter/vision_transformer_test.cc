// Options of vision transformers that no parity fixture has, against PyTorch.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/passes/passes.h"
#include "models/vision/dinov3/dinov3.h"
#include "models/vision/vit/vit.h"
#include "tests/converter/torch_case.h"

namespace ferry {
namespace {

constexpr TorchCase kVisionTransformerCases[] = {
#include "tests/converter/vision_transformer_fixture.inc"
};

vit::Config vit_config(const std::string& name) {
  vit::Config config{.architecture = "tiny", .patch = 4, .size = {.width = 8, .depth = 2, .heads = 2, .hidden = 12}};
  config.layer_scale = name == "gap" || name == "registers" || name == "dinov2_giant";
  config.clip = name == "clip_quick_gelu";
  if (config.clip) config.act = quick_gelu;
  config.qkv_bias = name != "gap";
  config.class_token = name != "gap" && !name.ends_with("registers");
  config.swiglu = name == "dinov2_giant";
  config.registers = config.swiglu ? 4 : name == "registers" ? 2 : name == "embedded_registers" ? 1 : 0;
  if (name == "registers" || name == "dinov2_giant") config.entries = vit::Entries::Patches;
  if (name == "registers") config.pool = vit::Pool::Average;
  if (name == "gap" || name == "embedded_registers") config.pool = vit::Pool::NormThenMean;
  return config;
}

class VisionTransformerOptions : public ::testing::TestWithParam<TorchCase> {};

TEST_P(VisionTransformerOptions, ComputeWhatPyTorchDoes) {
  const std::string name = GetParam().name;
  const bool dinov3 = name.starts_with("dinov3");
  const auto file = torch_checkpoint(GetParam());
  ImageVariant variant{.height = dinov3 ? 32 : 8, .width = dinov3 ? 48 : 16};
  const ImageOptions options{.variant = variant, .height = variant.height, .width = variant.width};
  const Naming& naming = naming_of(dinov3 ? dinov3::namings() : vit::namings(), *file);
  Graph graph;
  Ledger ledger(file, naming);
  if (dinov3)
    dinov3::build(graph, Weights(graph, ledger), options,
                  {.architecture = "tiny",
                   .width = 32,
                   .depth = 2,
                   .heads = 2,
                   .hidden = 12,
                   .gated = true,
                   .qkv_bias = true,
                   .class_pool = name == "dinov3_own",
                   .act = silu});
  else
    vit::build(graph, Weights(graph, ledger), options, vit_config(name));
  ledger.finish();

  ASSERT_EQ(graph.table.outputs.front()->name, "logits");
  for (const char* stage : {"as built", "as packed"}) {
    SCOPED_TRACE(stage);
    expect_near(run_on_torch_input(graph, graph.table.outputs.front()->tensor), GetParam().output);
    run_passes(graph, {});
  }
}

INSTANTIATE_TEST_SUITE_P(VisionTransformer, VisionTransformerOptions, ::testing::ValuesIn(kVisionTransformerCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

// ---- DINOv2 as transformers and its authors store it
// ------------------------------------------------------------------

const TorchCase& giant() {
  return *std::find_if(std::begin(kVisionTransformerCases), std::end(kVisionTransformerCases),
                       [](const TorchCase& c) { return std::string(c.name) == "dinov2_giant"; });
}

// timm adds the class token's position to the token; here the two are separate again.
void add_class_entry(MemoryCheckpoint* file, const std::string& cls_token, const std::string& pos_embed) {
  std::vector<float> token = torch_values("cls_token", {1, 1, 8}), table;
  for (size_t i = 0; i < token.size(); ++i) {
    table.push_back(static_cast<float>(i) / 8 - 0.25f);
    token[i] -= table[i];
  }
  const std::vector<float> patches = torch_values("pos_embed", {1, 25, 8});
  table.insert(table.end(), patches.begin(), patches.end());
  file->add(cls_token, {1, 1, 8}, token);
  file->add(pos_embed, {1, 26, 8}, table);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  return text;
}

// Without the classifier.
std::shared_ptr<MemoryCheckpoint> authors_giant() {
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : giant().parameters) {
    std::string name = replaced(replaced(key, "mlp.fc1", "mlp.w12"), "mlp.fc2", "mlp.w3");
    if (name == "reg_token") name = "register_tokens";
    if (!name.starts_with("head.") && name != "cls_token" && name != "pos_embed")
      file->add(name, shape, torch_values(key, shape));
  }
  add_class_entry(file.get(), "cls_token", "pos_embed");
  file->add("mask_token", {1, 8});
  return file;
}

std::shared_ptr<MemoryCheckpoint> transformers_giant(const std::string& root) {
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : giant().parameters) {
    const std::vector<float> values = torch_values(key, shape);
    std::string name = key;
    for (const auto& [from, to] : {std::pair{"blocks.", "encoder.layer."},
                                   {"mlp.fc1", "mlp.weights_in"},
                                   {"mlp.fc2", "mlp.weights_out"},
                                   {"ls1.gamma", "layer_scale1.lambda1"},
                                   {"ls2.gamma", "layer_scale2.lambda1"},
                                   {"attn.proj", "attention.output.dense"},
                                   {"reg_token", "embeddings.register_tokens"},
                                   {"patch_embed.proj", "embeddings.patch_embeddings.projection"}})
      name = replaced(name, from, to);
    if (name.starts_with("norm.")) name = "layernorm" + name.substr(4);
    if (name.starts_with("head.") || name == "cls_token" || name == "pos_embed") continue;
    const size_t qkv = name.find("attn.qkv");
    if (qkv == name.npos) {
      file->add(root + name, shape, values);
      continue;
    }
    std::vector<int64_t> part = shape;
    part.front() /= 3;
    const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
    for (const char* which : {"query", "key", "value"}) {
      const auto begin = values.begin() + third * (which[0] == 'q' ? 0 : which[0] == 'k' ? 1 : 2);
      file->add(root + replaced(name, "attn.qkv", std::string("attention.attention.") + which), part,
                std::vector<float>(begin, begin + third));
    }
  }
  add_class_entry(file.get(), root + "embeddings.cls_token", root + "embeddings.position_embeddings");
  file->add(root + "embeddings.mask_token", {1, 8});
  return file;
}

// The first output.
std::vector<double> run_giant(const std::shared_ptr<const Checkpoint>& file, const vit::Config& config,
                              const std::string& framework, std::optional<int> num_classes) {
  const Naming& naming = naming_of(vit::namings(), *file);
  EXPECT_EQ(naming.framework, framework);
  ImageVariant variant;
  variant.framework = framework;
  Graph graph;
  Ledger ledger(file, naming);
  vit::build(graph, Weights(graph, ledger), {.variant = variant, .num_classes = num_classes, .height = 8, .width = 16},
             config);
  ledger.finish();
  return run_on_torch_input(graph, graph.table.outputs.front()->tensor);
}

vit::Config own_giant() {
  vit::Config config = vit_config("dinov2_giant");
  config.entries = vit::Entries::ClassToken;
  config.class_and_mean = true;
  return config;
}

// features: the values that timm's network pools, without its classifier
std::vector<double> timm_giant(vit::Pool pool) {
  vit::Config config = vit_config("dinov2_giant");
  config.pool = pool;
  return run_giant(torch_checkpoint(giant()), config, "timm", 0);
}

TEST(OwnDinov2, GivesTheClassTokenOfTimms) {
  const std::vector<double> expected = timm_giant(vit::Pool::ClassToken);
  expect_near(run_giant(authors_giant(), own_giant(), "facebookresearch", 0), expected);
  expect_near(run_giant(transformers_giant(""), own_giant(), "transformers", 0), expected);
}

TEST(OwnDinov2, ClassifiesByClassTokenAndMeanOfThePatches) {
  const auto file = transformers_giant("dinov2_with_registers.");
  file->add("classifier.weight", {3, 16});
  file->add("classifier.bias", {3});
  const std::vector<float> weight = file->tensors().at("classifier.weight").to_floats();
  const std::vector<float> bias = file->tensors().at("classifier.bias").to_floats();
  std::vector<double> features = timm_giant(vit::Pool::ClassToken), expected;
  const std::vector<double> mean = timm_giant(vit::Pool::NormThenMean);
  features.insert(features.end(), mean.begin(), mean.end());
  for (size_t c = 0; c < 3; ++c) {
    double sum = bias[c];
    for (size_t i = 0; i < 16; ++i) sum += weight[c * 16 + i] * features[i];
    expected.push_back(sum);
  }
  expect_near(run_giant(file, own_giant(), "transformers", {}), expected);
}

// ---- transformers' ViT
// ------------------------------------------------------------------------------------------------

TEST(TransformersViT, PoolsLikeViTModelIfTheCheckpointHasAPooler) {
  const auto file = std::make_shared<MemoryCheckpoint>();
  const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
    file->add(name + ".weight", {out, in});
    file->add(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) {
    file->add(name + ".weight", {8});
    file->add(name + ".bias", {8});
  };
  file->add("embeddings.cls_token", {1, 1, 8});
  file->add("embeddings.position_embeddings", {1, 9, 8});
  file->add("embeddings.patch_embeddings.projection.weight", {8, 3, 4, 4});
  file->add("embeddings.patch_embeddings.projection.bias", {8});
  for (const std::string block : {"encoder.layer.0.", "encoder.layer.1."}) {
    norm(block + "layernorm_before");
    norm(block + "layernorm_after");
    for (const char* which : {"query", "key", "value"}) linear(block + "attention.attention." + which, 8, 8);
    linear(block + "attention.output.dense", 8, 8);
    linear(block + "intermediate.dense", 12, 8);
    linear(block + "output.dense", 8, 12);
  }
  norm("layernorm");
  const vit::Config config{
      .architecture = "tiny", .patch = 4, .size = {.width = 8, .depth = 2, .heads = 2, .hidden = 12}};
  const std::vector<double> token = run_giant(file, config, "transformers", 0);
  ASSERT_EQ(token.size(), 8u);
  linear("pooler.dense", 8, 8);
  const std::vector<float> weight = file->tensors().at("pooler.dense.weight").to_floats();
  const std::vector<float> bias = file->tensors().at("pooler.dense.bias").to_floats();
  std::vector<double> expected;
  for (size_t c = 0; c < 8; ++c) {
    double sum = bias[c];
    for (size_t i = 0; i < 8; ++i) sum += weight[c * 8 + i] * token[i];
    expected.push_back(std::tanh(sum));
  }
  expect_near(run_giant(file, config, "transformers", 0), expected);
}

TEST(ViTConfig, NamesTheArchitecture) {
  // Empty if not published.
  const auto architecture = [](const char* text) -> std::string {
    const Described found = vit::described_by(nlohmann::json::parse(text));
    return found.published ? found.row->architecture : "";
  };
  EXPECT_EQ(architecture(R"({"model_type": "vit"})"), "vit_base_patch16_224");  // transformers' defaults
  EXPECT_EQ(architecture(R"({"model_type": "vit", "image_size": 384})"), "vit_base_patch16_384");
  EXPECT_EQ(architecture(R"({"model_type": "vit", "image_size": 512, "patch_size": 32})"), "vit_base_patch32_384");
  EXPECT_EQ(architecture(R"({"model_type": "dinov2", "hidden_size": 384, "num_attention_heads": 6, "patch_size": 14})"),
            "dinov2_small");
  EXPECT_EQ(architecture(R"({"model_type": "dinov2_with_registers", "hidden_size": 1536, "num_hidden_layers": 40,
                             "num_attention_heads": 24, "patch_size": 14, "use_swiglu_ffn": true})"),
            "dinov2_with_registers_giant");
  EXPECT_EQ(vit::described_by({{"model_type", "vit_mae"}}).row, nullptr);
  for (const char* other :
       {R"({"model_type": "vit", "hidden_act": "gelu_new"})", R"({"model_type": "vit", "qkv_bias": false})",
        R"({"model_type": "vit", "num_attention_heads": 8})",
        R"({"model_type": "dinov2", "patch_size": 14, "mlp_ratio": 3})",
        R"({"model_type": "dinov2_with_registers", "patch_size": 14, "num_register_tokens": 8})"})
    EXPECT_EQ(architecture(other), "") << other;
}

}  // namespace
}  // namespace ferry
