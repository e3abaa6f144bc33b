// Mixture-of-experts families from their config.json alone: which layers have experts, checkpoint layouts, refusals.
// (tests/parity/language_test.cc compares results with transformers.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/language/decoder.h"
#include "models/language/deepseek/deepseek.h"
#include "models/language/gpt_oss/gpt_oss.h"
#include "models/language/qwen/qwen.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;
using MakeNetwork = language::Network (*)(const json& config);

const Naming kMixturesNaming = {.framework = "transformers"};
constexpr int kMixturesLayers = 4, kWidth = 12, kHidden = 6, kExperts = 4;

json config_with(const json& change) {
  json config = {{"vocab_size", 40},       {"hidden_size", kWidth},      {"intermediate_size", kHidden},
                 {"num_hidden_layers", 4}, {"num_attention_heads", 2},   {"num_key_value_heads", 1},
                 {"head_dim", 4},          {"moe_intermediate_size", 6}, {"num_experts_per_tok", 2},
                 {"num_local_experts", 4}, {"sliding_window", 5},        {"max_position_embeddings", 64},
                 {"qk_nope_head_dim", 6},  {"qk_rope_head_dim", 4},      {"v_head_dim", 5},
                 {"kv_lora_rank", 8},      {"q_lora_rank", 7},           {"n_group", 2},
                 {"topk_group", 1},        {"first_k_dense_replace", 1}, {"tie_word_embeddings", true}};
  if (!change.is_null()) config.update(change);
  return config;
}

using SharedCheckpoint = std::shared_ptr<MemoryCheckpoint>;

// The tensors of all layers outside of attention and experts.
SharedCheckpoint checkpoint() {
  auto out = std::make_shared<MemoryCheckpoint>();
  out->add("model.embed_tokens.weight", {40, kWidth});
  out->add("model.norm.weight", {kWidth});
  for (int i = 0; i < kMixturesLayers; ++i)
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
      out->add("model.layers." + std::to_string(i) + "." + norm + ".weight", {kWidth});
  return out;
}

std::string layer(int i, const char* module) { return "model.layers." + std::to_string(i) + "." + module; }

void add_attention(MemoryCheckpoint& to, int i, bool head_norms) {
  for (const auto& [name, rows, columns] : {std::tuple("q_proj", 8, kWidth), std::tuple("k_proj", 4, kWidth),
                                            std::tuple("v_proj", 4, kWidth), std::tuple("o_proj", kWidth, 8)})
    to.add(layer(i, "self_attn.") + name + ".weight", {rows, columns});
  if (!head_norms) return;
  for (const char* norm : {"q_norm", "k_norm"}) to.add(layer(i, "self_attn.") + norm + ".weight", {4});
}

void add_mlp(MemoryCheckpoint& to, const std::string& name) {
  to.add(name + ".gate_proj.weight", {kHidden, kWidth});
  to.add(name + ".up_proj.weight", {kHidden, kWidth});
  to.add(name + ".down_proj.weight", {kWidth, kHidden});
}

void add_experts(MemoryCheckpoint& to, int i) {
  to.add(layer(i, "mlp.gate.weight"), {kExperts, kWidth});
  for (int e = 0; e < kExperts; ++e) add_mlp(to, layer(i, "mlp.experts.") + std::to_string(e));
}

void build(Graph& graph, MakeNetwork family, const json& change, const SharedCheckpoint& from) {
  Ledger ledger(from, kMixturesNaming);
  const Tensor ids = graph.add_input("input_ids", {1, 1}, fbs::Layout::Same, fbs::DType::Int64);
  const language::Network network = family(config_with(change));
  graph.add_output("logits", network.logits(ids, Weights(graph, ledger), {graph, 64}), fbs::Layout::Same);
  ledger.finish();
}

std::vector<const fbs::OperatorT*> all_of(const Graph& graph, fbs::OpParams type) {
  std::vector<const fbs::OperatorT*> out;
  for (const auto& op : graph.table.operators)
    if (op->params.type == type) out.push_back(op.get());
  return out;
}

SharedCheckpoint qwen(const std::vector<bool>& with_experts) {
  const SharedCheckpoint out = checkpoint();
  for (int i = 0; i < kMixturesLayers; ++i) {
    add_attention(*out, i, true);
    with_experts[static_cast<size_t>(i)] ? add_experts(*out, i) : add_mlp(*out, layer(i, "mlp"));
  }
  return out;
}

