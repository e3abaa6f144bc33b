// Segment Anything beyond the fixtures: sizes from shapes or a config.json, both frameworks' names, prompts.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "converter/identify.h"
#include "converter/passes/passes.h"
#include "converter/reference/interpreter.h"
#include "models/families.h"
#include "models/vision/sam/sam.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;
using reference::Array;

struct SamSizes {
  int width = 16, depth = 2, heads = 2, hidden = 24, patch = 16, grid = 4, window = 3;
  std::vector<int> global = {1};
  int embedding = 16, mask_channels = 8, decoder_hidden = 20, masks = 3;
};

// Parameters under the authors' names: module, leaf and shape.
struct Parameter {
  std::string module, leaf;
  std::vector<int64_t> shape;
};
std::vector<Parameter> parameters(const SamSizes& s) {
  std::vector<Parameter> all;
  const auto add = [&](const std::string& module, const char* leaf, std::vector<int64_t> shape) {
    all.push_back({module, leaf, std::move(shape)});
  };
  const auto layer = [&](const std::string& module, std::vector<int64_t> weight, bool transposed = false) {
    const int64_t out = transposed ? weight[1] : weight[0];
    add(module, "weight", std::move(weight));
    add(module, "bias", {out});
  };
  const auto norm = [&](const std::string& module, int64_t width) { layer(module, {width}); };
  const int64_t c = s.embedding, w = s.width;
  const std::string encoder = "image_encoder.";
  add(encoder + "pos_embed", "", {1, s.grid, s.grid, w});
  layer(encoder + "patch_embed.proj", {w, 3, s.patch, s.patch});
  for (int b = 0; b < s.depth; ++b) {
    const std::string block = encoder + "blocks." + std::to_string(b) + ".";
    const bool global = std::find(s.global.begin(), s.global.end(), b) != s.global.end();
    const int64_t rows = 2 * (global ? s.grid : s.window) - 1;
    norm(block + "norm1", w);
    for (const char* leaf : {"rel_pos_h", "rel_pos_w"}) add(block + "attn", leaf, {rows, w / s.heads});
    layer(block + "attn.qkv", {3 * w, w});
    layer(block + "attn.proj", {w, w});
    norm(block + "norm2", w);
    layer(block + "mlp.lin1", {s.hidden, w});
    layer(block + "mlp.lin2", {w, s.hidden});
  }
  add(encoder + "neck.0", "weight", {c, w, 1, 1});
  norm(encoder + "neck.1", c);
  add(encoder + "neck.2", "weight", {c, c, 3, 3});
  norm(encoder + "neck.3", c);

  const std::string prompt = "prompt_encoder.";
  add(prompt + "pe_layer.positional_encoding_gaussian_matrix", "", {2, c / 2});
  for (int i = 0; i < 4; ++i) add(prompt + "point_embeddings." + std::to_string(i), "weight", {1, c});
  for (const char* name : {"not_a_point_embed", "no_mask_embed"}) add(prompt + name, "weight", {1, c});
  const std::string mask = prompt + "mask_downscaling.";
  layer(mask + "0", {s.mask_channels / 4, 1, 2, 2});
  norm(mask + "1", s.mask_channels / 4);
  layer(mask + "3", {s.mask_channels, s.mask_channels / 4, 2, 2});
  norm(mask + "4", s.mask_channels);
  layer(mask + "6", {c, s.mask_channels, 1, 1});

  const std::string decoder = "mask_decoder.", transformer = decoder + "transformer.";
  const auto attention = [&](const std::string& module, int64_t inner) {
    for (const char* name : {".q_proj", ".k_proj", ".v_proj"}) layer(module + name, {inner, c});
    layer(module + ".out_proj", {c, inner});
  };
  for (const std::string l : {"layers.0.", "layers.1."}) {
    attention(transformer + l + "self_attn", c);
    attention(transformer + l + "cross_attn_token_to_image", c / 2);
    attention(transformer + l + "cross_attn_image_to_token", c / 2);
    for (const char* name : {"norm1", "norm2", "norm3", "norm4"}) norm(transformer + l + name, c);
    layer(transformer + l + "mlp.lin1", {s.decoder_hidden, c});
    layer(transformer + l + "mlp.lin2", {c, s.decoder_hidden});
  }
  attention(transformer + "final_attn_token_to_image", c / 2);
  norm(transformer + "norm_final_attn", c);
  add(decoder + "iou_token", "weight", {1, c});
  add(decoder + "mask_tokens", "weight", {s.masks, c});
  layer(decoder + "output_upscaling.0", {c, c / 4, 2, 2}, true);
  norm(decoder + "output_upscaling.1", c / 4);
  layer(decoder + "output_upscaling.3", {c / 4, c / 8, 2, 2}, true);
  const auto mlp = [&](const std::string& module, int64_t out) {
    layer(module + ".layers.0", {c, c});
    layer(module + ".layers.1", {c, c});
    layer(module + ".layers.2", {out, c});
  };
  for (int i = 0; i < s.masks; ++i) mlp(decoder + "output_hypernetworks_mlps." + std::to_string(i), c / 8);
  mlp(decoder + "iou_prediction_head", s.masks);
  return all;
}

