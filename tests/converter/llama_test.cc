// A Llama from its config.json alone: the graph's results by the oracle, and refusals.
#include "models/language/llama/llama.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/reference/interpreter.h"
#include "models/language/rope.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;
using reference::Array;

const Naming kLlamaNaming = {.framework = "transformers"};

json small_config() {
  return {{"model_type", "llama"},       {"vocab_size", 40},
          {"hidden_size", 24},           {"intermediate_size", 20},
          {"num_hidden_layers", 2},      {"num_attention_heads", 4},
          {"num_key_value_heads", 2},    {"rms_norm_eps", 1e-5},
          {"rope_theta", 100.0},         {"hidden_act", "silu"},
          {"tie_word_embeddings", true}, {"max_position_embeddings", 64}};
}

// The checkpoint of such a network.
std::shared_ptr<MemoryCheckpoint> checkpoint_of(const json& c) {
  auto out = std::make_shared<MemoryCheckpoint>();
  const int64_t width = c["hidden_size"], hidden = c["intermediate_size"], vocabulary = c["vocab_size"];
  const int64_t heads = c["num_attention_heads"], kv_heads = c.value("num_key_value_heads", heads);
  const int64_t head = c.value("head_dim", width / heads);
  const auto add = [&](const std::string& name, int64_t rows, int64_t columns, bool bias) {
    out->add(name + ".weight", {rows, columns});
    if (bias) out->add(name + ".bias", {rows});
  };
  out->add("model.embed_tokens.weight", {vocabulary, width});
  for (int layer = 0; layer < c["num_hidden_layers"]; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".";
    const bool attention = c.value("attention_bias", false), mlp = c.value("mlp_bias", false);
    out->add(name + "input_layernorm.weight", {width});
    out->add(name + "post_attention_layernorm.weight", {width});
    add(name + "self_attn.q_proj", heads * head, width, attention);
    add(name + "self_attn.k_proj", kv_heads * head, width, attention);
    add(name + "self_attn.v_proj", kv_heads * head, width, attention);
    add(name + "self_attn.o_proj", width, heads * head, attention);
    add(name + "mlp.gate_proj", hidden, width, mlp);
    add(name + "mlp.up_proj", hidden, width, mlp);
    add(name + "mlp.down_proj", width, hidden, mlp);
  }
  out->add("model.norm.weight", {width});
  if (!c.value("tie_word_embeddings", false)) out->add("lm_head.weight", {vocabulary, width});
  return out;
}

void build(Graph& graph, const json& config, const std::shared_ptr<const Checkpoint>& checkpoint) {
  Ledger ledger(checkpoint, kLlamaNaming);
  const language::Network network = llama::network(config);
  const Tensor ids = graph.add_input("input_ids", {1, 1}, fbs::Layout::Same, fbs::DType::Int64);
  graph.add_output("logits", network.logits(ids, Weights(graph, ledger), {graph, 64}), fbs::Layout::Same);
  ledger.finish();
}