TEST(Mixtures, QwenSaysWhichLayersHaveExperts) {
  const auto experts = [](const json& change, const std::vector<bool>& with_experts) {
    Graph graph;
    build(graph, qwen::network_3_moe, change, qwen(with_experts));
    return all_of(graph, fbs::OpParams::Experts).size();
  };
  EXPECT_EQ(experts({}, {true, true, true, true}), 4u);
  EXPECT_EQ(experts({{"mlp_only_layers", {0, 3, 9}}}, {false, true, true, false}), 2u);
  EXPECT_EQ(experts({{"decoder_sparse_step", 2}}, {false, true, false, true}), 2u);
  EXPECT_EQ(experts({{"decoder_sparse_step", 2}, {"mlp_only_layers", {3}}}, {false, true, false, false}), 1u);
}

// The values of a graph's first stacks: gate_up, then down.
std::vector<std::vector<double>> stacks(Graph& graph) {
  const std::vector<TensorId>& inputs = all_of(graph, fbs::OpParams::Experts).front()->inputs;
  return {graph.values(inputs[3]), graph.values(inputs[4])};
}

std::vector<float> narrow(const std::vector<double>& values) { return {values.begin(), values.end()}; }

// [E,rows,columns] to [E,columns,rows].
std::vector<float> turned(const std::vector<float>& values, size_t rows, size_t columns) {
  std::vector<float> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t expert = i / (rows * columns), row = i / columns % rows, column = i % columns;
    out[(expert * columns + column) * rows + row] = values[i];
  }
  return out;
}

TEST(Mixtures, ExpertsMayBeStoredOneByOneOrAllInOne) {
  const std::vector<bool> only_first = {true, false, false, false};
  const json change = {{"mlp_only_layers", {1, 2, 3}}};
  Graph apart;
  build(apart, qwen::network_3_moe, change, qwen(only_first));
  const auto expected = stacks(apart);
  ASSERT_EQ(expected[0].size(), size_t{kExperts * 2 * kHidden * kWidth});
  for (const bool columns : {false, true}) {
    const SharedCheckpoint fused = qwen({false, false, false, false});
    for (const char* name : {"gate_proj", "up_proj", "down_proj"}) fused->remove(layer(0, "mlp.") + name + ".weight");
    fused->add(layer(0, "mlp.gate.weight"), {kExperts, kWidth});
    const std::vector<float> up = narrow(expected[0]), down = narrow(expected[1]);
    if (columns) {  // with 2 * kHidden = kWidth, only the other stack shows the layout
      fused->add(layer(0, "mlp.experts.gate_up_proj"), {kExperts, kWidth, 2 * kHidden},
                 turned(up, 2 * kHidden, kWidth));
      fused->add(layer(0, "mlp.experts.down_proj"), {kExperts, kHidden, kWidth}, turned(down, kWidth, kHidden));
    } else {
      fused->add(layer(0, "mlp.experts.gate_up_proj"), {kExperts, 2 * kHidden, kWidth}, up);
      fused->add(layer(0, "mlp.experts.down_proj"), {kExperts, kWidth, kHidden}, down);
    }
    Graph graph;
    build(graph, qwen::network_3_moe, change, fused);
    EXPECT_EQ(stacks(graph), expected) << columns;
  }
}

SharedCheckpoint gpt_oss_without_experts(int hidden_size) {
  auto out = std::make_shared<MemoryCheckpoint>();
  out->add("model.embed_tokens.weight", {40, hidden_size});
  out->add("model.norm.weight", {hidden_size});
  for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
    out->add(layer(0, norm) + ".weight", {hidden_size});
  for (const auto& [name, rows] : {std::pair("q_proj", 8), std::pair("k_proj", 4), std::pair("v_proj", 4)}) {
    out->add(layer(0, "self_attn.") + name + ".weight", {rows, hidden_size});
    out->add(layer(0, "self_attn.") + name + ".bias", {rows});
  }
  out->add(layer(0, "self_attn.o_proj.weight"), {hidden_size, 8});
  out->add(layer(0, "self_attn.o_proj.bias"), {hidden_size});
  out->add(layer(0, "self_attn.sinks"), {2});
  out->add(layer(0, "mlp.router.weight"), {kExperts, hidden_size});
  out->add(layer(0, "mlp.router.bias"), {kExperts});
  out->add(layer(0, "mlp.experts.down_proj_bias"), {kExperts, hidden_size});
  return out;
}

