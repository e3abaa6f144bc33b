// Families with gated delta rule layers, from their config.json alone: which layers have it, their states, refusals.
// (tests/parity/language_test.cc compares results with transformers.)
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/passes/passes.h"
#include "models/language/qwen/qwen.h"
#include "tests/converter/count.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;

const Naming kHybridFamiliesNaming = {.framework = "transformers"};
constexpr int kHybridFamiliesLayers = 5;

json config(const json& change = {}) {
  json out = {{"vocab_size", 40},
              {"hidden_size", 24},
              {"intermediate_size", 20},
              {"num_hidden_layers", kHybridFamiliesLayers},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 2},
              {"head_dim", 8},
              {"linear_num_key_heads", 2},
              {"linear_num_value_heads", 6},
              {"linear_key_head_dim", 5},
              {"linear_value_head_dim", 3},
              {"linear_conv_kernel_dim", 3},
              {"max_position_embeddings", 64}};
  if (!change.is_null()) out.update(change);
  return out;
}

// With the sizes above; `delta`: layers with the delta rule.
std::shared_ptr<MemoryCheckpoint> hybrid_checkpoint(const std::vector<bool>& delta) {
  auto out = std::make_shared<MemoryCheckpoint>();
  out->add("model.embed_tokens.weight", {40, 24});
  out->add("model.norm.weight", {24});
  out->add("lm_head.weight", {40, 24});
  for (size_t layer = 0; layer < delta.size(); ++layer) {
    const auto add = [&](const std::string& leaf, const std::vector<int64_t>& shape) {
      out->add("model.layers." + std::to_string(layer) + "." + leaf, shape);
    };
    for (const char* norm : {"input_layernorm.weight", "post_attention_layernorm.weight"}) add(norm, {24});
    for (const char* projection : {"mlp.gate_proj.weight", "mlp.up_proj.weight"}) add(projection, {20, 24});
    add("mlp.down_proj.weight", {24, 20});
    if (delta[layer]) {
      add("linear_attn.in_proj_qkv.weight", {2 * 10 + 18, 24});
      add("linear_attn.in_proj_z.weight", {18, 24});
      add("linear_attn.in_proj_b.weight", {6, 24});
      add("linear_attn.in_proj_a.weight", {6, 24});
      add("linear_attn.conv1d.weight", {38, 1, 3});
      for (const char* leaf : {"linear_attn.A_log", "linear_attn.dt_bias"}) add(leaf, {6});
      add("linear_attn.norm.weight", {3});
      add("linear_attn.out_proj.weight", {24, 18});
    } else {
      add("self_attn.q_proj.weight", {2 * 32, 24});
      for (const char* leaf : {"self_attn.k_proj.weight", "self_attn.v_proj.weight"}) add(leaf, {16, 24});
      for (const char* leaf : {"self_attn.q_norm.weight", "self_attn.k_norm.weight"}) add(leaf, {8});
      add("self_attn.o_proj.weight", {24, 32});
    }
  }
  return out;
}

struct Built {
  Graph graph;
  std::vector<std::string> notes;
};

std::unique_ptr<Built> build(const json& config, std::shared_ptr<MemoryCheckpoint> checkpoint) {
  auto out = std::make_unique<Built>();
  Graph& graph = out->graph;
  Ledger ledger(std::move(checkpoint), kHybridFamiliesNaming);
  const Tensor ids = graph.add_input("input_ids", {1, 1}, fbs::Layout::Same, fbs::DType::Int64);
  const language::Network network = qwen::network_3_5(config);
  graph.add_output("logits", network.logits(ids, Weights(graph, ledger), {graph, 64}), fbs::Layout::Same);
  ledger.finish();
  out->notes = ledger.notes;
  return out;
}

