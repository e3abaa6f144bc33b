#include "models/language/decoder.h"

#include <algorithm>

#include "converter/error.h"

namespace ferry::language {
namespace {

struct Projections {
  Tensor q, k, v;
  Tensor gate = {};  // empty if there is no gate
};

Projections project(Tensor x, const Weights& w, const Decoder& c) {
  const int q = c.heads * c.head, kv = c.kv_heads * c.head;
  if (c.fused) {
    const Tensor qkv = linear(x, w["qkv_proj"], {.out = q + 2 * kv, .bias = c.qkv_bias});
    return {slice(qkv, -1, 0, q), slice(qkv, -1, q, kv), slice(qkv, -1, q + kv, kv)};
  }
  Projections out = {linear(x, w["q_proj"], {.out = c.gated ? 2 * q : q, .bias = c.qkv_bias}),
                     linear(x, w["k_proj"], {.out = kv, .bias = c.qkv_bias}),
                     linear(x, w["v_proj"], {.out = kv, .bias = c.qkv_bias})};
  if (!c.gated) return out;
  const Tensor heads = reshape(out.q, {0, 0, c.heads, 2 * c.head});
  const auto half = [&](int begin) { return reshape(slice(heads, -1, begin, c.head), {0, 0, q}); };
  out.q = half(0);
  out.gate = half(c.head);
  return out;
}

struct Attention {
  const Rotation* rotate;  // null: no rotary embedding
  int window;
  const Cache& cache;
};

Tensor self_attention(Tensor x, const Weights& w, const Decoder& c, const Attention& a) {
  if (c.latent) return tap(latent_attention(x, w, *c.latent, c.heads, *a.rotate, a.cache.keys), w);
  auto [q, k, v, gate] = project(x, w, c);
  if (c.head_norms != Decoder::HeadNorms::None) {
    const bool heads_first = c.head_norms == Decoder::HeadNorms::HeadsFirst;
    q = rms_norm_heads(q, w["q_norm"], c.norm, c.heads, heads_first);
    k = rms_norm_heads(k, w["k_norm"], c.norm, c.kv_heads, heads_first);
  }
  if (a.rotate) {
    q = (*a.rotate)(q, c.heads);
    k = (*a.rotate)(k, c.kv_heads);
  }
  Tensor mixed = attention(q, append(k, a.cache.keys), append(v, a.cache.values),
                           {.heads = c.heads,
                            .kv_heads = c.kv_heads,
                            .scale = c.score_scale,
                            .causal = true,
                            .window = a.window,
                            .softcap = c.score_softcap,
                            .sinks = c.sinks ? w("sinks", {c.heads}) : Tensor()});
  if (c.gated) mixed = mixed * sigmoid(gate);
  return tap(linear(mixed, w["o_proj"], {.out = c.width, .bias = c.output_bias}), w);
}

// SwiGLU and its variants (Shazeer, arXiv:2002.05202).
Tensor mlp(Tensor x, const Weights& w, const Decoder& c, int hidden) {
  const auto project_both = [&]() -> std::pair<Tensor, Tensor> {
    if (!c.fused)
      return {linear(x, w["gate_proj"], {.out = hidden, .bias = c.mlp_bias}),
              linear(x, w["up_proj"], {.out = hidden, .bias = c.mlp_bias})};
    const Tensor both = linear(x, w["gate_up_proj"], {.out = 2 * hidden, .bias = c.mlp_bias});
    return {slice(both, -1, 0, hidden), slice(both, -1, hidden, hidden)};
  };
  const auto [gate, up] = project_both();
  return tap(linear(c.activation(gate) * up, w["down_proj"], {.out = c.width, .bias = c.mlp_bias}), w);
}

// Mixture of experts, and the shared expert if there is one.
Tensor experts_mlp(Tensor x, const Weights& w, const Decoder& c) {
  Tensor y = mixture(x, w, *c.experts);
  if (const SharedExpert& shared = c.experts->shared; shared.hidden > 0) {
    Tensor common = mlp(x, w[shared.name], c, shared.hidden);
    if (shared.gate) common = common * sigmoid(linear(x, w[shared.gate], {.out = 1, .bias = false}));
    y = y + common;
  }
  return tap(y, w);
}

// State of a layer; which one is used depends on its token mixer.
struct LayerState {
  Cache attention = {};
  Recurrence delta = {};
};

// Rotary embeddings are modules of a layer's attention in older transformers, of the whole model in newer ones.
void check_rotary_buffers(const Decoder& c, const Weights& w) {
  if (c.ropes.empty()) return;
  for (int i = 0; i < static_cast<int>(c.layers.size()); ++i) {
    const std::optional<size_t>& own = c.layers[static_cast<size_t>(i)].rope;
    check_inv_freq(c.ropes[own.value_or(0)], w["layers"][i]["self_attn"]["rotary_emb"]);
  }
  // With two ropes, those of Gemma 3: full attention first.
  check_inv_freq(c.ropes.front(), w["rotary_emb"]);
  check_inv_freq(c.ropes.back(), w["rotary_emb_local"]);
}

Tensor mix_tokens(Tensor x, const Weights& w, const Decoder& c, const DecoderLayer& l, const LayerState& past,
                  const std::vector<Rotation>& rotations) {
  if (l.delta) return delta_net(x, w["linear_attn"], *c.delta, past.delta);
  return self_attention(
      x, w["self_attn"], c,
      {.rotate = l.rope ? &rotations[*l.rope] : nullptr, .window = l.window, .cache = past.attention});
}

Tensor layer(Tensor x, const Weights& w, const Decoder& c, const DecoderLayer& l, const LayerState& past,
             const std::vector<Rotation>& rotations) {
  Tensor y = mix_tokens(rms_norm(x, w["input_layernorm"], c.norm), w, c, l, past, rotations);
  if (c.sandwich_norms) y = rms_norm(y, w["post_attention_layernorm"], c.norm);
  x = x + y;
  y = rms_norm(x, w[c.sandwich_norms ? "pre_feedforward_layernorm" : "post_attention_layernorm"], c.norm);
  y = l.experts ? experts_mlp(y, w["mlp"], c) : mlp(y, w["mlp"], c, c.hidden);
  if (c.sandwich_norms) y = rms_norm(y, w["post_feedforward_layernorm"], c.norm);
  return tap(x + y, w, kBlock);
}

// Multi-token prediction: a separate module, or layers after the last one. Its weights are not used.
void leave_out_mtp(const Decoder& c, const Weights& weights) {
  constexpr const char* kWhat = "prediction of several tokens at once";
  weights["mtp"].leave_out(kWhat);
  const int count = static_cast<int>(c.layers.size());
  for (int i = 0; i < c.mtp_layers; ++i) weights[c.module]["layers"][count + i].leave_out(kWhat);
}

// Image features for the tokens of a run: [1,L,width] of plane `plane` of the vision tower's output; zeros for text
// tokens.
class ImageFeatures {
 public:
  explicit ImageFeatures(const Images& images) {
    fbs::GatherT params;
    params.axis = 1;
    rows_ = images.rows.graph->add_op("", params, {images.features, images.rows});  // [planes,1,L,width]
  }