TEST(Mixtures, GptOssInterleavesGatesAndUpsAndTransposesWeights) {
  const SharedCheckpoint from = gpt_oss_without_experts(kWidth);
  std::vector<float> up(kExperts * kWidth * 2 * kHidden), down(kExperts * kHidden * kWidth),
      bias(kExperts * 2 * kHidden);
  for (std::vector<float>* values : {&up, &down, &bias})
    for (size_t i = 0; i < values->size(); ++i) (*values)[i] = static_cast<float>(i);
  from->add(layer(0, "mlp.experts.gate_up_proj"), {kExperts, kWidth, 2 * kHidden}, up);
  from->add(layer(0, "mlp.experts.down_proj"), {kExperts, kHidden, kWidth}, down);
  from->add(layer(0, "mlp.experts.gate_up_proj_bias"), {kExperts, 2 * kHidden}, bias);
  Graph graph;
  build(graph, gpt_oss::network, {{"num_hidden_layers", 1}}, from);
  const auto read = stacks(graph);
  for (const int expert : {0, 3})
    for (const int is_up : {0, 1})
      for (const int h : {0, 2, kHidden - 1})
        for (const int c : {0, 7, kWidth - 1}) {
          EXPECT_EQ(read[0][size_t((expert * 2 * kHidden + is_up * kHidden + h) * kWidth + c)],
                    (expert * kWidth + c) * 2 * kHidden + 2 * h + is_up);
          EXPECT_EQ(read[1][size_t((expert * kWidth + c) * kHidden + h)], (expert * kHidden + h) * kWidth + c);
        }
  const fbs::OperatorT& op = *all_of(graph, fbs::OpParams::Experts).front();
  EXPECT_EQ(graph.values(op.inputs[5])[size_t(2 * kHidden + kHidden + 1)], 2 * kHidden + 3);
  EXPECT_EQ(op.params.AsExperts()->activation, fbs::ExpertsActivation::ClampedSwish);
  EXPECT_TRUE(all_of(graph, fbs::OpParams::Attention).front()->params.AsAttention()->sinks);
}

// Blocks of 32 along the rows of the product; a byte's lower half is the first value.
SharedCheckpoint gpt_oss_of_mxfp4() {
  const SharedCheckpoint from = gpt_oss_without_experts(32);
  std::vector<uint8_t> up(kExperts * 64 * 16), up_scales(kExperts * 64), down(kExperts * 32 * 16),
      down_scales(kExperts * 32);
  for (size_t i = 0; i < up.size(); ++i) up[i] = static_cast<uint8_t>(i * 37);
  for (size_t i = 0; i < up_scales.size(); ++i) up_scales[i] = static_cast<uint8_t>(120 + i % 9);
  for (size_t i = 0; i < down.size(); ++i) down[i] = static_cast<uint8_t>(0xf7);
  for (uint8_t& scale : down_scales) scale = 0;
  from->add(layer(0, "mlp.experts.gate_up_proj_blocks"), {kExperts, 64, 1, 16}, up);
  from->add(layer(0, "mlp.experts.gate_up_proj_scales"), {kExperts, 64, 1}, up_scales);
  from->add(layer(0, "mlp.experts.down_proj_blocks"), {kExperts, 32, 1, 16}, down);
  from->add(layer(0, "mlp.experts.down_proj_scales"), {kExperts, 32, 1}, down_scales);
  from->add(layer(0, "mlp.experts.gate_up_proj_bias"), {kExperts, 64});
  return from;
}

const json kMxfp4Sizes = {{"num_hidden_layers", 1}, {"hidden_size", 32}, {"intermediate_size", 32}};

