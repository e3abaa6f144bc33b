#include "models/language/smollm/smollm.h"

#include "models/language/decoder.h"

namespace ferry::smollm3 {

language::Network network(const nlohmann::json& json) {
  const language::Configuration s(json, "config.json");
  language::Decoder c = language::decoder_of(s, {.tied = true});
  c.ropes = {language::rope_of(s, c.head, {.theta = 2e6})};
  c.qkv_bias = c.output_bias = s.flag("attention_bias", false);
  c.mlp_bias = s.flag("mlp_bias", false);

  std::vector<bool> has_rope;  // despite the setting's name, 1 in no_rope_layers is a layer with rope
  if (s.has("no_rope_layers")) has_rope = s.flags("no_rope_layers", c.layers.size());
  const auto interval = static_cast<size_t>(s.count("no_rope_layer_interval", 4));
  for (size_t i = 0; i < c.layers.size(); ++i)
    if (has_rope.empty() ? (i + 1) % interval == 0 : !has_rope[i]) c.layers[i].rope.reset();

  const int window = s.flag("use_sliding_window", false) ? language::sliding_window(s, 0) : 0;
  language::set_windows(
      s, window, [&](size_t i) { return window > 0 && !c.layers[i].rope; }, &c);
  return language::network_of(c);
}

}  // namespace ferry::smollm3
