// Decoder families from their config.json alone: their layers, and refusals. (tests/parity/language_test.cc compares
// results with transformers.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/language/decoder.h"
#include "models/language/gemma/gemma.h"
#include "models/language/mistral/mistral.h"
#include "models/language/phi/phi.h"
#include "models/language/qwen/qwen.h"
#include "models/language/smollm/smollm.h"
#include "tests/converter/count.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;

const Naming kDecoderFamiliesNaming = {.framework = "transformers"};

json small_config() {
  return {{"vocab_size", 40},       {"hidden_size", 24},        {"intermediate_size", 20},
          {"num_hidden_layers", 6}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"head_dim", 8},          {"rms_norm_eps", 1e-5},     {"max_position_embeddings", 64}};
}

json changed(const json& change) {
  json config = small_config();
  if (!change.is_null()) config.update(change);  // unlike merge_patch(), keeps a null
  return config;
}

using MakeNetwork = language::Network (*)(const json& config);

struct Parts {
  bool fused = false, biased = false, head_norms = false, sandwich = false, tied = false;
};

std::shared_ptr<MemoryCheckpoint> checkpoint_of(const Parts& has) {
  auto out = std::make_shared<MemoryCheckpoint>();
  out->add("model.embed_tokens.weight", {40, 24});
  out->add("model.norm.weight", {24});
  if (!has.tied) out->add("lm_head.weight", {40, 24});
  for (int layer = 0; layer < 6; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    std::vector<std::string> norms = {"input_layernorm", "post_attention_layernorm"};
    if (has.sandwich) norms.insert(norms.end(), {"pre_feedforward_layernorm", "post_feedforward_layernorm"});
    for (const std::string& norm : norms) out->add(name + norm + ".weight", {24});
    const auto projection = [&](const std::string& module, int64_t rows, int64_t columns, bool biased) {
      out->add(name + module + ".weight", {rows, columns});
      if (biased) out->add(name + module + ".bias", {rows});
    };
    if (has.fused) {
      projection("self_attn.qkv_proj", 64, 24, has.biased);
      projection("mlp.gate_up_proj", 40, 24, false);
    } else {
      projection("self_attn.q_proj", 32, 24, has.biased);
      projection("self_attn.k_proj", 16, 24, has.biased);
      projection("self_attn.v_proj", 16, 24, has.biased);
      projection("mlp.gate_proj", 20, 24, false);
      projection("mlp.up_proj", 20, 24, false);
    }
    if (has.head_norms)
      for (const char* norm : {"self_attn.q_norm", "self_attn.k_norm"}) out->add(name + norm + ".weight", {8});
    projection("self_attn.o_proj", 24, 32, false);
    projection("mlp.down_proj", 24, 20, false);
  }
  return out;
}

void build(Graph& graph, MakeNetwork family, const json& change, const Parts& has, int max_length = 64) {
  Ledger ledger(checkpoint_of(has), kDecoderFamiliesNaming);
  const Tensor ids = graph.add_input("input_ids", {1, 1}, fbs::Layout::Same, fbs::DType::Int64);
  const language::Network network = family(changed(change));
  graph.add_output("logits", network.logits(ids, Weights(graph, ledger), {graph, max_length}), fbs::Layout::Same);
  ledger.finish();
}

// The attention windows of the layers.
std::vector<int> windows(MakeNetwork family, const json& change, const Parts& has) {
  Graph graph;
  build(graph, family, change, has);
  std::vector<int> out;
  for (const auto& op : graph.table.operators)
    if (const auto* attention = op->params.AsAttention()) out.push_back(attention->window);
  std::vector<int> kept;  // by the states; a layer has two
  for (const auto& state : graph.table.states) kept.push_back(state->window);
  std::vector<int> expected;
  for (const int window : out) expected.insert(expected.end(), 2, window);
  EXPECT_EQ(kept, expected);
  return out;
}

using Windows = std::vector<int>;

TEST(DecoderFamilies, MistralHasAWindowInEveryLayer) {
  EXPECT_EQ(windows(mistral::network, {{"sliding_window", 8}}, {}), Windows(6, 8));
  EXPECT_EQ(windows(mistral::network, {{"sliding_window", nullptr}}, {}), Windows(6, 0));
  EXPECT_EQ(windows(mistral::network, {}, {}), Windows(6, 4096)) << "the default of transformers' MistralConfig";
}

