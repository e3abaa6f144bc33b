#include "models/language/mistral/mistral.h"

#include "models/language/decoder.h"

namespace ferry::mistral {

language::Network network(const nlohmann::json& json) {
  const language::Configuration s(json, "config.json");
  language::Decoder c = language::decoder_of(s);
  c.ropes = {language::rope_of(s, c.head)};
  for (language::DecoderLayer& layer : c.layers) layer.window = language::sliding_window(s, 4096);
  return language::network_of(c);
}

language::Network network_of_experts(const nlohmann::json& json) {
  const language::Configuration s(json, "config.json");
  language::Decoder c = language::decoder_of(s, {.kv_heads = 8, .epsilon = 1e-5});
  c.ropes = {language::rope_of(s, c.head, {.theta = 1e6})};
  c.experts = language::experts_of(s, "num_local_experts", 8, 2);
  c.experts->hidden = c.hidden;
  c.experts->router.scores = language::Router::Scores::SoftmaxOfTopK;
  c.experts->options.activation = language::experts_activation(s, s.text("hidden_act", "silu"));
  for (language::DecoderLayer& layer : c.layers) {
    layer.window = language::sliding_window(s, 0);
    layer.experts = true;
  }
  return language::network_of(c);
}

}  // namespace ferry::mistral
