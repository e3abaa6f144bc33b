#include "models/language/phi/phi.h"

#include "models/language/decoder.h"

namespace ferry::phi3 {
namespace {

// transformers supports no other types in a Phi-3 file (configuration_phi3.py).
void check_rope(const language::Configuration& s) {
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const language::Configuration rope = s.inner(name);
    const std::string kind = rope.text("rope_type", rope.text("type", "default"));
    if (kind != "default" && kind != "longrope" && kind != "su")
      fail("%s: rope of type '%s', expected default or longrope for Phi-3", rope.where(), kind.c_str());
  }
}

}  // namespace

language::Network network(const nlohmann::json& json) {
  const language::Configuration s(json, "config.json");
  language::Decoder c = language::decoder_of(s, {.epsilon = 1e-5});
  c.fused = true;
  check_rope(s);
  c.ropes = {language::rope_of(s, c.head, {.partial = 1})};
  for (language::DecoderLayer& layer : c.layers) layer.window = language::sliding_window(s, 0);
  return language::network_of(c);
}

}  // namespace ferry::phi3
