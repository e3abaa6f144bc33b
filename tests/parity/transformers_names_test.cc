// transformers' checkpoints of networks for which timm's fixtures exist; both libraries compute the same function. The
// fixture's checkpoint is renamed by rules that follow transformers' conversion scripts, and converted with only a
// config.json. The fixture's tensors are then compared under transformers' module names.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/parity/network.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "models/families.h"
#include "models/vision/vit/vit.h"
#include "tests/parity/backends.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

// A regular expression for the start of a name, and its replacement.
using Rules = std::vector<std::pair<std::string, std::string>>;

// By the first rule that matches; empty if none does.
std::string renamed(const Rules& rules, const std::string& name) {
  for (const auto& [pattern, replacement] : rules) {
    const std::regex regex("^(?:" + pattern + ")");
    if (std::regex_search(name, regex)) return std::regex_replace(name, regex, replacement);
  }
  return "";
}

struct TransformersNamesCase {
  const char* name;
  const char* fixture;
  const char* config;
  const char* variant;  // the variant that the config selects
  Rules keys;           // "<qkv>" in a name means query, key or value: a third of the rows each
  Rules taps;           // tried before `keys`
  size_t compared;      // taps of the fixture that the network has
  size_t norms;         // with transformers' default epsilon, 1e-12, if the config has none
};

class TransformersNames : public ::testing::TestWithParam<TransformersNamesCase> {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
    make_checkpoint(fixture_folder() / "manifest.json", folder_.path() / "timm.safetensors");
    timm_ = open_checkpoint(folder_.path() / "timm.safetensors");
    for (const auto& [key, tensor] : timm_->tensors()) add(key, tensor);
  }

  fs::path fixture_folder() const { return shared_dir() / "fixtures" / GetParam().fixture; }

  void add(const std::string& key, CheckpointTensor tensor) {
    const std::string name = renamed(GetParam().keys, key);
    ASSERT_NE(name, "") << "no rule for " << key;
    // transformers' MLPs are linear layers, never convolutions; its GRN's parameters have four dimensions.
    if (tensor.shape.size() == 4 && name.find("pwconv") != name.npos) tensor.shape.resize(2);
    if (name.find(".grn.") != name.npos) tensor.shape.insert(tensor.shape.begin(), 3, 1);
    const size_t at = name.find("<qkv>");
    if (at == name.npos) {
      tensors_[name] = tensor;
      return;
    }
    const size_t third = tensor.bytes.size() / 3;
    tensor.shape.front() /= 3;
    const std::span<const std::byte> whole = tensor.bytes;
    for (size_t i = 0; i < 3; ++i) {
      constexpr const char* kParts[] = {"query", "key", "value"};
      tensor.bytes = whole.subspan(i * third, third);
      tensors_[std::string(name).replace(at, 5, kParts[i])] = tensor;
    }
  }

  ConvertOptions write_checkpoint(const std::string& config) {
    ConvertOptions options;
    options.checkpoint = folder_.path() / "model.safetensors";
    options.output = folder_.path() / "model.ferry";
    write_safetensors(options.checkpoint, tensors_);
    std::ofstream(folder_.path() / "config.json") << config;
    return options;
  }

  Fixture fixture_in_transformers_names() const {
    Fixture fixture = read_fixture(fixture_folder());
    fixture.inputs.front().name = "pixel_values";
    std::erase_if(fixture.entries, [](Entry& entry) {
      if (entry.kind == EntryKind::Output) return false;
      Rules rules = GetParam().taps;
      rules.insert(rules.end(), GetParam().keys.begin(), GetParam().keys.end());
      entry.module = renamed(rules, entry.module);
      // A block of Swin.
      if (entry.shape.size() == 4 && entry.module.starts_with("swin.encoder") && entry.shape[1] == entry.shape[2])
        entry.shape = {entry.shape[0], entry.shape[1] * entry.shape[2], entry.shape[3]};
      return entry.module.empty() || entry.module == "none" || entry.module.find('<') != entry.module.npos;
    });
    return fixture;
  }

  ScratchFolder folder_;
  std::shared_ptr<const Checkpoint> timm_;
  std::map<std::string, CheckpointTensor> tensors_;
};

