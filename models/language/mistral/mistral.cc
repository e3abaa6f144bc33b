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

}  // namespace ferry::mistral
