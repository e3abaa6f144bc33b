// config.json from the metadata.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/gguf/architecture.h"
#include "converter/gguf/network.h"

namespace ferry::gguf {
namespace {

using nlohmann::json;

// Reads keys of the architecture, "llama.block_count".
class Settings {
 public:
  Settings(const File& file, const Metadata& metadata, const std::string& architecture)
      : file_(file), metadata_(metadata), prefix_(architecture + ".") {}

  std::optional<double> number(const std::string& name) const { return metadata_.number(prefix_ + name); }
  std::optional<int> integer(const std::string& name) const { return metadata_.integer(prefix_ + name); }
  std::optional<std::string> text(const std::string& name) const { return metadata_.text(prefix_ + name); }
  // Empty if the key is absent or holds a number.
  std::vector<bool> flags(const std::string& name) const {
    const Value* value = metadata_.find(prefix_ + name);
    if (!value || value->kind != Value::Kind::Flags) return {};
    return {value->numbers.begin(), value->numbers.end()};
  }
  int required(const std::string& name) const {
    const std::optional<int> value = integer(name);
    if (!value) fail("%s: the metadata has no %s", metadata_.path().c_str(), (prefix_ + name).c_str());
    return *value;
  }
  const Tensor* tensor(const std::string& name) const {
    const auto found = file_.tensors.find(name);
    return found == file_.tensors.end() ? nullptr : &found->second;
  }
  // All numbers of a tensor of `size`; empty without one.
  std::vector<double> numbers(const std::string& name, size_t size) const {
    const Tensor* found = tensor(name);
    if (!found) return {};
    if (found->shape != std::vector<int64_t>{static_cast<int64_t>(size)} || found->type->numbers != 1)
      fail("%s: expected %zu numbers in F32", found->where.c_str(), size);
    std::vector<double> out;
    for (size_t i = 0; i < size; ++i) {
      float value;
      found->type->decode(&found->bytes[i * found->type->bytes], &value);
      out.push_back(decimal_of(value));
    }
    return out;
  }
  const std::string& path() const { return metadata_.path(); }

