// Fixtures of language models written as GGUF convert to the same bytes as their safetensors, so that logits are equal.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "converter/graph/float16.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "sdk/model/elements.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

struct GgufCase {
  const char *fixture, *architecture;
};

std::ostream& operator<<(std::ostream& out, const GgufCase& one) { return out << one.fixture; }

// llama.cpp's names, by transformers' within a layer.
const std::map<std::string, std::string> kNames = {{"input_layernorm", "attn_norm"},
                                                   {"self_attn.q_proj", "attn_q"},
                                                   {"self_attn.k_proj", "attn_k"},
                                                   {"self_attn.v_proj", "attn_v"},
                                                   {"self_attn.qkv_proj", "attn_qkv"},
                                                   {"self_attn.o_proj", "attn_output"},
                                                   {"self_attn.q_norm", "attn_q_norm"},
                                                   {"self_attn.k_norm", "attn_k_norm"},
                                                   {"post_attention_layernorm", "ffn_norm"},
                                                   {"pre_feedforward_layernorm", "ffn_norm"},
                                                   {"post_feedforward_layernorm", "post_ffw_norm"},
                                                   {"mlp.gate", "ffn_gate_inp"},
                                                   {"mlp.router", "ffn_gate_inp"},
                                                   {"block_sparse_moe.gate", "ffn_gate_inp"},
                                                   {"mlp.gate_proj", "ffn_gate"},
                                                   {"mlp.up_proj", "ffn_up"},
                                                   {"mlp.gate_up_proj", "ffn_up"},
                                                   {"mlp.down_proj", "ffn_down"}};

