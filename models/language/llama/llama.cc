#include "models/language/llama/llama.h"

#include "models/language/config.h"
#include "models/language/modules.h"

namespace ferry::llama {
namespace {

using language::Cache;
using language::rms_norm;
using language::Rotation;

Config config_of(const nlohmann::json& json) {
  const language::Configuration s(json, "config.json");
  Config c{};
  c.vocabulary = s.count("vocab_size");
  c.width = s.count("hidden_size");
  c.depth = s.count("num_hidden_layers");
  c.heads = s.count("num_attention_heads");
  c.kv_heads = s.count("num_key_value_heads", c.heads);
  if (c.heads % c.kv_heads != 0)
    fail("config.json: %d attention heads on %d of keys and values, where a multiple is expected", c.heads, c.kv_heads);
  if (!s.has("head_dim") && c.width % c.heads != 0)
    fail("config.json: hidden_size %d is no multiple of %d heads", c.width, c.heads);
  c.head = s.count("head_dim", c.width / c.heads);
  if (c.head % 2 != 0) fail("config.json: heads of %d channels, where an even number can be turned", c.head);
  c.hidden = s.count("intermediate_size");
  c.epsilon = s.number("rms_norm_eps", 1e-6);
  c.rope = language::rope_of(json, c.head);
  c.attention_bias = s.flag("attention_bias", false);
  c.mlp_bias = s.flag("mlp_bias", false);
  c.tied = s.flag("tie_word_embeddings", false);
  if (const std::string act = s.text("hidden_act", "silu"); act != "silu" && act != "swish")
    fail("config.json: hidden_act is '%s', where silu is expected of a Llama", act.c_str());
  if (s.flag("rope_interleaved", false)) fail("config.json: rope_interleaved is true, which is not built here");
  return c;
}

Tensor self_attention(Tensor x, const Weights& w, const Config& c, const Rotation& rotate, const Cache& cache) {
  const auto project = [&](const char* name, int heads) {
    return linear(x, w[name], {.out = heads * c.head, .bias = c.attention_bias});
  };
  const Tensor q = rotate(project("q_proj", c.heads), c.heads);
  const Tensor k = append(rotate(project("k_proj", c.kv_heads), c.kv_heads), cache.keys);
  const Tensor v = append(project("v_proj", c.kv_heads), cache.values);
  const Tensor mixed = attention(q, k, v, {.heads = c.heads, .kv_heads = c.kv_heads, .causal = true});
  return tap(linear(mixed, w["o_proj"], {.out = c.width, .bias = c.attention_bias}), w);
}

// SwiGLU (Shazeer, arXiv:2002.05202).
Tensor mlp(Tensor x, const Weights& w, const Config& c) {
  const Tensor gate = silu(linear(x, w["gate_proj"], {.out = c.hidden, .bias = c.mlp_bias}));
  const Tensor up = linear(x, w["up_proj"], {.out = c.hidden, .bias = c.mlp_bias});
  return tap(linear(gate * up, w["down_proj"], {.out = c.width, .bias = c.mlp_bias}), w);
}

Tensor layer(Tensor x, const Weights& w, const Config& c, const Rotation& rotate, const Cache& cache) {
  x = x + self_attention(rms_norm(x, w["input_layernorm"], c.epsilon), w["self_attn"], c, rotate, cache);
  x = x + mlp(rms_norm(x, w["post_attention_layernorm"], c.epsilon), w["mlp"], c);
  return tap(x, w, kBlock);
}

}  // namespace

language::Network network(const nlohmann::json& json) {
  const Config c = config_of(json);
  const auto logits = [c](Tensor ids, const Weights& weights, const language::Text& text) {
    const Weights w = weights["model"];
    const std::vector<Cache> caches = text.caches(c.depth, c.kv_heads * c.head);
    const Rotation rotate = rotation(c.rope, positions(ids, caches.front().keys), text.max_length);
    const Tensor embedding = w["embed_tokens"].matrix({c.vocabulary, c.width});
    Tensor x = tap(language::rows(embedding, ids), w["embed_tokens"], kBlock);
    for (int i = 0; i < c.depth; ++i) x = layer(x, w["layers"][i], c, rotate, caches[static_cast<size_t>(i)]);
    x = tap(rms_norm(x, w["norm"], c.epsilon), w["norm"], kBlock);
    const Weights head = weights["lm_head"];
    return tap(language::linear(x, c.tied ? embedding : head.matrix({c.vocabulary, c.width})), head);
  };
  return {.vocabulary = c.vocabulary, .logits = logits};
}

}  // namespace ferry::llama