// The oracle's logits of 20 tokens, fed in pieces of `piece`.
std::vector<double> logits(const Graph& graph, int piece) {
  std::vector<reference::State> states = reference::empty_states(graph);
  std::vector<double> out;
  constexpr int kTokens = 20;
  for (int at = 0; at < kTokens; at += piece) {
    Array ids{{1, std::min(piece, kTokens - at)}, {}, fbs::DType::Int32};
    for (int i = 0; i < ids.shape[1]; ++i) ids.values.push_back((at + i) * 7 % 40);
    auto values = reference::interpret(graph, {ids}, &states);
    const std::vector<double>& rows = values.at(graph.table.outputs.front()->tensor).values;
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

TEST(Llama, PiecesMatchTheWhole) {
  const json config = small_config();
  Graph graph;
  build(graph, config, checkpoint_of(config));
  const std::vector<double> whole = logits(graph, 20);
  ASSERT_EQ(whole.size(), 20u * 40);
  for (const int piece : {1, 7, 16}) {
    const std::vector<double> pieces = logits(graph, piece);
    ASSERT_EQ(pieces.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(pieces[i], whole[i], 1e-9) << "pieces of " << piece;
  }
}

TEST(Llama, IsBuiltInEveryConfigurationThatIsKnown) {
  const json changes[] = {
      {{"tie_word_embeddings", false}},
      {{"tie_word_embeddings", nullptr}},
      {{"attention_bias", true}, {"mlp_bias", true}},
      {{"head_dim", 10}},
      {{"num_key_value_heads", 4}},
      {{"num_key_value_heads", nullptr}},
      {{"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}},
      {{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500.0}}}},
  };
  for (const json& change : changes) {
    json config = small_config();
    config.merge_patch(change);
    Graph graph;
    build(graph, config, checkpoint_of(config));
    EXPECT_EQ(graph.table.states.size(), 4u) << change;
    for (const char* tap : {"model.embed_tokens", "model.layers.1.self_attn", "model.layers.1.mlp.down_proj",
                            "model.layers.1", "model.norm", "lm_head"})
      EXPECT_TRUE(std::any_of(graph.table.taps.begin(), graph.table.taps.end(), [&](const auto& port) {
        return port->name == tap;
      })) << tap;
  }
}

TEST(Llama, RopeIsTheSameInBothSpellings) {
  const json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 64}};
  json before = {{"rope_theta", 10000.0}, {"rope_scaling", llama3}}, since = {{"rope_parameters", llama3}};
  since["rope_parameters"]["rope_theta"] = 10000.0;
  const auto rope_of = [](const json& config) {
    return language::rope_of(language::Configuration(config, "config.json"), 32);
  };
  const std::vector<double> frequencies = rope_of(before).frequencies;
  EXPECT_EQ(frequencies, rope_of(since).frequencies);
  // In float32, as transformers computes them. Wavelengths up to 64 / 4 positions stay, from 64 on they are 8 times as
  // long, and in between they are interpolated.
  const auto plain = [](int i) { return std::pow(10000.0, -i / 16.0); };
  EXPECT_FLOAT_EQ(static_cast<float>(frequencies[0]), static_cast<float>(plain(0)));
  EXPECT_FLOAT_EQ(static_cast<float>(frequencies[15]), static_cast<float>(plain(15) / 8));
  const double waves = 64 * plain(3) / (2 * 3.14159265358979323846), kept = (waves - 1) / 3;
  EXPECT_FLOAT_EQ(static_cast<float>(frequencies[3]), static_cast<float>(plain(3) * (kept + (1 - kept) / 8)));
}

TEST(Llama, UnsupportedConfigsAreRefusedWithAMessage) {
  const std::pair<json, const char*> cases[] = {
      {{{"hidden_size", nullptr}}, "hidden_size is missing"},
      {{{"hidden_size", "24"}}, "hidden_size is invalid"},
      {{{"hidden_size", -24}}, "hidden_size is invalid, expected a number above 0"},
      {{{"vocab_size", 1e300}}, "vocab_size is 1e+300"},
      {{{"num_hidden_layers", 2.5}}, "num_hidden_layers is 2.5"},
      {{{"num_key_value_heads", 3}}, "4 attention heads, expected a multiple of 3"},
      {{{"num_attention_heads", 5}, {"num_key_value_heads", 5}}, "not a multiple of 5 heads"},
      {{{"head_dim", 5}}, "heads of 5 channels"},
      {{{"hidden_act", "relu2"}}, "hidden_act is 'relu2'"},
      {{{"rms_norm_eps", 0}}, "rms_norm_eps"},
      {{{"tie_word_embeddings", 1}}, "tie_word_embeddings is neither true nor false"},
      {{{"partial_rotary_factor", 0.5}}, "partial_rotary_factor is 0.5"},
      {{{"rope_scaling", {{"rope_type", "xpos"}, {"factor", 4.0}}}}, "rope of type 'xpos'"},
      {{{"rope_scaling", {{"rope_type", "linear"}}}}, "rope_scaling: factor is missing"},
      {{{"rope_scaling", 7}}, "rope_scaling: expected an object"},
      {{{"rope_parameters", {{"rope_type", 3}}}}, "rope_type is not a string"},
      {{{"rope_interleaved", true}}, "rope_interleaved"},
  };
  for (const auto& [change, words] : cases) {
    json config = small_config();
    config.merge_patch(change);
    if (change.contains("rms_norm_eps")) config["rms_norm_eps"] = 0;
    const std::string said = complaint([&] { llama::network(config); });
    EXPECT_NE(said.find(words), std::string::npos) << change << ": " << said;
  }
  EXPECT_NE(complaint([] { llama::network(json::array()); }).find("expected an object"), std::string::npos);
}

TEST(Llama, MismatchedKeysAreNamed) {
  const json config = small_config();
  auto checkpoint = checkpoint_of(config);
  checkpoint->remove("model.layers.1.mlp.up_proj.weight");
  Graph graph;
  const std::string missing = complaint([&] { build(graph, config, checkpoint); });
  EXPECT_NE(missing.find("model.layers.1.mlp.up_proj.weight"), std::string::npos) << missing;

  checkpoint = checkpoint_of(config);
  checkpoint->add("model.layers.1.self_attn.q_norm.weight", {6});
  Graph other;
  const std::string unread = complaint([&] { build(other, config, checkpoint); });
  EXPECT_NE(unread.find("q_norm"), std::string::npos) << unread;
}

}  // namespace
}  // namespace ferry