class GgufFixture : public ::testing::TestWithParam<GgufCase> {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
    const auto fixture = shared_dir() / "fixtures" / GetParam().fixture;
    make_checkpoint(fixture / "manifest.json", folder_.path() / "model.safetensors");
    std::filesystem::copy_file(fixture / "config.json", folder_.path() / "config.json");
    std::ifstream file(fixture / "config.json");
    config_ = nlohmann::json::parse(file);
  }

  bool gemma() const { return std::string_view(GetParam().architecture).starts_with("gemma"); }
  int heads(const char* name) const { return config_.at(name); }
  int head() const {
    const auto said = config_.find("head_dim");
    return said != config_.end() && !said->is_null() ? said->get<int>()
                                                     : heads("hidden_size") / heads("num_attention_heads");
  }

  void write_settings() {
    const std::string prefix = std::string(GetParam().architecture) + ".";
    file_.text("general.architecture", GetParam().architecture);
    const std::pair<const char*, const char*> numbers[] = {{"context_length", "max_position_embeddings"},
                                                           {"embedding_length", "hidden_size"},
                                                           {"block_count", "num_hidden_layers"},
                                                           {"feed_forward_length", "intermediate_size"},
                                                           {"attention.head_count", "num_attention_heads"},
                                                           {"attention.head_count_kv", "num_key_value_heads"},
                                                           {"expert_count", "num_local_experts"},
                                                           {"expert_used_count", "num_experts_per_tok"},
                                                           {"expert_feed_forward_length", "moe_intermediate_size"}};
    for (const auto& [key, name] : numbers)
      if (config_.contains(name)) file_.number(prefix + key, config_[name]);
    if (prefix == "gpt-oss.") file_.number(prefix + "expert_feed_forward_length", config_["intermediate_size"]);
    file_.number(prefix + "attention.key_length", static_cast<uint32_t>(head()));
    file_.real(prefix + "attention.layer_norm_rms_epsilon", config_["rms_norm_eps"]);
    if (config_.value("sliding_window", nlohmann::json()).is_number())
      file_.number(prefix + "attention.sliding_window", config_["sliding_window"]);
    nlohmann::json rope = config_["rope_parameters"];
    for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"})
      if (config_.value(name, nlohmann::json()).is_number()) file_.real(prefix + name, config_[name]);
    if (gemma()) {
      if (rope.contains("full_attention")) rope = rope["full_attention"];
      file_.real(prefix + "attention.scale", 1 / std::sqrt(config_["query_pre_attn_scalar"].get<float>()));
      std::vector<uint8_t> slides;
      for (const auto& type : config_["layer_types"]) slides.push_back(type == "sliding_attention");
      file_.numbers(prefix + "attention.sliding_window_pattern", 7, slides);
    }
    write_rope(prefix, rope);
  }

  void write_rope(const std::string& prefix, const nlohmann::json& rope) {
    file_.real(prefix + "rope.freq_base", rope["rope_theta"]);
    const int rotated = static_cast<int>(head() * rope.value("partial_rotary_factor", 1.0));
    file_.number(prefix + "rope.dimension_count", static_cast<uint32_t>(rotated));
    const std::string type = rope["rope_type"];
    if (type == "yarn") {
      file_.text(prefix + "rope.scaling.type", type);
      file_.real(prefix + "rope.scaling.factor", rope["factor"]);
      file_.number(prefix + "rope.scaling.original_context_length", rope["original_max_position_embeddings"]);
    } else if (type == "linear") {
      file_.text(prefix + "rope.scaling.type", type);
      file_.real(prefix + "rope.scaling.factor", rope["factor"]);
    } else if (type == "longrope") {
      file_.number(prefix + "rope.scaling.original_context_length", rope["original_max_position_embeddings"]);
      for (const char* which : {"long", "short"}) {
        const std::vector<float> factors = rope[std::string(which) + "_factor"];
        file_.tensor(std::string("rope_factors_") + which + ".weight", {rotated / 2}, factors);
      }
    } else if (type == "llama3") {
      // Wavelengths beyond the original length divided by low_freq_factor (1) are stretched by the factor, those below
      // it divided by high_freq_factor kept, those between interpolated.
      std::vector<float> divisors;
      const double factor = rope["factor"], high = rope["high_freq_factor"];
      const double original = rope["original_max_position_embeddings"], theta = rope["rope_theta"];
      for (int i = 0; i < rotated; i += 2) {
        const double turns = original / (2 * M_PI * std::pow(theta, static_cast<double>(i) / rotated));
        const double kept = (turns - 1) / (high - 1);
        divisors.push_back(static_cast<float>(turns < 1      ? factor
                                              : turns > high ? 1
                                                             : 1 / ((1 - kept) / factor + kept)));
      }
      file_.tensor("rope_freqs.weight", {rotated / 2}, divisors);
    }
  }

  // As llama.cpp's conversion permutes rows of queries and keys: [heads, 2, half] becomes [heads, half, 2].
  static std::vector<float> interleaved(const std::vector<float>& values, size_t rows, size_t heads) {
    const size_t row = values.size() / rows, half = rows / heads / 2;
    std::vector<float> out;
    for (size_t h = 0; h < heads; ++h)
      for (size_t i = 0; i < half; ++i)
        for (size_t part = 0; part < 2; ++part) {
          const auto from = values.begin() + static_cast<std::ptrdiff_t>(((h * 2 + part) * half + i) * row);
          out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(row));
        }
    return out;
  }

  // A tensor of floats, or a matrix in blocks of Q4_0 or Q8_0 if `blocks_`.
  void put(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values) {
    constexpr size_t kBlock = 32;
    const bool router = name.find("gate_inp") != name.npos;
    if (!blocks_ || shape.size() < 2 || shape.back() % kBlock != 0 || router) return file_.tensor(name, shape, values);
    const bool nibbles = name.find("down") == name.npos && name.find("embd") == name.npos;
    std::string bytes;
    for (size_t begin = 0; begin < values.size(); begin += kBlock) {
      const auto block = std::span(values).subspan(begin, kBlock);
      const float most =
          *std::max_element(block.begin(), block.end(), [](float x, float y) { return std::fabs(x) < std::fabs(y); });
      const uint16_t bits = to_float16(static_cast<double>(most) / (nibbles ? -8 : 127));
      const float scale = from_float16(bits);
      bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
      const auto integer = [&](size_t i) { return scale == 0 ? 0L : std::lround(block[i] / scale); };
      const auto nibble = [&](size_t i) { return std::clamp(integer(i) + 8, 0L, 15L); };
      for (size_t i = 0; i < (nibbles ? kBlock / 2 : kBlock); ++i)
        bytes +=
            static_cast<char>(nibbles ? nibble(i) | nibble(i + kBlock / 2) << 4 : std::clamp(integer(i), -127L, 127L));
    }
    file_.tensor(name, shape, nibbles ? GgufWriter::kQ4_0 : GgufWriter::kQ8_0, bytes);
  }

  // GPT-OSS: experts [experts, columns, 2 * rows], gate and up interleaved, become gates and ups [experts, rows,
  // columns]; biases [experts, 2 * rows] likewise.
  void write_stack(const std::string& block, const std::string& module, const CheckpointTensor& tensor) {
    const std::vector<float> values = tensor.to_floats();
    const bool bias = module.ends_with("_bias"), down = module.find("down") != module.npos;
    const auto count = static_cast<size_t>(tensor.shape[0]), outputs = static_cast<size_t>(tensor.shape.back());
    const size_t columns = bias ? 1 : static_cast<size_t>(tensor.shape[1]), parts = down ? 1 : 2;
    for (size_t part = 0; part < parts; ++part) {
      std::vector<float> out;
      for (size_t e = 0; e < count; ++e)
        for (size_t row = part; row < outputs; row += parts)
          for (size_t c = 0; c < columns; ++c) out.push_back(values[(e * columns + c) * outputs + row]);
      const std::string name = down ? "ffn_down_exps" : part == 0 ? "ffn_gate_exps" : "ffn_up_exps";
      std::vector<int64_t> shape = {tensor.shape[0], tensor.shape.back() / static_cast<int64_t>(parts)};
      if (!bias) shape.push_back(tensor.shape[1]);
      put(block + name + (bias ? ".bias" : ".weight"), shape, out);
    }
  }

  void write_tensors(const Checkpoint& checkpoint) {
    std::map<std::string, std::pair<std::vector<int64_t>, std::vector<float>>> experts;
    const std::regex layer(R"(model\.layers\.(\d+)\.(.*)\.(weight|bias))");
    const std::regex expert(R"((?:mlp|block_sparse_moe)\.experts\.(\d+)\.(gate_proj|up_proj|down_proj|w1|w2|w3))");
    const std::map<std::string, std::string> names = {{"gate_proj", "gate"}, {"up_proj", "up"}, {"down_proj", "down"},
                                                      {"w1", "gate"},        {"w3", "up"},      {"w2", "down"}};
    const std::regex stack(R"(model\.layers\.(\d+)\.mlp\.experts\.((gate_up|down)_proj(_bias)?))");
    const std::regex sinks(R"(model\.layers\.(\d+)\.self_attn\.sinks)");
    const std::string architecture = GetParam().architecture;
    const bool permuted = architecture == "llama" || architecture == "smollm3";
    for (const auto& [key, tensor] : checkpoint.tensors()) {
      std::vector<float> values = tensor.to_floats();
      std::smatch at, of;
      if (std::regex_match(key, at, stack)) {
        write_stack("blk." + at[1].str() + ".", at[2], tensor);
        continue;
      }
      if (std::regex_match(key, at, sinks)) {
        put("blk." + at[1].str() + ".attn_sinks.weight", tensor.shape, values);
        continue;
      }
      if (!std::regex_match(key, at, layer)) {
        if (gemma() && key == "model.norm.weight")
          for (float& value : values) value += 1;
        const char* name = key == "model.norm.weight" ? "output_norm.weight"
                           : key == "lm_head.weight"  ? "output.weight"
                                                      : "token_embd.weight";
        put(name, tensor.shape, values);
        continue;
      }
      const std::string block = "blk." + at[1].str() + ".", module = at[2];
      if (std::regex_match(module, of, expert)) {
        auto& [shape, all] = experts[block + "ffn_" + names.at(of[2]) + "_exps.weight"];
        // Keys are sorted, and there are at most ten experts.
        if (shape.empty()) shape = {0, tensor.shape[0], tensor.shape[1]};
        ++shape[0];
        all.insert(all.end(), values.begin(), values.end());
        continue;
      }
      std::string name = kNames.at(module);
      if ((gemma() || architecture == "gpt-oss") && module == "post_attention_layernorm") name = "post_attention_norm";
      if (gemma() && name.ends_with("norm"))
        for (float& value : values) value += 1;
      const auto rows = static_cast<size_t>(tensor.shape[0]);
      if (permuted && name == "attn_q")
        values = interleaved(values, rows, static_cast<size_t>(heads("num_attention_heads")));
      if (permuted && name == "attn_k")
        values = interleaved(values, rows, static_cast<size_t>(heads("num_key_value_heads")));
      put(block + name + "." + at[3].str(), tensor.shape, values);
    }
    for (const auto& [name, all] : experts) put(name, all.first, all.second);
  }

  // Without what tells the files apart.
  static std::vector<std::byte> packed_network(const std::filesystem::path& from) {
    ConvertOptions options;
    options.checkpoint = from;
    const auto graph = convert_to_graph(options);
    graph->table.provenance = nullptr;
    return pack(*graph);
  }

  bool blocks_ = false;
  ScratchFolder folder_;
  nlohmann::json config_;
  GgufWriter file_;
};

