// Decoders in the manner of Llama (Touvron et al., arXiv:2302.13971; grouped queries: arXiv:2307.09288), in
// transformers' names. What distinguishes one family from another is data: a family is a function from its config.json
// to a Decoder.
//
//     language::Network network(const nlohmann::json& json) {
//       const Configuration s(json, "config.json");
//       Decoder c = decoder_of(s);
//       c.ropes = {rope_of(s, c.head)};
//       c.qkv_bias = true;
//       return network_of(c);
//     }
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "models/language/config.h"
#include "models/language/delta.h"
#include "models/language/experts.h"
#include "models/language/language_model.h"
#include "models/language/latent_attention.h"
#include "models/language/modules.h"
#include "models/language/rope.h"

namespace ferry::language {

struct DecoderLayer {
  std::optional<size_t> rope = 0;  // which of Decoder::ropes; none: places are not told
  int window = 0;                  // how many tokens attention sees, the token itself among them; 0: all
  bool experts = false;            // Decoder::experts in place of one MLP
  bool delta = false;              // Decoder::delta in the place of attention
};

struct Decoder {
  const char* module = "model";  // all of it but the head
  int vocabulary, width;
  int heads, kv_heads, head;  // `head`: channels of one
  int hidden;                 // of the MLP
  Tensor (*activation)(Tensor);
  RmsNorm norm;
  bool tied;  // the head's weights are the embedding's
  std::vector<DecoderLayer> layers;
  std::vector<Rope> ropes = {};

  bool fused = false;  // qkv_proj and gate_up_proj, in that order, in place of five products
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  // q_norm and k_norm over each head's channels, before (tokens first) or after transformers transposes to heads first.
  enum class HeadNorms { None, TokensFirst, HeadsFirst } head_norms = HeadNorms::None;
  bool gated = false;  // q_proj has a gate behind each head's queries, whose sigmoid multiplies what attention gives
  std::optional<DeltaNet> delta = {};
  bool sandwich_norms = false;  // attention and MLP are normalized before and after
  double score_scale = 0;       // of queries times keys; 0: 1 / sqrt(head)
  double embedding_scale = 1;
  double logit_softcap = 0;  // above 0: logits are softcap * tanh(logits / softcap)
  bool sinks = false;        // attention has one for each head
  std::optional<Experts> experts = {};
  std::optional<LatentAttention> latent = {};  // in place of what is said of attention above
  int predictors = 0;  // how many layers after the last one predict tokens after the next: they are left aside
};

// Where a family's configuration class in transformers has another default than Llama's.
struct DecoderDefaults {
  int head = 0;                    // head_dim; 0: hidden_size / num_attention_heads
  int kv_heads = 0;                // num_key_value_heads; 0: num_attention_heads
  std::optional<int> hidden = {};  // intermediate_size; none: the file says it
  double epsilon = 1e-6;
  bool tied = false;
  const char* activation_name = "hidden_act";
  const char* activation = "silu";
};

// What all configurations hold: sizes, activation, epsilon, and layers that see all and have the first rope. Throws
// Error where the file does not hold to the above.
Decoder decoder_of(const Configuration& config, const DecoderDefaults& defaults = {});

// The `sliding_window` of the file: 0 where it is null, `absent` where it is not there.
int sliding_window(const Configuration& config, int absent);
// Gives `window` to the layers that `layer_types` of the file calls sliding_attention; without `layer_types`, to those
// for which `absent` is true. Throws Error where one of them slides and `window` is 0.
void set_windows(const Configuration& config, int window, const std::function<bool(size_t layer)>& absent,
                 Decoder* decoder);

Network network_of(const Decoder& decoder);

}  // namespace ferry::language