const Naming& naming_for(const std::string& framework) {
  for (const Naming& naming : sam::namings())
    if (naming.framework == framework) return naming;
  fail("no such framework");
}

// The framework's key.
std::string key_of(const Parameter& p, const std::string& framework) {
  std::string module = source_module(naming_for(framework), p.module);
  const bool mlp = p.module.find("_mlps.") != p.module.npos || p.module.find("prediction_head") != p.module.npos;
  if (framework == "transformers" && mlp) {
    for (const auto& [from, to] :
         {std::pair{"layers.0", "proj_in"}, {"layers.1", "layers.0"}, {"layers.2", "proj_out"}})
      if (module.ends_with(from)) {
        module.replace(module.size() - std::string(from).size(), std::string::npos, to);
        break;
      }
  }
  return p.leaf.empty() ? module : module + "." + p.leaf;
}

// The same values under either framework's names.
std::shared_ptr<MemoryCheckpoint> checkpoint(const std::string& framework, const SamSizes& sizes = {}) {
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const Parameter& p : parameters(sizes)) {
    int64_t count = 1;
    for (int64_t d : p.shape) count *= d;
    double phase = 0;
    for (char letter : p.module + p.leaf) phase = phase * 1.3 + letter;
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(0.4 * std::sin(phase + 1.7 * static_cast<double>(i))));
    file->add(key_of(p, framework), p.shape, std::move(values));
  }
  return file;
}

json config(const SamSizes& s = {}) {
  return {{"model_type", "sam"},
          {"architectures", {"SamModel"}},
          {"vision_config",
           {{"hidden_size", s.width},
            {"num_hidden_layers", s.depth},
            {"num_attention_heads", s.heads},
            {"mlp_dim", s.hidden},
            {"image_size", s.grid * s.patch},
            {"patch_size", s.patch},
            {"window_size", s.window},
            {"global_attn_indexes", s.global},
            {"output_channels", s.embedding},
            {"num_pos_feats", s.embedding / 2}}},
          {"prompt_encoder_config", {{"hidden_size", s.embedding}, {"mask_input_channels", s.mask_channels}}},
          // The authors' epsilon differs from transformers'.
          {"mask_decoder_config",
           {{"hidden_size", s.embedding},
            {"mlp_dim", s.decoder_hidden},
            {"num_multimask_outputs", s.masks - 1},
            {"iou_head_hidden_dim", s.embedding},
            {"layer_norm_eps", 1e-5}}}};
}

const Family& family() {
  for (const Family* family : families())
    if (std::string(family->name()) == "Segment Anything") return *family;
  fail("no such family");
}

const Variant& variant(const std::string& architecture, const std::string& framework) {
  for (const Variant* known : family().variants())
    if (known->architecture == architecture && known->framework == framework) return *known;
  fail("no such variant");
}