TEST(Mixtures, Mxfp4IsReadExactly) {
  constexpr double kNumbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  Graph graph;
  build(graph, gpt_oss::network, kMxfp4Sizes, gpt_oss_of_mxfp4());
  const auto read = stacks(graph);
  for (const size_t expert : {0, 2})
    for (const size_t is_up : {0, 1})
      for (const size_t h : {0, 5, 31})
        for (const size_t c : {0, 1, 17}) {
          const size_t row = expert * 64 + 2 * h + is_up;
          const auto byte = static_cast<uint8_t>((row * 16 + c / 2) * 37);
          EXPECT_EQ(read[0][(expert * 64 + is_up * 32 + h) * 32 + c],
                    std::ldexp(kNumbers[c % 2 == 0 ? byte & 15 : byte >> 4], static_cast<int>(row % 9) - 7));
        }
  EXPECT_EQ(read[1][0], 6 * 0x1p-127);  // subnormal in float32
  EXPECT_EQ(read[1][1], -6 * 0x1p-127);
}

TEST(Mixtures, InvalidMxfp4IsRefused) {
  const auto complaint_of = [](const auto& change) {
    const SharedCheckpoint from = gpt_oss_of_mxfp4();
    change(*from);
    Graph graph;
    return complaint([&] { build(graph, gpt_oss::network, kMxfp4Sizes, from); });
  };
  const std::string up = layer(0, "mlp.experts.gate_up_proj");
  EXPECT_NE(complaint_of([&](MemoryCheckpoint& c) { c.set_type(up + "_blocks", ElementType::I8); }).find("MXFP4 is U8"),
            std::string::npos);
  EXPECT_NE(complaint_of([&](MemoryCheckpoint& c) { c.remove(up + "_scales"); }).find("has no '" + up + "_scales'"),
            std::string::npos);
  EXPECT_NE(complaint_of([&](MemoryCheckpoint& c) {
              c.add(up + "_blocks", {kExperts, 64, 1, 8}, std::vector<uint8_t>(kExperts * 64 * 8));
            }).find("does not have 16 bytes"),
            std::string::npos);
  EXPECT_NE(complaint_of([&](MemoryCheckpoint& c) {
              c.add(up + "_blocks", {kExperts, 32, 1, 16}, std::vector<uint8_t>(kExperts * 32 * 16));
              c.add(up + "_scales", {kExperts, 32, 1}, std::vector<uint8_t>(kExperts * 32));
            }).find("has shape [4,32,32]"),
            std::string::npos);
}

SharedCheckpoint deepseek(bool low_rank, int dense = 1) {
  const SharedCheckpoint out = checkpoint();
  for (int i = 0; i < kMixturesLayers; ++i) {
    const auto add = [&](const char* name, std::vector<int64_t> shape) {
      out->add(layer(i, "self_attn.") + name + ".weight", shape);
    };
    if (low_rank) {
      add("q_a_proj", {7, kWidth});
      add("q_a_layernorm", {7});
      add("q_b_proj", {20, 7});
    } else {
      add("q_proj", {20, kWidth});
    }
    add("kv_a_proj_with_mqa", {12, kWidth});
    add("kv_a_layernorm", {8});
    add("kv_b_proj", {22, 8});
    add("o_proj", {kWidth, 10});
    if (i < dense) {
      add_mlp(*out, layer(i, "mlp"));
    } else {
      add_experts(*out, i);
      add_mlp(*out, layer(i, "mlp.shared_experts"));
      out->add(layer(i, "mlp.gate.e_score_correction_bias"), {kExperts});
    }
  }
  return out;
}

TEST(Mixtures, DeepSeekKeepsOneVectorOfEachToken) {
  Graph graph;
  build(graph, deepseek_v3::network, {}, deepseek(true));
  ASSERT_EQ(graph.table.states.size(), size_t{kMixturesLayers});
  EXPECT_EQ(graph.table.states[0]->shape, (std::vector<int32_t>{1, 64, 12}));
  EXPECT_EQ(all_of(graph, fbs::OpParams::Experts).size(), 3u);
  const auto* attention = all_of(graph, fbs::OpParams::Attention).front()->params.AsAttention();
  EXPECT_EQ(attention->kv_heads, 1);
  EXPECT_FLOAT_EQ(attention->scale, static_cast<float>(1 / std::sqrt(10.0)));

  Graph plain;
  build(plain, deepseek_v3::network, {{"q_lora_rank", nullptr}, {"first_k_dense_replace", 4}}, deepseek(false, 4));
  EXPECT_EQ(all_of(plain, fbs::OpParams::Experts).size(), 0u);
}