TEST_P(TransformersNames, MatchTimm) {
  const Fixture fixture = fixture_in_transformers_names();
  ConvertOptions options = write_checkpoint(GetParam().config);
  for (const bool keep_taps : {true, false}) {
    options.settings.set_flag("keep-taps", keep_taps);
    const Conversion conversion = convert(options);
    EXPECT_EQ(conversion.variant, GetParam().variant);
    EXPECT_EQ(conversion.framework, "transformers");
    const Network network(options.output, fixture, cli::session_options(1));
    const Comparison comparison = compare(fixture, network.tensors());
    EXPECT_TRUE(comparison.passed()) << text(comparison);
    if (!keep_taps) continue;
    EXPECT_EQ(comparison.not_in_blob, std::vector<std::string>());
    const auto taps = std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                    [](const Row& row) { return row.kind == EntryKind::Tap; });
    EXPECT_EQ(static_cast<size_t>(taps), GetParam().compared);
    RecordProperty("worst_relative_error", std::to_string(comparison.worst()->relative_error));
  }
}

TEST_P(TransformersNames, UsesTransformersDefaultEpsilon) {
  const std::string config = std::regex_replace(GetParam().config, std::regex(R"(,\s*"layer_norm_eps": [^,}]*)"), "");
  ASSERT_NE(config, GetParam().config);
  const auto graph = convert_to_graph(write_checkpoint(config));
  const auto norms = std::count_if(graph->table.operators.begin(), graph->table.operators.end(), [](const auto& op) {
    const fbs::LayerNormT* norm = op->params.AsLayerNorm();
    return norm != nullptr && norm->epsilon == 1e-12f;
  });
  EXPECT_EQ(static_cast<size_t>(norms), GetParam().norms);
}