using Graphs = std::vector<std::unique_ptr<Graph>>;

Graphs build(const std::shared_ptr<const Checkpoint>& file, const std::string& framework, const json& described = {},
             const Settings& settings = {}) {
  const Naming& naming = naming_for(framework);
  const Configured network =
      family().configure({.checkpoint = file,
                          .naming = naming,
                          .variant = variant(framework == "transformers" ? "sam_vit_b" : "sam_vit", framework),
                          .config = described,
                          .settings = settings,
                          .labels = {}});
  Ledger ledger(file, naming);
  return build_graphs(network, ledger);
}

Array values(const Shape& shape, double phase) {
  Array out{shape, {}};
  for (int64_t i = 0; i < shape.elements(); ++i) out.values.push_back(std::sin(phase + 0.7 * static_cast<double>(i)));
  return out;
}

// The prompted graph's inputs, for this embedding.
struct Prompt {
  std::vector<double> coords, labels;
  double has_mask = 0;
};
std::map<TensorId, Array> run(const Graph& graph, const Array& embedding, const Prompt& prompt) {
  const int32_t points = static_cast<int32_t>(prompt.labels.size());
  std::vector<reference::State> none;
  const Shape mask = graph.shape(graph.table.inputs[3]->tensor);
  std::vector<Array> inputs = {embedding,
                               {{1, points, 2}, prompt.coords},
                               {{1, points}, prompt.labels},
                               values(mask, 3),
                               {{1}, {prompt.has_mask}}};
  return reference::interpret(graph, inputs, &none);
}

TensorId port(const Graph& graph, const std::string& name) {
  for (const auto* ports : {&graph.table.inputs, &graph.table.outputs, &graph.table.taps})
    for (const auto& one : *ports)
      if (one->name == name) return one->tensor;
  fail("no port '%s'", name.c_str());
}

double largest_difference(const Array& a, const Array& b) {
  if (a.shape != b.shape) fail("other shapes");
  double largest = 0;
  for (size_t i = 0; i < a.values.size(); ++i) largest = std::max(largest, std::fabs(a.values[i] - b.values[i]));
  return largest;
}

TEST(Sam, SizesFollowFromShapes) {
  const Graphs graphs = build(checkpoint("facebookresearch"), "facebookresearch");
  ASSERT_EQ(graphs.size(), 2u);
  const Graph &root = *graphs[0], &prompt = *graphs[1];
  EXPECT_EQ(root.shape(port(root, "input")), (Shape{1, 64, 64, 3}));
  EXPECT_EQ(root.shape(port(root, "image_embedding")), (Shape{1, 4, 4, 16}));
  EXPECT_EQ(prompt.table.name, "prompt");
  EXPECT_EQ(prompt.shape(port(prompt, "image_embedding")), (Shape{1, 4, 4, 16}));
  EXPECT_EQ(prompt.shape(port(prompt, "mask_input")), (Shape{1, 16, 16, 1}));
  EXPECT_EQ(prompt.shape(port(prompt, "mask_logits")), (Shape{1, 16, 16, 3}));
  EXPECT_EQ(prompt.shape(port(prompt, "mask_qualities")), (Shape{1, 3}));
  const fbs::PreprocessT& preprocess = *root.table.preprocess;
  EXPECT_EQ(preprocess.resize_mode, fbs::ResizeMode::LongestEdge);
  EXPECT_EQ(preprocess.resize_h, 64);
  EXPECT_EQ(preprocess.crop_h, 64);
  EXPECT_TRUE(preprocess.corner);
  EXPECT_EQ(preprocess.fill, preprocess.mean);
  EXPECT_EQ(root.table.postprocess->task, fbs::Task::PromptedSegmentation);
  EXPECT_EQ(root.table.postprocess->params.AsPromptedSegmentation()->graph, "prompt");
}