  int planes() const { return rows_.shape()[0]; }
  Tensor plane(int index) const { return reshape(slice(rows_, 0, index, 1), {1, -1, channels(rows_)}); }

 private:
  Tensor rows_;
};

// Token embeddings, with image features at the positions of image placeholders.
Tensor with_images(Tensor x, const Images& images, const ImageFeatures& rows) {
  const Tensor is_image = reshape(images.rows, {1, -1, 1});
  return x.graph->add_op("", fbs::SelectT{}, {is_image, rows.plane(0), x});
}

Tensor logits_of(const Decoder& c, Tensor ids, const Weights& weights, const Text& text) {
  const Weights w = weights[c.module];
  const int width = c.latent ? c.latent->kv_lora_rank + c.latent->qk_rope_head_dim : c.kv_heads * c.head;
  const auto cache = [&](size_t layer) {
    return c.latent ? text.latent(layer, width) : text.cache(layer, width, c.layers[layer].window);
  };
  std::vector<LayerState> past;
  for (const DecoderLayer& l : c.layers)
    past.push_back(l.delta ? LayerState{.delta = recurrence_of(*c.delta, text, past.size())}
                           : LayerState{.attention = cache(past.size())});
  std::vector<Rotation> rotations;
  const auto attends = std::find_if(c.layers.begin(), c.layers.end(), [](const auto& l) { return !l.delta; });
  if (attends != c.layers.end()) {
    const State& keys = past[static_cast<size_t>(attends - c.layers.begin())].attention.keys;
    const Tensor token_positions = text.images ? text.images->positions : positions(ids, keys);
    for (const Rope& rope : c.ropes) rotations.push_back(rotation(rope, token_positions, text.max_length));
  }

  const Tensor embedding = w["embed_tokens"].matrix({c.vocabulary, c.width});
  Tensor x = rows(embedding, ids);
  if (c.embedding_scale != 1) x = x * c.embedding_scale;
  x = tap(x, w["embed_tokens"], kBlock);
  std::optional<ImageFeatures> images;
  if (text.images) images.emplace(*text.images);
  if (images) x = with_images(x, *text.images, *images);
  for (int i = 0; i < static_cast<int>(c.layers.size()); ++i) {
    const auto index = static_cast<size_t>(i);
    x = layer(x, w["layers"][i], c, c.layers[index], past[index], rotations);
    if (images && i + 1 < images->planes()) x = x + images->plane(i + 1);
  }
  x = tap(rms_norm(x, w["norm"], c.norm), w["norm"], kBlock);
  leave_out_mtp(c, weights);
  check_rotary_buffers(c, w);
  const Weights head = weights["lm_head"];
  if (c.tied) head.discard();  // some checkpoints store the embedding twice
  if (!c.tied && !head.has("weight"))
    fail(
        "the checkpoint has no '%s.weight': it is a base model (of AutoModel), whose outputs are no logits; save one "
        "of AutoModelForCausalLM",
        head.name().c_str());
  const Tensor logits = tap(linear(x, c.tied ? embedding : head.matrix({c.vocabulary, c.width})), head);
  return c.logit_softcap > 0 ? tanh(logits * (1 / c.logit_softcap)) * c.logit_softcap : logits;
}

}  // namespace

Decoder decoder_of(const Configuration& s, const DecoderDefaults& defaults) {
  Decoder c{};
  c.vocabulary = s.count("vocab_size");
  c.width = s.count("hidden_size");
  c.heads = s.count("num_attention_heads");
  c.kv_heads = s.count("num_key_value_heads", defaults.kv_heads > 0 ? defaults.kv_heads : c.heads);
  if (c.heads % c.kv_heads != 0)
    fail("%s: %d attention heads, expected a multiple of %d key and value heads", s.where(), c.heads, c.kv_heads);
  const int head = defaults.head > 0 ? defaults.head : c.width / c.heads;
  if (!s.has("head_dim") && defaults.head == 0 && c.width % c.heads != 0)
    fail("%s: hidden_size %d is not a multiple of %d heads", s.where(), c.width, c.heads);
  c.head = s.count("head_dim", head);
  if (c.head % 2 != 0) fail("%s: heads of %d channels, expected an even number for rope", s.where(), c.head);
  s.product("num_attention_heads", c.heads, c.head);
  c.hidden = s.count("intermediate_size", defaults.hidden);
  c.norm.epsilon = s.number("rms_norm_eps", defaults.epsilon);
  c.tied = s.flag("tie_word_embeddings", defaults.tied);
  c.layers.resize(static_cast<size_t>(s.count("num_hidden_layers")));
  c.activation = activation_of(s, defaults.activation_name, defaults.activation);
  return c;
}

int sliding_window(const Configuration& s, int absent) {
  return s.is_null("sliding_window") ? 0 : s.count("sliding_window", absent);
}

void set_windows(const Configuration& s, int window, const std::function<bool(size_t)>& absent, Decoder* c) {
  std::vector<std::string> types;
  if (s.has("layer_types")) types = s.texts("layer_types", c->layers.size());
  for (size_t i = 0; i < c->layers.size(); ++i) {
    const bool slides = types.empty() ? absent(i) : types[i] == "sliding_attention";
    if (!types.empty() && !slides && types[i] != "full_attention")
      fail("%s: layer_types holds '%s', expected full_attention or sliding_attention", s.where(), types[i].c_str());
    if (slides && window == 0)
      fail("%s: layer %zu has sliding_attention, but there is no sliding_window", s.where(), i);
    c->layers[i].window = slides ? window : 0;
  }
}

Network network_of(const Decoder& decoder) {
  Network out;
  out.vocabulary = decoder.vocabulary;
  for (const Rope& rope : decoder.ropes)
    if (rope.long_context) out.short_length = rope.long_context->short_length;
  out.logits = [decoder](Tensor ids, const Weights& weights, const Text& text) {
    return logits_of(decoder, ids, weights, text);
  };
  return out;
}

}  // namespace ferry::language
