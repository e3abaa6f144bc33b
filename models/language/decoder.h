// Decoder-only transformers like Llama (Touvron et al., arXiv:2302.13971; grouped-query attention: arXiv:2307.09288),
// with transformers' module names. Families differ in data: a family is a function from its config.json to a Decoder.
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
  std::optional<size_t> rope = 0;  // index into Decoder::ropes; none: no position encoding (NoPE)
  int window = 0;                  // sliding window in tokens, the token itself included; 0: full attention
  bool experts = false;            // Decoder::experts instead of an MLP
  bool delta = false;              // Decoder::delta instead of attention
};

struct Decoder {
  const char* module = "model";  // of all layers except the head
  int vocabulary, width;
  int heads, kv_heads, head;  // `head`: channels per head
  int hidden;                 // of the MLP
  Tensor (*activation)(Tensor);
  RmsNorm norm;
  bool tied;  // the head shares the embedding's weight
  std::vector<DecoderLayer> layers;
  std::vector<Rope> ropes = {};

  bool fused = false;  // qkv_proj and gate_up_proj replace the five separate projections
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  // q_norm and k_norm normalize each head, before (tokens first) or after transformers transposes to heads first.
  enum class HeadNorms { None, TokensFirst, HeadsFirst } head_norms = HeadNorms::None;
  // q_proj also outputs a gate per head, after its queries; attention's output is multiplied by the gate's sigmoid
  bool gated = false;
  std::optional<DeltaNet> delta = {};
  bool sandwich_norms = false;  // RMSNorm before and after both attention and MLP
  double score_scale = 0;       // factor of the attention scores; 0: 1 / sqrt(head)
  double embedding_scale = 1;
  // above 0: attention scores, before the mask, or logits are softcap * tanh(them / softcap)
  double score_softcap = 0, logit_softcap = 0;
  bool sinks = false;  // attention has a sink per head
  std::optional<Experts> experts = {};
  std::optional<LatentAttention> latent = {};  // replaces the attention that the fields above describe
  int mtp_layers = 0;  // multi-token prediction layers after the last one; their weights are not used
};

// Defaults of a family's configuration class in transformers that differ from Llama's.
struct DecoderDefaults {
  int head = 0;                    // head_dim; 0: hidden_size / num_attention_heads
  int kv_heads = 0;                // num_key_value_heads; 0: num_attention_heads
  std::optional<int> hidden = {};  // intermediate_size; none: the file must have it
  double epsilon = 1e-6;
  bool tied = false;
  const char* activation_name = "hidden_act";
  const char* activation = "silu";
};

// Reads what all configurations have: sizes, activation, epsilon; every layer has full attention and the first rope.
// Throws Error if a setting is invalid.
Decoder decoder_of(const Configuration& config, const DecoderDefaults& defaults = {});

// `sliding_window` of the file: 0 if null, `absent` if absent.
int sliding_window(const Configuration& config, int absent);
// Sets `window` in the layers that `layer_types` calls sliding_attention; without `layer_types`, in those for which
// `absent` returns true. Throws Error if a layer slides and `window` is 0.
void set_windows(const Configuration& config, int window, const std::function<bool(size_t layer)>& absent,
                 Decoder* decoder);

Network network_of(const Decoder& decoder);

}  // namespace ferry::language