TEST(DecoderFamilies, Qwen2HasAWindowIfConfigured) {
  const Parts has{.biased = true};
  const auto seen = [&](const json& change) { return windows(qwen::network_2, change, has); };
  EXPECT_EQ(seen({{"sliding_window", 8}, {"max_window_layers", 2}}), Windows(6, 0)) << "use_sliding_window is false";
  EXPECT_EQ(seen({{"use_sliding_window", true}, {"sliding_window", 8}, {"max_window_layers", 4}}),
            (Windows{0, 0, 0, 0, 8, 8}));
  EXPECT_EQ(seen({{"use_sliding_window", true}, {"sliding_window", 8}, {"max_window_layers", 0}}), Windows(6, 8));
  EXPECT_EQ(seen({{"use_sliding_window", true}, {"sliding_window", nullptr}, {"max_window_layers", 0}}), Windows(6, 0));
  const char *full = "full_attention", *sliding = "sliding_attention";
  EXPECT_EQ(seen({{"use_sliding_window", true},
                  {"sliding_window", 8},
                  {"layer_types", {sliding, full, full, sliding, full, full}}}),
            (Windows{8, 0, 0, 8, 0, 0}));
}

TEST(DecoderFamilies, ATiedHeadMayLieInTheCheckpoint) {
  Graph without, with;
  const json tied = {{"tie_word_embeddings", true}};
  build(without, qwen::network_2, tied, {.biased = true, .tied = true});
  build(with, qwen::network_2, tied, {.biased = true});
  EXPECT_EQ(with.table.buffers.size(), without.table.buffers.size()) << "it is left aside";
}

TEST(DecoderFamilies, SmolLM3LeavesLayersWithoutRope) {
  const auto rotations = [](const json& change) {
    Graph graph;
    build(graph, smollm3::network, change, {.tied = true});
    return count(graph, fbs::OpParams::RotaryEmbedding);
  };
  EXPECT_EQ(rotations({}), 10u) << "the fourth layer of six is not listed";
  EXPECT_EQ(rotations({{"no_rope_layer_interval", 2}}), 6u);
  EXPECT_EQ(rotations({{"no_rope_layers", {1, 0, 0, 0, 0, 1}}}), 4u);
  EXPECT_EQ(windows(smollm3::network, {{"use_sliding_window", true}, {"sliding_window", 5}}, {.tied = true}),
            (Windows{0, 0, 0, 5, 0, 0}));
}

TEST(DecoderFamilies, PhiRotatesAPartOfEachHead) {
  Graph graph;
  build(graph, phi3::network, {{"partial_rotary_factor", 0.75}, {"sliding_window", 9}}, {.fused = true});
  for (const auto& op : graph.table.operators) {
    if (op->params.type != fbs::OpParams::RotaryEmbedding) continue;
    EXPECT_EQ(channels({&graph, op->inputs[1]}), 6);
  }
  EXPECT_EQ(count(graph, fbs::OpParams::RotaryEmbedding), 12);
}

TEST(DecoderFamilies, GemmaHasGlobalAttentionInEverySixthLayer) {
  const Parts has{.head_norms = true, .sandwich = true, .tied = true};
  EXPECT_EQ(windows(gemma::network_3, {{"sliding_window", 7}}, has), (Windows{7, 7, 7, 7, 7, 0}));
  EXPECT_EQ(windows(gemma::network_3, {{"sliding_window", 7}, {"sliding_window_pattern", 2}}, has),
            (Windows{7, 0, 7, 0, 7, 0}));
  Graph plain, capped;
  build(plain, gemma::network_3, {}, has);
  build(capped, gemma::network_3, {{"final_logit_softcapping", 30.0}}, has);
  EXPECT_EQ(capped.table.operators.size(), plain.table.operators.size() + 3) << "divided, tanh, multiplied";
}

TEST(DecoderFamilies, Gemma2AlternatesWindowsAndCapsScores) {
  const Parts has{.sandwich = true, .tied = true};
  EXPECT_EQ(windows(gemma::network_2, {{"sliding_window", 7}}, has), (Windows{7, 0, 7, 0, 7, 0}));
  const auto caps = [&](const json& change) {
    Graph graph;
    build(graph, gemma::network_2, change, has);
    const auto& ops = graph.table.operators;
    const auto attends = [](const auto& op) { return op->params.type == fbs::OpParams::Attention; };
    const float scores = (*std::find_if(ops.begin(), ops.end(), attends))->params.AsAttention()->softcap;
    return std::pair(scores, count(graph, fbs::OpParams::Unary));
  };
  const auto [scores, unaries] = caps({});
  EXPECT_EQ(scores, 50) << "transformers' default";
  EXPECT_EQ(caps({{"attn_logit_softcapping", 20.5}}).first, 20.5f);
  EXPECT_EQ(caps({{"attn_logit_softcapping", nullptr}}).first, 0);
  EXPECT_EQ(caps({{"final_logit_softcapping", nullptr}}).second, unaries - 1);
}