TEST_P(TransformersNames, NamesMissingAndUnknownKeys) {
  const auto complaint = [](const ConvertOptions& options) -> std::string {
    try {
      convert(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto second = std::next(tensors_.begin(), static_cast<std::ptrdiff_t>(tensors_.size() / 2));
  const auto [key, tensor] = *second;
  tensors_.erase(second);
  EXPECT_NE(complaint(write_checkpoint(GetParam().config)).find("'" + key + "'"), std::string::npos)
      << complaint(write_checkpoint(GetParam().config));
  tensors_[key] = tensors_[key + ".more"] = tensor;
  EXPECT_NE(complaint(write_checkpoint(GetParam().config)).find("'" + key + ".more'"), std::string::npos)
      << complaint(write_checkpoint(GetParam().config));
}

// ViT, with timm's epsilon instead of transformers' default 1e-12.
const TransformersNamesCase kVit = {
    "vit",
    "timm_vit_small_patch16_224",
    R"({"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 384,
        "num_hidden_layers": 12, "num_attention_heads": 6, "intermediate_size": 1536, "image_size": 224,
        "layer_norm_eps": 1e-6})",
    "vit_small_patch16_224",
    {{"cls_token", "vit.embeddings.cls_token"},
     {"pos_embed", "vit.embeddings.position_embeddings"},
     {R"(patch_embed\.proj)", "vit.embeddings.patch_embeddings.projection"},
     {R"(blocks\.(\d+)\.norm1)", "vit.encoder.layer.$1.layernorm_before"},
     {R"(blocks\.(\d+)\.norm2)", "vit.encoder.layer.$1.layernorm_after"},
     {R"(blocks\.(\d+)\.attn\.qkv)", "vit.encoder.layer.$1.attention.attention.<qkv>"},
     {R"(blocks\.(\d+)\.attn\.proj)", "vit.encoder.layer.$1.attention.output.dense"},
     {R"(blocks\.(\d+)\.mlp\.fc1)", "vit.encoder.layer.$1.intermediate.dense"},
     {R"(blocks\.(\d+)\.mlp\.fc2)", "vit.encoder.layer.$1.output.dense"},
     {R"(norm(?!_))", "vit.layernorm"},
     {"head", "classifier"}},
    {{"patch_embed$", "vit.embeddings.patch_embeddings"},
     {"pos_drop", "vit.embeddings"},
     {R"(blocks\.(\d+)$)", "vit.encoder.layer.$1"},
     {R"(blocks\.(\d+)\.attn$)", "vit.encoder.layer.$1.attention"},
     {R"(blocks\.(\d+)\.mlp\.act$)", "vit.encoder.layer.$1.intermediate"}},
    23,
    25};

// ConvNeXt, with timm's epsilon of the last norm instead of transformers' default 1e-12.
Rules convnext_keys(const std::string& root) {
  const std::string block = R"(stages\.(\d+)\.blocks\.(\d+)\.)", layer = root + "encoder.stages.$1.layers.$2.";
  return {{R"(stem\.0)", root + "embeddings.patch_embeddings"},
          {R"(stem\.1)", root + "embeddings.layernorm"},
          {R"(stages\.(\d+)\.downsample\.(\d))", root + "encoder.stages.$1.downsampling_layer.$2"},
          {block + "conv_dw", layer + "dwconv"},
          {block + "norm", layer + "layernorm"},
          {block + "mlp.fc1", layer + "pwconv1"},
          {block + "mlp.fc2", layer + "pwconv2"},
          {block + "mlp.grn", layer + "grn"},
          {block + "gamma", layer + "layer_scale_parameter"},
          {R"(head\.norm)", root + "layernorm"},
          {R"(head\.fc)", "classifier"}};
}

Rules convnext_taps(const std::string& root, bool linear_mlp) {
  const std::string block = R"(stages\.(\d+)\.blocks\.(\d+))", layer = root + "encoder.stages.$1.layers.$2";
  // timm's MLP may consist of convolutions, transformers' of linear layers: the same values in another layout.
  Rules rules = {{"stem$", root + "embeddings"},
                 {R"(stages\.(\d+)$)", root + "encoder.stages.$1"},
                 {block + "$", layer},
                 {R"(head\.flatten$)", root + "layernorm"},
                 {R"(head\.norm.*|.*#1)", "none"}};
  if (linear_mlp) {
    rules.push_back({block + R"(\.mlp\.act$)", layer + ".act"});
  } else {
    rules.push_back({block + R"(\.(?:norm|mlp).*)", "none"});
  }
  return rules;
}

const TransformersNamesCase kConvNext = {
    "convnext",
    "timm_convnext_tiny_dinov3_lvd1689m",
    R"({"model_type": "convnext", "architectures": ["ConvNextModel"], "depths": [3, 3, 9, 3], "image_size": 224,
        "hidden_sizes": [96, 192, 384, 768], "layer_norm_eps": 1e-6})",
    "convnext_tiny",
    convnext_keys(""),
    convnext_taps("", true),
    47,
    1};

const TransformersNamesCase kConvNextV2 = {
    "convnextv2",
    "timm_convnextv2_atto",
    R"({"model_type": "convnextv2", "architectures": ["ConvNextV2ForImageClassification"], "depths": [2, 2, 6, 2],
        "hidden_sizes": [40, 80, 160, 320], "layer_norm_eps": 1e-6})",
    "convnextv2_atto",
    convnext_keys("convnextv2."),
    convnext_taps("convnextv2.", false),
    25,
    1};