void expect_one_network(const SamSizes& sizes) {
  const Graphs authors = build(checkpoint("facebookresearch", sizes), "facebookresearch");
  const Graphs transformers = build(checkpoint("transformers", sizes), "transformers", config(sizes));
  const Array image = values({1, 64, 64, 3}, 1);
  const Prompt prompt{{5, 9, 40.5, 33, 0, 0}, {2, 3, -1}, 1};
  Array embedding, logits, qualities;
  for (const Graphs* graphs : {&authors, &transformers}) {
    for (const bool passes : {false, true}) {
      if (passes)
        for (const auto& graph : *graphs) run_passes(*graph, {});
      const Array here = reference::interpret(*(*graphs)[0], {image}).at(port(*(*graphs)[0], "image_embedding"));
      const Graph& second = *(*graphs)[1];
      const std::map<TensorId, Array> results = run(second, here, prompt);
      const Array &masks = results.at(port(second, "mask_logits")), &of = results.at(port(second, "mask_qualities"));
      if (embedding.values.empty()) {
        embedding = here;
        logits = masks;
        qualities = of;
      }
      EXPECT_LT(largest_difference(here, embedding), 1e-9);
      EXPECT_LT(largest_difference(masks, logits), 1e-9);
      EXPECT_LT(largest_difference(of, qualities), 1e-9);
    }
  }
}

TEST(Sam, BothFrameworksNamesGiveOneNetworkBeforeAndAfterThePasses) {
  expect_one_network({});
  expect_one_network({.embedding = 128});  // fewer tokens than heads
}

// softmax(q k^T / sqrt(size)) v of each head, by definition.
std::vector<double> attended(const Array& q, const Array& k, const Array& v, int heads) {
  const auto places = [](const Array& x) { return static_cast<size_t>(x.shape[x.shape.rank - 2]); };
  const size_t inner = static_cast<size_t>(q.shape[q.shape.rank - 1]), size = inner / static_cast<size_t>(heads);
  std::vector<double> out(places(q) * inner);
  for (size_t i = 0; i < places(q); ++i)
    for (size_t head = 0; head < inner; head += size) {
      std::vector<double> shares;
      double sum = 0;
      for (size_t j = 0; j < places(k); ++j) {
        double score = 0;
        for (size_t c = head; c < head + size; ++c) score += q.values[i * inner + c] * k.values[j * inner + c];
        shares.push_back(std::exp(score / std::sqrt(static_cast<double>(size))));
        sum += shares.back();
      }
      for (size_t j = 0; j < places(k); ++j)
        for (size_t c = head; c < head + size; ++c) out[i * inner + c] += shares[j] / sum * v.values[j * inner + c];
    }
  return out;
}

TEST(Sam, FewTokensAttendLikeNarrowedHeads) {
  const SamSizes sizes{.embedding = 128};
  const auto file = checkpoint("facebookresearch", sizes);
  const Graphs graphs = build(file, "facebookresearch");
  const Graph& graph = *graphs[1];
  const std::map<TensorId, Array> results = run(graph, values({1, 4, 4, 128}, 2), {{5, 9, 40.5, 33}, {1, 0}, 1});
  for (const char* layer :
       {"layers.0.cross_attn_token_to_image", "layers.1.cross_attn_token_to_image",
        "layers.0.cross_attn_image_to_token", "layers.1.cross_attn_image_to_token", "final_attn_token_to_image"}) {
    const std::string module = std::string("mask_decoder.transformer.") + layer;
    const auto tap = [&](const char* name) { return results.at(port(graph, module + name)); };
    const std::vector<double> heads = attended(tap(".q_proj"), tap(".k_proj"), tap(".v_proj"), 8);
    const std::vector<double> weight = file->tensors().at(module + ".out_proj.weight").to_doubles();
    const std::vector<double> bias = file->tensors().at(module + ".out_proj.bias").to_doubles();
    const Array whole = tap("");
    const size_t inner = weight.size() / bias.size();
    double largest = 0, difference = 0;
    for (size_t i = 0; i < whole.values.size(); ++i) {
      double expected = bias[i % bias.size()];
      for (size_t c = 0; c < inner; ++c)
        expected += heads[i / bias.size() * inner + c] * weight[i % bias.size() * inner + c];
      largest = std::max(largest, std::fabs(expected));
      difference = std::max(difference, std::fabs(expected - whole.values[i]));
    }
    EXPECT_LT(difference, 1e-6 * largest) << module;
  }
}