TEST(DecoderFamilies, GemmasEmbeddingsAreScaledAsItsWeightsRound) {
  const Parts has{.head_norms = true, .sandwich = true, .tied = true};
  const auto scale = [&](const char* name, const char* type) {
    Graph graph;
    build(graph, gemma::network_3, {{name, type}}, has);
    for (const auto& op : graph.table.operators)
      if (op->params.type == fbs::OpParams::Binary) return graph.values(op->inputs[1]).at(0);
    return 0.0;
  };
  EXPECT_EQ(scale("dtype", "float32"), double{std::sqrt(24.0f)});
  EXPECT_EQ(scale("dtype", "bfloat16"), 4.90625);         // 4.898979 rounded to 8 bits
  EXPECT_EQ(scale("torch_dtype", "float16"), 4.8984375);  // rounded to 11 bits
}

TEST(DecoderFamilies, UnsupportedConfigsAreRefusedWithAMessage) {
  const json longrope = {{"rope_type", "longrope"}, {"short_factor", {1, 1, 1, 1}}, {"long_factor", {1, 1, 1}}};
  const json per_type = {{"sliding_attention", {{"rope_type", "default"}}}};
  const struct {
    MakeNetwork family;
    json change;
    const char* words;
  } cases[] = {
      {mistral::network, {{"sliding_window", 0}}, "sliding_window is invalid, expected a number above 0"},
      {mistral::network, {{"partial_rotary_factor", 0.5}}, "partial_rotary_factor is 0.5, expected 1"},
      {qwen::network_2, {{"layer_types", {"full_attention"}}}, "a list of 6 strings"},
      {qwen::network_2,
       {{"layer_types", json::array({1, 2, 3, 4, 5, 6})}},
       "layer_types contains an element that is not a string"},
      {qwen::network_2,
       {{"layer_types", json::array_t(6, "chunked_attention")}},
       "layer_types holds 'chunked_attention'"},
      {qwen::network_3, {{"layer_types", json::array_t(6, "sliding_attention")}}, "but there is no sliding_window"},
      {qwen::network_3, {{"max_window_layers", -1}}, "max_window_layers"},
      {qwen::network_3, {{"hidden_act", "relu2"}}, "hidden_act is 'relu2'"},
      {smollm3::network, {{"no_rope_layers", {1, 0}}}, "a list of 6 truth values"},
      {smollm3::network,
       {{"no_rope_layers", {1, 0, 2, 0, 0, 0}}},
       "no_rope_layers contains an element other than 0 and 1"},
      {phi3::network, {{"partial_rotary_factor", 0.4}}, "expected an even number of a head's 8 channels"},
      {phi3::network, {{"partial_rotary_factor", 1.5}}, "partial_rotary_factor is 1.5"},
      {phi3::network,
       {{"rope_scaling", longrope}},
       "rope_scaling: long_factor is invalid, expected a list of 4 numbers"},
      {phi3::network,
       {{"rope_scaling", {{"type", "yarn"}, {"factor", 4}}}},
       "'yarn', expected default or longrope for Phi-3"},
      {gemma::network_3, {{"attn_logit_softcapping", 50.0}}, "attn_logit_softcapping"},
      {gemma::network_2, {{"attn_logit_softcapping", -1}}, "attn_logit_softcapping is invalid"},
      {gemma::network_2, {{"final_logit_softcapping", "30"}}, "final_logit_softcapping is invalid"},
      {gemma::network_3, {{"use_bidirectional_attention", true}}, "use_bidirectional_attention"},
      {gemma::network_3, {{"rope_parameters", per_type}}, "rope_parameters: full_attention is missing"},
      {gemma::network_3, {{"hidden_activation", 5}}, "hidden_activation is not a string"},
  };
  for (const auto& [family, change, words] : cases) {
    const std::string said = complaint([&, family = family, &change = change] { family(changed(change)); });
    EXPECT_NE(said.find(words), std::string::npos) << change << ": " << said;
  }
}

}  // namespace
}  // namespace ferry
