#include "models/language/gpt_oss/gpt_oss.h"

#include <nlohmann/json.hpp>

#include "models/language/decoder.h"

namespace ferry::gpt_oss {
namespace {

using language::Configuration;

// transformers' default if the file has no rope settings.
nlohmann::json with_rope(nlohmann::json json) {
  const Configuration s(json, "config.json");
  if (!s.has("rope_parameters") && !s.has("rope_scaling"))
    json["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 32.0},    {"beta_fast", 32.0},
                            {"beta_slow", 1.0},    {"truncate", false}, {"original_max_position_embeddings", 4096}};
  return json;
}

language::Experts experts(const Configuration& s, int hidden) {
  language::Experts e = language::experts_of(s, s.has("num_experts") ? "num_experts" : "num_local_experts", 128, 4);
  e.hidden = hidden;
  e.router = {.name = "router", .bias = true, .scores = language::Router::Scores::SoftmaxOfTopK};
  e.options = {.activation = fbs::ExpertsActivation::ClampedSwish,
               .alpha = s.number("swiglu_alpha", 1.702),
               .limit = s.number("swiglu_limit", 7.0)};
  e.bias = e.interleaved = true;
  return e;
}

}  // namespace

language::Network network(const nlohmann::json& given) {
  const nlohmann::json json = with_rope(given);
  const Configuration s(json, "config.json");
  language::Decoder c = language::decoder_of(s, {.head = 64, .epsilon = 1e-5});
  c.ropes = {language::rope_of(s, c.head, {.theta = 150000})};
  c.qkv_bias = c.output_bias = s.flag("attention_bias", true);
  c.sinks = true;
  c.experts = experts(s, c.hidden);
  for (language::DecoderLayer& layer : c.layers) layer.experts = true;
  language::set_windows(
      s, language::sliding_window(s, 128), [](size_t layer) { return layer % 2 == 0; }, &c);
  return language::network_of(c);
}

}  // namespace ferry::gpt_oss