TEST(Mixtures, DeepSeeksScoresAreScaledWithYarn) {
  const json rope = {
      {"type", "yarn"}, {"factor", 4}, {"mscale", 1}, {"mscale_all_dim", 1}, {"original_max_position_embeddings", 16}};
  Graph graph;
  build(graph, deepseek_v3::network, {{"rope_scaling", rope}}, deepseek(true));
  const double mscale = 0.1 * std::log(4.0) + 1;
  EXPECT_FLOAT_EQ(all_of(graph, fbs::OpParams::Attention).front()->params.AsAttention()->scale,
                  static_cast<float>(mscale * mscale / std::sqrt(10.0)));
}

TEST(Mixtures, MultiTokenPredictionIsIgnored) {
  const SharedCheckpoint from = deepseek(true);
  from->add("model.layers.4.embed_tokens.weight", {40, kWidth});
  from->add("model.layers.4.eh_proj.weight", {kWidth, 2 * kWidth});
  from->add("mtp.fc.weight", {kWidth, kWidth});
  Graph graph;
  build(graph, deepseek_v3::network, {}, from);
  from->add("model.layers.5.eh_proj.weight", {kWidth, 2 * kWidth});
  Graph more;
  EXPECT_NE(complaint([&] { build(more, deepseek_v3::network, {}, from); }).find("model.layers.5.eh_proj"),
            std::string::npos)
      << "one such layer is expected";
}

TEST(Mixtures, UnsupportedConfigsAreRefusedWithAMessage) {
  const struct {
    MakeNetwork family;
    json change;
    const char* words;
  } cases[] = {
      {qwen::network_3_moe, {{"num_experts_per_tok", 5}}, "num_experts_per_tok is 5, but there are 4 experts"},
      {qwen::network_3_moe, {{"num_local_experts", -4}}, "num_local_experts is invalid, expected a number above 0"},
      {qwen::network_3_moe,
       {{"num_local_experts", 1e9}},
       "num_local_experts is 1e+09, expected an integer of at most 2^20"},
      {qwen::network_3_moe, {{"moe_intermediate_size", 0}}, "moe_intermediate_size is invalid"},
      {qwen::network_3_moe,
       {{"mlp_only_layers", {0, -1}}},
       "mlp_only_layers contains an element that is not an integer"},
      {qwen::network_3_moe, {{"mlp_only_layers", 3}}, "mlp_only_layers is not a list"},
      {qwen::network_3_moe, {{"decoder_sparse_step", 0}}, "decoder_sparse_step is invalid"},
      {qwen::network_3_moe, {{"norm_topk_prob", 1}}, "norm_topk_prob is neither true nor false"},
      {qwen::network_3_moe, {{"hidden_act", "gelu"}}, "the experts' activation is 'gelu'"},
      {gpt_oss::network, {{"swiglu_limit", -7}}, "swiglu_limit is invalid"},
      {gpt_oss::network, {{"num_experts_per_tok", 9}}, "num_experts_per_tok is 9"},
      {deepseek_v3::network, {{"n_group", 3}}, "4 experts in n_group 3 groups"},
      {deepseek_v3::network,
       {{"n_group", 4}},
       "4 experts in n_group 4 groups, expected groups of equal size with at least two experts"},
      {deepseek_v3::network, {{"topk_group", 3}}, "2 experts from topk_group 3 of 2 groups of 2"},
      {deepseek_v3::network, {{"num_experts_per_tok", 3}}, "3 experts from topk_group 1 of 2 groups of 2"},
      {deepseek_v3::network, {{"qk_rope_head_dim", 3}}, "expected an even number of a head's 3 channels"},
      {deepseek_v3::network, {{"kv_lora_rank", -1}}, "kv_lora_rank is invalid"},
      {deepseek_v3::network, {{"n_shared_experts", 1 << 20}, {"moe_intermediate_size", 1 << 20}}, "n_shared_experts"},
      {deepseek_v3::network, {{"v_head_dim", 1 << 20}, {"num_attention_heads", 1 << 20}}, "num_attention_heads"},
      {qwen::network_3_moe, {{"head_dim", 1 << 20}, {"num_attention_heads", 1 << 20}}, "num_attention_heads"},
  };
  for (const auto& [family, change, words] : cases) {
    const std::string said = complaint([&, family = family, &change = change] { family(config_with(change)); });
    EXPECT_NE(said.find(words), std::string::npos) << change << ": " << said;
  }
}

}  // namespace
}  // namespace ferry
