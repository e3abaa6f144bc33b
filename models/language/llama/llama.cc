#include "models/language/llama/llama.h"

#include "models/language/decoder.h"

namespace ferry::llama {

language::Network network(const nlohmann::json& json) {
  const language::Configuration s(json, "config.json");
  if (s.flag("rope_interleaved", false)) fail("config.json: rope_interleaved is true, which is not supported here");
  language::Decoder c = language::decoder_of(s);
  c.ropes = {language::rope_of(s, c.head)};
  c.qkv_bias = c.output_bias = s.flag("attention_bias", false);
  c.mlp_bias = s.flag("mlp_bias", false);
  return language::network_of(c);
}

}  // namespace ferry::llama
