#include "models/language/gemma/gemma.h"

#include <algorithm>
#include <cmath>

#include "models/language/decoder.h"

namespace ferry::gemma {
namespace {

using language::Configuration;
using language::Decoder;
using language::DecoderLayer;

// Sliding layers have their own theta and no scaling.
constexpr language::RopeDefaults kFull = {.theta = 1e6, .layer_type = "full_attention"};
constexpr language::RopeDefaults kSliding = {
    .theta_name = "rope_local_base_freq", .scaling_name = nullptr, .layer_type = "sliding_attention"};

// Gemma 3: every sixth layer has full attention, the others a sliding window. Where transformers 5 writes
// `_sliding_window_pattern`, it also writes layer_types, which take precedence.
void set_layers(const Configuration& s, Decoder* c) {
  const auto pattern = static_cast<size_t>(s.count("sliding_window_pattern", s.count("_sliding_window_pattern", 6)));
  const auto slides = [&](size_t layer) { return (layer + 1) % pattern != 0; };
  language::set_windows(s, language::sliding_window(s, 4096), slides, c);
  for (const auto* spelling : {&kFull, &kSliding}) {
    const auto in_use = [&](const DecoderLayer& layer) { return (layer.window > 0) == (spelling == &kSliding); };
    if (std::none_of(c->layers.begin(), c->layers.end(), in_use)) continue;
    for (DecoderLayer& layer : c->layers)
      if (in_use(layer)) layer.rope = c->ropes.size();
    c->ropes.push_back(language::rope_of(s, c->head, *spelling));
  }
}

// transformers multiplies embeddings by sqrt(hidden_size), rounded to the type of its weights.
double embedding_scale(const Configuration& s, int width) {
  const std::string type = s.text("dtype", s.text("torch_dtype", "float32"));
  const int bits = type == "bfloat16" ? 8 : type == "float16" ? 11 : 24;
  int exponent;
  const double fraction = std::frexp(std::sqrt(width), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// Common to both generations.
Decoder configured(const Configuration& s) {
  if (s.flag("use_bidirectional_attention", false))
    fail("config.json: use_bidirectional_attention is true, which is not supported");
  Decoder c = language::decoder_of(
      s, {.head = 256, .tied = true, .activation_name = "hidden_activation", .activation = "gelu_pytorch_tanh"});
  c.qkv_bias = c.output_bias = s.flag("attention_bias", false);
  c.norm.zero_centered = c.sandwich_norms = true;
  c.embedding_scale = embedding_scale(s, c.width);
  c.score_scale = 1 / std::sqrt(s.number("query_pre_attn_scalar", 256.0));
  return c;
}

}  // namespace

language::Network network_2(const nlohmann::json& json) {
  const Configuration s(json, "config.json");
  Decoder c = configured(s);
  c.ropes = {language::rope_of(s, c.head)};
  language::set_windows(
      s, language::sliding_window(s, 4096), [](size_t layer) { return layer % 2 == 0; }, &c);
  const auto cap = [&](const char* name, double absent) { return s.is_null(name) ? 0 : s.number(name, absent); };
  c.score_softcap = cap("attn_logit_softcapping", 50);
  c.logit_softcap = cap("final_logit_softcapping", 30);
  return language::network_of(c);
}

language::Network network_3(const nlohmann::json& json) {
  const Configuration s(json, "config.json");
  if (s.has("attn_logit_softcapping")) fail("config.json: attn_logit_softcapping is set, which is not supported");
  Decoder c = configured(s);
  set_layers(s, &c);
  c.head_norms = Decoder::HeadNorms::HeadsFirst;
  if (s.has("final_logit_softcapping")) c.logit_softcap = s.number("final_logit_softcapping");
  return language::network_of(c);
}

}  // namespace ferry::gemma
