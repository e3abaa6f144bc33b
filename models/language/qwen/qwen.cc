#include "models/language/qwen/qwen.h"

#include <array>

#include "models/language/decoder.h"

namespace ferry::qwen {
namespace {

using language::Configuration;
using language::Decoder;

// Common to both generations. Without layer_types, layers from max_window_layers on have a sliding window.
Decoder configured(const Configuration& s, const language::DecoderDefaults& defaults) {
  Decoder c = language::decoder_of(s, defaults);
  c.ropes = {language::rope_of(s, c.head)};
  const int window = s.flag("use_sliding_window", false) ? language::sliding_window(s, 4096) : 0;
  const int all_before = s.count("max_window_layers", 28, 0);
  const auto slides = [&](size_t layer) { return window > 0 && static_cast<int>(layer) >= all_before; };
  language::set_windows(s, window, slides, &c);
  return c;
}

// Qwen3's additions to attention.
void set_attention(const Configuration& s, Decoder* c) {
  c->qkv_bias = c->output_bias = s.flag("attention_bias", false);
  c->head_norms = Decoder::HeadNorms::TokensFirst;
}

struct ExpertDefaults {
  int count, top_k, hidden;
  bool normalized;
};

language::Experts experts(const Configuration& s, const ExpertDefaults& defaults) {
  const bool local = s.has("num_local_experts");  // transformers 5's spelling
  language::Experts e =
      language::experts_of(s, local ? "num_local_experts" : "num_experts", defaults.count, defaults.top_k);
  e.hidden = s.count("moe_intermediate_size", defaults.hidden);
  e.router.normalized = s.flag("norm_topk_prob", defaults.normalized);
  e.options.activation = language::experts_activation(s, s.text("hidden_act", "silu"));
  return e;
}

// With a shared expert.
language::Experts experts_and_shared(const Configuration& s, const ExpertDefaults& defaults) {
  language::Experts e = experts(s, defaults);
  e.shared = {
      .name = "shared_expert", .hidden = s.count("shared_expert_intermediate_size", 512), .gate = "shared_expert_gate"};
  return e;
}

// All layers have experts, except those that decoder_sparse_step skips or mlp_only_layers lists.
void set_sparse_layers(const Configuration& s, Decoder* c) {
  const auto step = static_cast<size_t>(s.count("decoder_sparse_step", 1));
  for (size_t i = 0; i < c->layers.size(); ++i) c->layers[i].experts = (i + 1) % step == 0;
  for (const int dense : s.whole_numbers("mlp_only_layers"))
    if (static_cast<size_t>(dense) < c->layers.size()) c->layers[static_cast<size_t>(dense)].experts = false;
}

// Common to the hybrids. Without layer_types, every full_attention_interval-th layer has attention.
Decoder configured_hybrid(const Configuration& s, language::DecoderDefaults defaults) {
  defaults.head = 256;
  Decoder c = language::decoder_of(s, defaults);
  c.ropes = {language::rope_of(s, c.head, {.partial = 0.25})};
  set_attention(s, &c);
  c.norm.zero_centered = c.gated = true;
  c.delta = language::delta_net_of(s, c.activation, c.norm.epsilon);

  std::vector<std::string> types;
  if (s.has("layer_types")) types = s.texts("layer_types", c.layers.size());
  const auto interval = static_cast<size_t>(s.count("full_attention_interval", 4));
  for (size_t i = 0; i < c.layers.size(); ++i) {
    c.layers[i].delta = types.empty() ? (i + 1) % interval != 0 : types[i] == "linear_attention";
    if (!types.empty() && !c.layers[i].delta && types[i] != "full_attention")
      fail("%s: layer_types holds '%s', expected full_attention or linear_attention", s.where(), types[i].c_str());
  }
  return c;
}

Decoder decoder_3_5(const Configuration& s) { return configured_hybrid(s, {.kv_heads = 4}); }

Decoder decoder_3_5_moe(const Configuration& s) {
  Decoder c = configured_hybrid(s, {.kv_heads = 2, .hidden = 512});  // unused: all layers have experts
  c.experts = experts_and_shared(s, {.count = 256, .top_k = 8, .hidden = 512, .normalized = true});
  for (language::DecoderLayer& layer : c.layers) layer.experts = true;
  return c;
}

// Qwen3-VL's text model: no sliding window.
Decoder decoder_3_vl(const Configuration& s, const language::DecoderDefaults& defaults) {
  Decoder c = language::decoder_of(s, defaults);
  c.ropes = {language::rope_of(s, c.head, {.theta = 500000})};
  set_attention(s, &c);
  return c;
}

// Defaults of a generation of vision-language models.
struct VisionDefaults {
  std::array<int, 3> sections;  // mrope_section
  std::vector<int> deepstack;   // deepstack_visual_indexes
  int token, start, end;
};

const VisionDefaults kVision3 = {{24, 20, 20}, {8, 16, 24}, 151655, 151652, 151653};
const VisionDefaults kVision35 = {{11, 11, 10}, {}, 248056, 248053, 248054};

// A decoder of text_config with a vision tower. tie_word_embeddings beside text_config takes precedence.
language::Network with_vision(const nlohmann::json& json, Decoder (*decoder)(const Configuration& text),
                              const VisionDefaults& defaults) {
  const Configuration s(json, "config.json"), text = s.inner("text_config");
  Decoder c = decoder(text);
  c.module = "model.language_model";
  c.tied = s.flag("tie_word_embeddings", false);
  for (language::Rope& rope : c.ropes)
    rope.axes = language::interleaved_axes(text, rope.frequencies.size(), defaults.sections);
  language::VisionTower tower = language::vision_tower_of(s.inner("vision_config"), defaults.deepstack);
  if (tower.out != c.width)
    fail("%s: vision_config: out_hidden_size is %d, but embeddings have %d channels", s.where(), tower.out, c.width);
  tower.token = s.count("image_token_id", defaults.token, 0);
  tower.start = s.count("vision_start_token_id", defaults.start, 0);
  tower.end = s.count("vision_end_token_id", defaults.end, 0);
  for (const int id : {tower.token, tower.start, tower.end})
    if (id >= c.vocabulary) fail("%s: image token %d is outside of the vocabulary of %d", s.where(), id, c.vocabulary);
  language::Network network = language::network_of(c);
  network.tower = std::move(tower);
  return network;
}

}  // namespace

language::Network network_2(const nlohmann::json& json) {
  Decoder c = configured(Configuration(json, "config.json"), {});
  c.qkv_bias = true;
  return language::network_of(c);
}

language::Network network_3(const nlohmann::json& json) {
  const Configuration s(json, "config.json");
  Decoder c = configured(s, {.head = 128});
  set_attention(s, &c);
  return language::network_of(c);
}

language::Network network_3_moe(const nlohmann::json& json) {
  const Configuration s(json, "config.json");
  Decoder c = language::decoder_of(s);
  c.ropes = {language::rope_of(s, c.head)};
  set_attention(s, &c);
  c.experts = experts(s, {.count = 128, .top_k = 8, .hidden = 768, .normalized = false});
  set_sparse_layers(s, &c);
  const int window = s.flag("use_sliding_window", false) ? language::sliding_window(s, 4096) : 0;
  for (language::DecoderLayer& layer : c.layers) layer.window = window;
  return language::network_of(c);
}

language::Network network_next(const nlohmann::json& json) {
  const Configuration s(json, "config.json");
  Decoder c = configured_hybrid(s, {.kv_heads = 2, .hidden = 5632});
  c.delta->fused = true;
  c.experts = experts_and_shared(s, {.count = 512, .top_k = 10, .hidden = 512, .normalized = true});
  set_sparse_layers(s, &c);
  return language::network_of(c);
}

language::Network network_3_5(const nlohmann::json& json) {
  return language::network_of(decoder_3_5(Configuration(json, "config.json")));
}

language::Network network_3_5_moe(const nlohmann::json& json) {
  return language::network_of(decoder_3_5_moe(Configuration(json, "config.json")));
}

language::Network network_3_vl(const nlohmann::json& json) {
  return with_vision(
      json, [](const Configuration& s) { return decoder_3_vl(s, {.head = 128, .kv_heads = 32}); }, kVision3);
}

language::Network network_3_vl_moe(const nlohmann::json& json) {
  const auto decoder = [](const Configuration& s) {
    Decoder c = decoder_3_vl(s, {.kv_heads = 16});
    c.experts = experts(s, {.count = 60, .top_k = 4, .hidden = 1408, .normalized = true});
    c.experts->router.normalized = true;  // transformers ignores the file's setting
    set_sparse_layers(s, &c);
    return c;
  };
  return with_vision(json, decoder, kVision3);
}

language::Network network_3_5_vl(const nlohmann::json& json) { return with_vision(json, decoder_3_5, kVision35); }

language::Network network_3_5_vl_moe(const nlohmann::json& json) {
  return with_vision(json, decoder_3_5_moe, kVision35);
}

}  // namespace ferry::qwen