TEST_P(GgufFixture, ConvertsToTheSameNetwork) {
  const auto safetensors = folder_.path() / "model.safetensors";
  write_settings();
  const auto checkpoint = open_checkpoint(safetensors);
  write_tensors(*checkpoint);
  ScratchFolder alone;
  const auto gguf = alone.write("model.gguf", file_.bytes());
  if (!gemma()) {
    EXPECT_EQ(packed_network(gguf), packed_network(safetensors));
    return;
  }
  // float32 of 1 + weight loses bits of the weight: the others are equal.
  const auto read = open_checkpoint(gguf);
  ASSERT_EQ(read->tensors().size(), checkpoint->tensors().size());
  for (const auto& [key, tensor] : checkpoint->tensors()) {
    const std::vector<float> expected = tensor.to_floats(), values = read->tensors().at(key).to_floats();
    ASSERT_EQ(values.size(), expected.size()) << key;
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[i], key.ends_with("norm.weight") ? 0x1p-23 : 0) << key;
  }
  EXPECT_EQ(packed_network(gguf).size(), packed_network(safetensors).size());
}

// The blob keeps the file's integers, whatever the passes do to rows: its values are those of the decoded blocks.
TEST_P(GgufFixture, KeepsBlocks) {
  blocks_ = true;
  write_settings();
  write_tensors(*open_checkpoint(folder_.path() / "model.safetensors"));
  ScratchFolder alone;
  ConvertOptions options;
  options.checkpoint = alone.write("model.gguf", file_.bytes());
  options.dry_run = true;
  const std::unique_ptr<Graph> kept = convert(options).graph;
  options.settings.set("weights", "f32");
  const std::unique_ptr<Graph> floats = convert(options).graph;
  size_t nibbles = 0, bytes = 0;
  for (const TensorId t : floats->tensors()) {
    if (!floats->is_constant(t)) continue;
    ASSERT_EQ(kept->at(t).name, floats->at(t).name);  // scales come last
    nibbles += kept->at(t).dtype == fbs::DType::Int4;
    bytes += kept->at(t).dtype == fbs::DType::Int8;
    EXPECT_EQ(kept->values(t), floats->values(t)) << floats->at(t).name;
  }
  EXPECT_GT(nibbles, 0u);
  EXPECT_GT(bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(, GgufFixture,
                         ::testing::Values(GgufCase{"hf_llama_tiny", "llama"}, GgufCase{"hf_mistral_tiny", "llama"},
                                           GgufCase{"hf_mixtral_tiny", "llama"}, GgufCase{"hf_gemma2_tiny", "gemma2"},
                                           GgufCase{"hf_smollm3_tiny", "smollm3"}, GgufCase{"hf_qwen2_tiny", "qwen2"},
                                           GgufCase{"hf_qwen3_tiny", "qwen3"},
                                           GgufCase{"hf_qwen3_moe_tiny", "qwen3moe"},
                                           GgufCase{"hf_gpt_oss_tiny", "gpt-oss"},
                                           GgufCase{"hf_gemma3_text_tiny", "gemma3"}, GgufCase{"hf_phi3_tiny", "phi3"}),
                         [](const auto& tested) { return std::string(tested.param.fixture); });

}  // namespace
}  // namespace ferry::parity

#endif