 private:
  const File& file_;
  const Metadata& metadata_;
  std::string prefix_;
};

// Llama 3.1 and later: the file has one divisor a frequency instead of the parameters that they result from, of which
// the published models share all but the factor.
json llama3_rope(const Settings& s, double theta, int head) {
  const std::vector<double> divisors = s.numbers("rope_freqs.weight", static_cast<size_t>(head / 2));
  constexpr double kLow = 1, kHigh = 4;
  const double factor = *std::max_element(divisors.begin(), divisors.end());
  for (const int original : {8192, 4096, 16384, 32768, 64, 512, 1024, 2048}) {
    const auto fits = [&](size_t i) {
      const double waves = original * std::pow(theta, -2.0 * static_cast<double>(i) / head) / (2 * std::numbers::pi);
      const double kept = std::clamp((waves - kLow) / (kHigh - kLow), 0.0, 1.0);
      const double expected = 1 / (kept + (1 - kept) / factor);
      return std::fabs(divisors[i] - expected) <= 1e-4 * expected;
    };
    bool all = factor >= 1;
    for (size_t i = 0; all && i < divisors.size(); ++i) all = fits(i);
    if (all)
      return {{"rope_type", "llama3"},   {"factor", factor},          {"rope_theta", theta},
              {"low_freq_factor", kLow}, {"high_freq_factor", kHigh}, {"original_max_position_embeddings", original}};
  }
  fail(
      "%s: the divisors in rope_freqs.weight are not those of Llama 3's scaling with low_freq_factor 1 and "
      "high_freq_factor 4",
      s.path().c_str());
}

json rope_of(const Settings& s, double theta, int head, int rotated) {
  if (s.tensor("rope_freqs.weight")) return llama3_rope(s, theta, head);
  json rope = {{"rope_type", "default"}, {"rope_theta", theta}};
  const auto half = static_cast<size_t>(rotated / 2);
  if (s.tensor("rope_factors_long.weight") || s.tensor("rope_factors_short.weight")) {
    rope["rope_type"] = "longrope";
    rope["long_factor"] = s.numbers("rope_factors_long.weight", half);
    rope["short_factor"] = s.numbers("rope_factors_short.weight", half);
    rope["original_max_position_embeddings"] = s.required("rope.scaling.original_context_length");
    if (const auto factor = s.number("rope.scaling.attn_factor")) rope["attention_factor"] = *factor;
    return rope;
  }
  const std::string type = s.text("rope.scaling.type").value_or("none");
  if (type == "none") return rope;
  if (type != "linear" && type != "yarn")
    fail("%s: rope scaling of type %s is not supported: expected none, linear, yarn or longrope", s.path().c_str(),
         in_quotes(type).c_str());
  rope["rope_type"] = type;
  rope["factor"] = s.number("rope.scaling.factor").value_or(1);
  if (const auto original = s.integer("rope.scaling.original_context_length"); original && *original > 0)
    rope["original_max_position_embeddings"] = *original;
  if (const auto fast = s.number("rope.scaling.yarn_beta_fast")) rope["beta_fast"] = *fast;
  if (const auto slow = s.number("rope.scaling.yarn_beta_slow")) rope["beta_slow"] = *slow;
  return rope;
}

// Both generations: settings that llama.cpp derives.
void add_gemma(const Settings& s, int generation, int head, json* config) {
  json& c = *config;
  const int layers = c["num_hidden_layers"];
  // llama.cpp scales scores of the largest model, of 46 or 62 layers, by its width over its heads.
  const int largest = generation == 2 ? 46 : 62;
  const int scalar = layers == largest ? c["hidden_size"].get<int>() / c["num_attention_heads"].get<int>() : head;
  c["query_pre_attn_scalar"] = scalar;
  if (const auto scale = s.number("attention.scale"); scale && *scale > 0) {
    // 1 / sqrt(scalar), rounded to float32. The published scalars are integers.
    const double exact = 1 / (*scale * *scale), near = std::nearbyint(exact);
    c["query_pre_attn_scalar"] = std::fabs(exact - near) < 1e-5 * exact ? near : exact;
  }
  c["hidden_activation"] = "gelu_pytorch_tanh";
  c.erase("hidden_act");
  for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (const auto cap = s.number(name)) c[name] = *cap > 0 ? json(*cap) : json();
}

void add_gemma2(const Settings& s, json* config) {
  (*config)["sliding_window"] = s.integer("attention.sliding_window").value_or(4096);
}

// Two ropes.
void add_gemma3(const Settings& s, json* config) {
  json& c = *config;
  json full = c["rope_parameters"];
  c["rope_parameters"] = {{"full_attention", full},
                          {"sliding_attention",
                           {{"rope_type", "default"}, {"rope_theta", s.number("rope.freq_base_swa").value_or(10000)}}}};
  c["sliding_window"] = s.required("attention.sliding_window");
  if (const std::vector<bool> slides = s.flags("attention.sliding_window_pattern"); !slides.empty()) {
    for (const bool one : slides) c["layer_types"].push_back(one ? "sliding_attention" : "full_attention");
  } else {
    c["sliding_window_pattern"] = s.integer("attention.sliding_window_pattern").value_or(6);
  }
}

void add_mixtral(const Settings& s, json* config) {
  json& c = *config;
  c["num_local_experts"] = s.required("expert_count");
  c["num_experts_per_tok"] = s.required("expert_used_count");
}

void add_experts(const Settings& s, json* config) {
  json& c = *config;
  c["num_experts"] = s.required("expert_count");
  c["num_experts_per_tok"] = s.required("expert_used_count");
  c["moe_intermediate_size"] = s.required("expert_feed_forward_length");
  c["norm_topk_prob"] = true;
  json dense = json::array();
  const int layers = c["num_hidden_layers"];
  for (int i = 0; i < std::min(layers, 1 << 12); ++i)
    if (!s.tensor("blk." + std::to_string(i) + ".ffn_gate_inp.weight")) dense.push_back(i);
  c["mlp_only_layers"] = dense;
}

}  // namespace

json config_of(const File& file, const Metadata& metadata) {
  const Architecture& architecture = architecture_of(metadata);
  const Settings s(file, metadata, architecture.name);
  const Tensor* embedding = s.tensor("token_embd.weight");
  if (!embedding || embedding->shape.size() != 2)
    fail("%s: has no tensor \"token_embd.weight\" of two dimensions: it is no language model", metadata.path().c_str());
  const bool mixture = s.integer("expert_count").value_or(0) > 0;
  if (mixture && !architecture.experts && !architecture.mixture_type)
    fail("%s: %s with experts is not supported", metadata.path().c_str(), architecture.name);
  const int heads = s.required("attention.head_count"), width = s.required("embedding_length");
  if (heads == 0) fail("%s: %s.attention.head_count is 0", metadata.path().c_str(), architecture.name);
  const int head = s.integer("attention.key_length").value_or(width / heads);
  const int rotated = s.integer("rope.dimension_count").value_or(head);
  if (head < 2 || head > 1 << 16 || rotated < 2 || rotated > head)
    fail("%s: heads of %d channels with a rotation of %d", metadata.path().c_str(), head, rotated);
  const double theta = s.number("rope.freq_base").value_or(architecture.theta);
  json c = {{"model_type", architecture.model_type},
            {"vocab_size", embedding->shape[0]},
            {"hidden_size", width},
            {"intermediate_size", s.required("feed_forward_length")},
            {"num_hidden_layers", s.required("block_count")},
            {"num_attention_heads", heads},
            {"num_key_value_heads", s.integer("attention.head_count_kv").value_or(heads)},
            {"head_dim", head},
            {"hidden_act", "silu"},
            {"max_position_embeddings", s.required("context_length")},
            {"tie_word_embeddings", s.tensor("output.weight") == nullptr},
            {"attention_bias", s.tensor("blk.0.attn_q.bias") != nullptr},
            {"mlp_bias", s.tensor("blk.0.ffn_down.bias") != nullptr},
            {"sliding_window", nullptr},
            {"rope_parameters", rope_of(s, theta, head, rotated)}};
  if (const auto epsilon = s.number("attention.layer_norm_rms_epsilon")) c["rms_norm_eps"] = *epsilon;
  if (rotated != head) c["rope_parameters"]["partial_rotary_factor"] = static_cast<double>(rotated) / head;
  // A window as wide as the context hides nothing.
  const int window = s.integer("attention.sliding_window").value_or(0);
  if (window > 0 && window < c["max_position_embeddings"]) {
    c["sliding_window"] = window;
    if (architecture.windowed_type) c["model_type"] = architecture.windowed_type;
  }
  if (architecture.experts) add_experts(s, &c);
  if (mixture && architecture.mixture_type) {
    c["model_type"] = architecture.mixture_type;
    add_mixtral(s, &c);
  }
  if (architecture.gemma) add_gemma(s, architecture.gemma, head, &c);
  if (architecture.gemma == 2) add_gemma2(s, &c);
  if (architecture.gemma == 3) add_gemma3(s, &c);
  if (architecture.sinks) {
    c["intermediate_size"] = c["moe_intermediate_size"];
    c["rope_parameters"]["truncate"] = false;  // bounds of YaRN's ramp, as GPT-OSS has them
  }
  return c;
}

}  // namespace ferry::gguf
