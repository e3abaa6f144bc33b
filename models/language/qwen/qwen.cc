#include "models/language/qwen/qwen.h"

#include "models/language/decoder.h"

namespace ferry::qwen {
namespace {

using language::Configuration;
using language::Decoder;

// What both generations say alike. Where layer_types does not tell, the layers from max_window_layers on slide.
Decoder configured(const Configuration& s, const language::DecoderDefaults& defaults) {
  Decoder c = language::decoder_of(s, defaults);
  c.ropes = {language::rope_of(s, c.head)};
  const int window = s.flag("use_sliding_window", false) ? language::sliding_window(s, 4096) : 0;
  const int all_before = s.count("max_window_layers", 28, 0);
  const auto slides = [&](size_t layer) { return window > 0 && static_cast<int>(layer) >= all_before; };
  language::set_windows(s, window, slides, &c);
  return c;
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
  c.qkv_bias = c.output_bias = s.flag("attention_bias", false);
  c.head_norms = Decoder::HeadNorms::TokensFirst;
  return language::network_of(c);
}

}  // namespace ferry::qwen