// By definition, for a point of each kind.
TEST(Sam, PointsBecomeTokensByTheirLabels) {
  const auto file = checkpoint("facebookresearch");
  const Graphs graphs = build(file, "facebookresearch");
  const Graph& graph = *graphs[1];
  const auto stored = [&](const std::string& key) { return file->tensors().at(key).to_doubles(); };
  const std::vector<double> matrix = stored("prompt_encoder.pe_layer.positional_encoding_gaussian_matrix");
  const Prompt prompt{{3, 7, 60, 1, 33.5, 20, 8, 8, 50, 50}, {0, 1, 2, 3, -1}};
  const Array sparse = run(graph, values({1, 4, 4, 16}, 2), prompt).at(port(graph, "sparse_prompt"));
  ASSERT_EQ(sparse.shape, (Shape{1, 5, 16}));
  for (size_t p = 0; p < 5; ++p) {
    const std::vector<double> token =
        stored(prompt.labels[p] < 0 ? "prompt_encoder.not_a_point_embed.weight"
                                    : "prompt_encoder.point_embeddings." +
                                          std::to_string(static_cast<int>(prompt.labels[p])) + ".weight");
    for (size_t c = 0; c < 16; ++c) {
      const double x = 2 * (prompt.coords[2 * p] + 0.5) / 64 - 1, y = 2 * (prompt.coords[2 * p + 1] + 0.5) / 64 - 1;
      const double angle = 2 * std::numbers::pi * (x * matrix[c % 8] + y * matrix[8 + c % 8]);
      const double place = prompt.labels[p] < 0 ? 0 : c < 8 ? std::sin(angle) : std::cos(angle);
      EXPECT_NEAR(sparse.values[p * 16 + c], place + token[c], 1e-6) << p << ", " << c;
    }
  }
}

TEST(Sam, AMaskCountsOnlyIfItsFlagIsSet) {
  const Graphs graphs = build(checkpoint("facebookresearch"), "facebookresearch");
  const Graph& graph = *graphs[1];
  const TensorId logits = port(graph, "mask_logits");
  const Array embedding = values({1, 4, 4, 16}, 2);
  const Prompt without{{3, 7}, {1}, 0}, with{{3, 7}, {1}, 1};
  EXPECT_GT(largest_difference(run(graph, embedding, with).at(logits), run(graph, embedding, without).at(logits)),
            1e-4);
}

TEST(Sam, AnotherSizeOfImageResamplesPositionsAndDistances) {
  Settings settings;
  settings.set("input-size", 96);
  const Graphs graphs = build(checkpoint("facebookresearch"), "facebookresearch", {}, settings);
  EXPECT_EQ(graphs[0]->shape(port(*graphs[0], "image_embedding")), (Shape{1, 6, 6, 16}));
  EXPECT_EQ(graphs[1]->shape(port(*graphs[1], "mask_logits")), (Shape{1, 24, 24, 3}));
  for (const auto& [size, message] :
       {std::pair{"60", "--input-size 60: the side must be a multiple of the patch's, 16"},
        {"64x48", "--input-size 64x48: images must be square"}}) {
    settings.set("input-size", size);
    EXPECT_EQ(complaint([&] { build(checkpoint("facebookresearch"), "facebookresearch", {}, settings); }), message);
  }
}