// Swin. transformers merges patches at the end of a stage, timm at the beginning of the next. transformers computes on
// tokens, timm on feature maps, so only blocks are compared, as tokens.
Rules swin_keys() {
  const std::string block = R"(layers\.(\d+)\.blocks\.(\d+)\.)", layer = "swin.encoder.layers.$1.blocks.$2.";
  return {{R"(patch_embed\.proj)", "swin.embeddings.patch_embeddings.projection"},
          {R"(patch_embed\.norm)", "swin.embeddings.norm"},
          {R"(layers\.1\.downsample\.)", "swin.encoder.layers.0.downsample."},
          {R"(layers\.2\.downsample\.)", "swin.encoder.layers.1.downsample."},
          {R"(layers\.3\.downsample\.)", "swin.encoder.layers.2.downsample."},
          {block + "norm1", layer + "layernorm_before"},
          {block + "norm2", layer + "layernorm_after"},
          {block + R"(attn\.qkv)", layer + "attention.self.<qkv>"},
          {block + R"(attn\.proj)", layer + "attention.output.dense"},
          {block + R"(attn\.relative)", layer + "attention.self.relative"},
          {block + R"(mlp\.fc1)", layer + "intermediate.dense"},
          {block + R"(mlp\.fc2)", layer + "output.dense"},
          {"norm(?!_)", "swin.layernorm"},
          {R"(head\.fc)", "classifier"}};
}

const TransformersNamesCase kSwin = {
    "swin",
    "timm_swin_tiny_patch4_window7_224",
    R"({"model_type": "swin", "architectures": ["SwinForImageClassification"], "depths": [2, 2, 6, 2], "embed_dim": 96,
        "num_heads": [3, 6, 12, 24], "window_size": 7, "image_size": 224, "layer_norm_eps": 1e-5})",
    "swin_tiny_patch4_window7_224",
    swin_keys(),
    {{R"(layers\.(\d+)\.blocks\.(\d+)$)", "swin.encoder.layers.$1.blocks.$2"},
     {R"(layers\.(\d+)\.blocks\.(\d+)\.attn$)", "swin.encoder.layers.$1.blocks.$2.attention"},
     {R"(layers\.(\d+)\.blocks\.(\d+)\.mlp\.act$)", "swin.encoder.layers.$1.blocks.$2.intermediate"},
     {R"(layers\.(\d+)\.blocks\.(\d+)\.norm1.*)", "none"},
     {R"(patch_embed\.norm|layers\.\d+\.downsample.*|norm.*)", "none"}},
    37,
    0};

// The only fixture that transformers itself computed: DINOv2 as the backbone of a depth estimator, on an image size
// that needs resampled positions. The backbone normalizes the outputs of four blocks; the last of these calls is
// DINOv2's own.
TEST(TransformersDinov2, MatchesTransformers) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
  const std::string backbone = "backbone.";
  const fs::path fixture_folder = shared_dir() / "fixtures" / "hf_depth_anything_tiny";
  const ScratchFolder folder;
  const fs::path whole = folder.path() / "whole.safetensors", file = folder.path() / "model.safetensors";
  make_checkpoint(fixture_folder / "manifest.json", whole);
  const auto checkpoint = open_checkpoint(whole);
  std::map<std::string, CheckpointTensor> tensors;
  for (const auto& [key, tensor] : checkpoint->tensors())
    if (key.starts_with(backbone)) tensors[key.substr(backbone.size())] = tensor;
  write_safetensors(file, tensors);

  Fixture fixture = read_fixture(fixture_folder);
  std::erase_if(fixture.entries, [&](Entry& entry) {
    if (!entry.module.starts_with(backbone)) return true;
    entry.module.erase(0, backbone.size());
    if (entry.module == "layernorm#3") entry.module = "last_hidden_state";
    return entry.module.starts_with("layernorm");
  });
  ASSERT_EQ(fixture.entries.size(), 38u);

  const vit::Config config = {.architecture = "tiny",
                              .patch = 14,
                              .size = {.width = 64, .depth = 4, .heads = 2},
                              .layer_scale = true,
                              .entries = vit::Entries::ClassToken,
                              .class_and_mean = true};
  ImageVariant variant;
  variant.framework = "transformers";
  const ImageOptions options{
      .variant = variant, .num_classes = 0, .height = 70, .width = 98, .input_name = "pixel_values"};
  const auto naming = std::find_if(vit::namings().begin(), vit::namings().end(), [&](const Naming& n) {
    return std::all_of(n.probes.begin(), n.probes.end(), [&](const auto& key) { return tensors.contains(key); });
  });
  ASSERT_NE(naming, vit::namings().end());
  for (const bool keep_taps : {true, false}) {
    Graph graph;
    Ledger ledger(open_checkpoint(file), *naming);
    vit::build(graph, Weights(graph, ledger), options, config);
    ledger.finish();
    run_passes(graph, {.keep_taps = keep_taps});
    const Network network(pack(graph), fixture, cli::session_options(1));
    const Comparison comparison = compare(fixture, network.tensors());
    EXPECT_TRUE(comparison.passed()) << text(comparison);
    if (keep_taps) {
      EXPECT_EQ(comparison.rows.size(), 38u);
    }
    RecordProperty("worst_relative_error", std::to_string(comparison.worst()->relative_error));
  }
}