TEST(HybridFamilies, LayersHaveTheConfiguredTypes) {
  const char *delta = "linear_attention", *full = "full_attention";
  const auto listed = build(config({{"layer_types", {full, delta, delta, full, delta}}}),
                            hybrid_checkpoint({false, true, true, false, true}));
  EXPECT_EQ(count(listed->graph, fbs::OpParams::GatedDeltaRule), 3);
  EXPECT_EQ(count(listed->graph, fbs::OpParams::Attention), 2);
  const auto fourth = build(config(), hybrid_checkpoint({true, true, true, false, true}));
  EXPECT_EQ(count(fourth->graph, fbs::OpParams::Attention), 1);
  const auto second =
      build(config({{"full_attention_interval", 2}}), hybrid_checkpoint({true, false, true, false, true}));
  EXPECT_EQ(count(second->graph, fbs::OpParams::Attention), 2);
}

TEST(HybridFamilies, HaveTheStatesOfTheirLayers) {
  const auto built = build(config(), hybrid_checkpoint({true, true, true, false, true}));
  const auto& states = built->graph.table.states;
  ASSERT_EQ(states.size(), 10u);
  EXPECT_EQ(states[0]->name, "layers.0.inputs");
  EXPECT_EQ(states[0]->shape, (std::vector<int32_t>{1, 2, 38}));
  EXPECT_EQ(states[0]->axis, Graph::kFixed);
  EXPECT_EQ(states[1]->name, "layers.0.memory");
  EXPECT_EQ(states[1]->shape, (std::vector<int32_t>{2, 1, 6, 5, 3}));
  EXPECT_EQ(states[6]->name, "layers.3.keys");
  EXPECT_EQ(states[6]->shape, (std::vector<int32_t>{1, 64, 16}));
}

TEST(HybridFamilies, MayHaveNoAttentionAtAll) {
  const std::vector<bool> all(kHybridFamiliesLayers, true);
  const auto built = build(config({{"full_attention_interval", 6}}), hybrid_checkpoint(all));
  run_passes(built->graph, {});
  EXPECT_EQ(count(built->graph, fbs::OpParams::Positions), 0);
  EXPECT_EQ(count(built->graph, fbs::OpParams::GatedDeltaRule), 5);
}

TEST(HybridFamilies, IgnoreMultiTokenPredictionWithANote) {
  const auto checkpoint = hybrid_checkpoint({true, true, true, false, true});
  checkpoint->add("mtp.fc.weight", {24, 48});
  checkpoint->add("mtp.layers.0.mlp.up_proj.weight", {20, 24});
  EXPECT_EQ(build(config(), checkpoint)->notes,
            std::vector<std::string>{"mtp.* is left out: prediction of several tokens at once, 2 tensors"});
  EXPECT_TRUE(build(config(), hybrid_checkpoint({true, true, true, false, true}))->notes.empty());
}

TEST(HybridFamilies, RefuseUnsupportedConfigs) {
  const struct {
    json change;
    const char* part;
  } kCases[] = {
      {{{"linear_num_value_heads", 5}}, "linear_num_value_heads is 5, expected a multiple of linear_num_key_heads 2"},
      {{{"linear_conv_kernel_dim", 1}}, "linear_conv_kernel_dim is 1, expected at least 2"},
      {{{"linear_key_head_dim", 0}}, "linear_key_head_dim is invalid, expected a number above 0"},
      {{{"linear_key_head_dim", 1 << 20}, {"linear_num_key_heads", 1 << 20}, {"linear_num_value_heads", 1 << 20}},
       "linear_key_head_dim"},
      {{{"layer_types", {"full_attention"}}}, "layer_types is invalid, expected a list of 5 strings"},
      {{{"layer_types", json::array({"a", "b", "c", "d", "e"})}}, "layer_types holds 'a', expected full_attention"},
      {{{"full_attention_interval", 0}}, "full_attention_interval is invalid"},
      {{{"hidden_act", "tanh"}}, "hidden_act is 'tanh'"},
      {{{"partial_rotary_factor", 0.1}}, "expected an even number of a head's 8 channels"},
  };
  for (const auto& c : kCases) {
    try {
      qwen::network_3_5(config(c.change));
      ADD_FAILURE() << c.change;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(c.part), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace ferry