TEST(Sam, MissingKeysAreNamed) {
  for (const char* key :
       {"image_encoder.blocks.1.attn.qkv.weight", "image_encoder.neck.3.bias", "prompt_encoder.no_mask_embed.weight",
        "prompt_encoder.point_embeddings.2.weight", "prompt_encoder.mask_downscaling.3.bias",
        "prompt_encoder.pe_layer.positional_encoding_gaussian_matrix", "mask_decoder.mask_tokens.weight",
        "mask_decoder.transformer.layers.1.norm4.weight", "mask_decoder.output_hypernetworks_mlps.1.layers.0.weight"}) {
    const auto file = checkpoint("facebookresearch");
    file->remove(key);
    const std::string message = complaint([&] { build(file, "facebookresearch"); });
    EXPECT_NE(message.find("'" + std::string(key) + "'"), std::string::npos) << message;
  }
}

TEST(Sam, UnsupportedConfigsAreRefusedByTheField) {
  const auto refused = [](const char* part, const char* key, const json& value) {
    json changed = config();
    changed[part][key] = value;
    return complaint([&] { sam::described_by(changed); });
  };
  EXPECT_EQ(refused("vision_config", "global_attn_indexes", {2}),
            "config.json: global_attn_indexes is [2]: expected numbers of blocks, 0 to 1");
  EXPECT_EQ(refused("vision_config", "num_pos_feats", 9),
            "config.json: num_pos_feats is 9: expected half of output_channels, 16");
  EXPECT_EQ(refused("vision_config", "num_attention_heads", 3),
            "config.json: num_attention_heads is 3: expected a divisor of hidden_size, 16");
  EXPECT_EQ(refused("prompt_encoder_config", "num_point_embeddings", 5),
            "config.json: num_point_embeddings is 5: expected 4");
  EXPECT_EQ(refused("mask_decoder_config", "hidden_size", 32),
            "config.json: hidden_size is 32: expected vision_config's output_channels, 16");
  EXPECT_TRUE(refused("mask_decoder_config", "hidden_act", "mish")
                  .starts_with("config.json: hidden_act is \"mish\": expected one of gelu, "));
  EXPECT_EQ(refused("mask_decoder_config", "hidden_act", "gelu"), "no error");
}

// A checkpoint of shapes; all its elements are equal.
class ShapesOnly : public Checkpoint {
 public:
  explicit ShapesOnly(const SamSizes& sizes) {
    for (const Parameter& p : parameters(sizes)) {
      int64_t count = 1;
      for (int64_t d : p.shape) count *= d;
      zeros_.resize(std::max(zeros_.size(), static_cast<size_t>(count)));
      tensors_[key_of(p, "facebookresearch")] = {ElementType::F32, p.shape, {}};
    }
    for (auto& [key, tensor] : tensors_)
      tensor.bytes = std::as_bytes(std::span(zeros_)).first(static_cast<size_t>(tensor.elements()) * sizeof(float));
  }
  const std::map<std::string, CheckpointTensor>& tensors() const override { return tensors_; }
  const char* format() const override { return "shapes"; }
  std::string sha256() const override { return ""; }
  const std::filesystem::path& path() const override { return path_; }

 private:
  std::vector<float> zeros_;
  std::map<std::string, CheckpointTensor> tensors_;
  std::filesystem::path path_ = "shapes/model.pth";
};

TEST(Sam, PublishedSizesAreFoundByTheKeys) {
  const SamSizes base{.width = 768,
                      .depth = 12,
                      .heads = 12,
                      .hidden = 3072,
                      .grid = 64,
                      .window = 14,
                      .global = {2, 5, 8, 11},
                      .embedding = 256,
                      .mask_channels = 16,
                      .decoder_hidden = 2048,
                      .masks = 4};
  SamSizes large = base;
  large.width = 1024, large.depth = 24, large.heads = 16, large.hidden = 4096, large.global = {5, 11, 17, 23};
  const SamSizes tiny;
  for (const auto& [sizes, name] : {std::pair{base, "sam_vit_b"}, {large, "sam_vit_l"}, {tiny, "sam_vit"}})
    EXPECT_EQ(identify(families(), std::make_shared<ShapesOnly>(sizes)).variant->architecture, name);
}

}  // namespace
}  // namespace ferry