// transformers' own fixture of a ResNet with a classifier, converted as the base model within it.
TEST(TransformersResNet, IsReadWithoutAClassifier) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
  const std::string root = "resnet.";
  const fs::path fixture_folder = shared_dir() / "fixtures" / "hf_resnet50";
  const ScratchFolder folder;
  make_checkpoint(fixture_folder / "manifest.json", folder.path() / "whole.safetensors");
  const auto checkpoint = open_checkpoint(folder.path() / "whole.safetensors");
  std::map<std::string, CheckpointTensor> tensors;
  for (const auto& [key, tensor] : checkpoint->tensors())
    if (key.starts_with(root)) tensors[key.substr(root.size())] = tensor;
  Fixture fixture = read_fixture(fixture_folder);
  std::erase_if(fixture.entries, [&](Entry& entry) {
    if (!entry.module.starts_with(root)) return entry.kind == EntryKind::Tap || entry.name == "logits";
    entry.module.erase(0, root.size());
    return false;
  });
  ConvertOptions options;
  options.checkpoint = folder.path() / "model.safetensors";
  options.output = folder.path() / "model.ferry";
  write_safetensors(options.checkpoint, tensors);
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "resnet", "architectures": ["ResNetModel"]})";
  EXPECT_EQ(convert(options).variant, "resnet50");
  const Network network(options.output, fixture, cli::session_options(1));
  const ComputedTensors computed = network.tensors();
  const Comparison comparison = compare(fixture, computed);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  EXPECT_GE(comparison.rows.size(), 20u);
  EXPECT_EQ(computed.at("last_hidden_state").shape, (Dims{1, 2048, 7, 7}));
}

// MobileNetV2. transformers pads like TensorFlow: with sides of 2^n+1 pixels, which strides halve to 2^m+1, the result
// equals timm's.
TEST(TransformersMobileNetV2, MatchesTimmWithTheSameWeights) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
  const std::string root = "mobilenet_v2.";
  constexpr int kFirst[] = {0, 0, 2, 5, 9, 12, 15};
  // timm's blocks.{stage}.{block} to transformers' name, and the names of a block's three layers.
  Rules modules = {{R"(conv_stem)", root + "conv_stem.first_conv.convolution"},
                   {R"(bn1)", root + "conv_stem.first_conv.normalization"},
                   {R"(blocks\.0\.0\.conv_dw)", root + "conv_stem.conv_3x3.convolution"},
                   {R"(blocks\.0\.0\.bn1)", root + "conv_stem.conv_3x3.normalization"},
                   {R"(blocks\.0\.0\.conv_pw)", root + "conv_stem.reduce_1x1.convolution"},
                   {R"(blocks\.0\.0\.bn2)", root + "conv_stem.reduce_1x1.normalization"},
                   {R"(conv_head)", root + "conv_1x1.convolution"},
                   {R"(bn2)", root + "conv_1x1.normalization"},
                   {"classifier", "classifier"}};
  std::vector<std::pair<std::string, std::string>> blocks = {{"blocks.0.0", root + "conv_stem"}};
  for (int s = 1; s < 7; ++s) {
    for (int b = 0; b < 4; ++b) {
      const std::string block = "blocks." + std::to_string(s) + "." + std::to_string(b);
      const std::string layer = root + "layer." + std::to_string(kFirst[s] + b);
      if (s == 6 ? b < 1 : kFirst[s] + b < kFirst[s + 1]) blocks.emplace_back(block, layer);
      const std::string pattern = std::regex_replace(block, std::regex(R"(\.)"), R"(\.)");
      modules.insert(modules.end(), {{pattern + R"(\.conv_pw\.)", layer + ".expand_1x1.convolution."},
                                     {pattern + R"(\.bn1\.)", layer + ".expand_1x1.normalization."},
                                     {pattern + R"(\.conv_dw\.)", layer + ".conv_3x3.convolution."},
                                     {pattern + R"(\.bn2\.)", layer + ".conv_3x3.normalization."},
                                     {pattern + R"(\.conv_pwl\.)", layer + ".reduce_1x1.convolution."},
                                     {pattern + R"(\.bn3\.)", layer + ".reduce_1x1.normalization."}});
    }
  }
  ASSERT_EQ(blocks.size(), 17u);

  const ScratchFolder folder;
  ConvertOptions options;
  options.checkpoint = folder.path() / "timm.safetensors";
  options.output = folder.path() / "timm.ferry";
  options.settings.set("model", "mobilenetv2_100");
  options.settings.set("input-size", 257);
  make_checkpoint(shared_dir() / "fixtures" / "timm_mobilenetv2_100" / "manifest.json", options.checkpoint);
  convert(options);
  Fixture fixture;
  fixture.inputs.push_back({.name = "input", .shape = {1, 3, 257, 257}, .values = {}});
  for (int i = 0; i < 3 * 257 * 257; ++i) fixture.inputs[0].values.push_back(std::sin(static_cast<float>(i) * 0.37f));
  for (const auto& [timm, transformers] : blocks)
    fixture.entries.push_back({.name = timm, .module = timm, .shape = {}, .positions = {}, .values = {}});
  fixture.entries.push_back(
      {.name = "logits", .module = "logits", .kind = EntryKind::Output, .shape = {}, .positions = {}, .values = {}});
  const Network timm(options.output, fixture, cli::session_options(1));
  const ComputedTensors computed = timm.tensors();

  Fixture expected;
  expected.inputs = fixture.inputs;
  expected.inputs[0].name = "pixel_values";
  for (const auto& [from, to] : blocks) expected.entries.push_back(as_reference(to, computed.at(from)));
  expected.entries.push_back(as_reference("logits", computed.at("logits")));
  const auto checkpoint = open_checkpoint(options.checkpoint);
  std::map<std::string, CheckpointTensor> tensors;
  for (const auto& [key, tensor] : checkpoint->tensors()) {
    ASSERT_NE(renamed(modules, key), "") << key;
    tensors[renamed(modules, key)] = tensor;
  }
  ASSERT_EQ(tensors.size(), checkpoint->tensors().size());
  options.checkpoint = folder.path() / "model.safetensors";
  options.output = folder.path() / "model.ferry";
  options.settings.erase("model");
  write_safetensors(options.checkpoint, tensors);
  // timm's epsilon.
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "mobilenet_v2", "depth_multiplier": 1.0,
      "architectures": ["MobileNetV2ForImageClassification"], "image_size": 224, "layer_norm_eps": 1e-5})";
  EXPECT_EQ(convert(options).variant, "mobilenet_v2_1.0");
  const Network network(options.output, expected, cli::session_options(1));
  const Comparison comparison = compare(expected, network.tensors());
  EXPECT_EQ(comparison.rows.size(), 18u);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  EXPECT_LT(comparison.worst()->relative_error, 1e-5);

  // The published epsilon is TensorFlow's, which gives another network.
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "mobilenet_v2", "depth_multiplier": 1.0,
      "architectures": ["MobileNetV2ForImageClassification"]})";
  convert(options);
  const Network published(options.output, expected, cli::session_options(1));
  EXPECT_FALSE(compare(expected, published.tensors()).passed());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, TransformersNames, ::testing::Values(kVit, kConvNext, kConvNextV2, kSwin),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ferry::parity

#endif  // FERRY_HAS_CONVERTER
