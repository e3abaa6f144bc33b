#include "models/language/deepseek/deepseek.h"

#include <cmath>

#include "converter/error.h"
#include "models/language/decoder.h"

namespace ferry::deepseek_v3 {
namespace {

using language::Configuration;

language::LatentAttention attention(const Configuration& s) {
  language::LatentAttention a{};
  a.q_lora_rank = s.is_null("q_lora_rank") ? 0 : s.count("q_lora_rank", 1536);
  a.kv_lora_rank = s.count("kv_lora_rank", 512);
  a.qk_nope_head_dim = s.count("qk_nope_head_dim", 128);
  a.qk_rope_head_dim = s.count("qk_rope_head_dim", 64);
  a.v_head_dim = s.count("v_head_dim", 128);
  a.bias = s.flag("attention_bias", false);
  a.scale = language::yarn_score_scale(s) / std::sqrt(a.qk_nope_head_dim + a.qk_rope_head_dim);
  return a;
}

language::Experts experts(const Configuration& s) {
  const bool local = s.has("num_local_experts");  // alias in transformers
  language::Experts e = language::experts_of(s, local ? "num_local_experts" : "n_routed_experts", 256, 8);
  e.hidden = s.count("moe_intermediate_size", 2048);
  e.options.activation = language::experts_activation(s, s.text("hidden_act", "silu"));
  language::Router& r = e.router;
  r.scores = language::Router::Scores::Sigmoid;
  r.score_correction = true;
  r.normalized = s.flag("norm_topk_prob", true);
  r.scale = s.number("routed_scaling_factor", 2.5);
  r.groups = s.count("n_group", 8);
  r.top_k_groups = s.count("topk_group", 4);
  if (e.count % r.groups != 0 || e.count / r.groups < 2)
    fail("%s: %d experts in n_group %d groups, expected groups of equal size with at least two experts", s.where(),
         e.count, r.groups);
  if (r.top_k_groups > r.groups || e.top_k > r.top_k_groups * (e.count / r.groups))
    fail("%s: %d experts from topk_group %d of %d groups of %d, which have fewer", s.where(), e.top_k, r.top_k_groups,
         r.groups, e.count / r.groups);
  e.shared = {.name = "shared_experts",
              .hidden = s.product("n_shared_experts", s.count("n_shared_experts", 1), e.hidden)};
  return e;
}

}  // namespace

language::Network network(const nlohmann::json& json) {
  const Configuration s(json, "config.json");
  const language::LatentAttention latent = attention(s);
  language::Decoder c = language::decoder_of(s, {.head = latent.qk_rope_head_dim});
  s.product("num_attention_heads", c.heads,
            latent.qk_nope_head_dim + latent.v_head_dim + latent.kv_lora_rank + latent.qk_rope_head_dim);
  c.latent = latent;
  c.ropes = {language::rope_of(s, latent.qk_rope_head_dim)};
  c.ropes[0].interleaved = s.flag("rope_interleave", true);
  c.experts = experts(s);
  const auto dense = static_cast<size_t>(s.count("first_k_dense_replace", 3, 0));
  for (size_t i = dense; i < c.layers.size(); ++i) c.layers[i].experts = true;
  c.mtp_layers = s.count("num_nextn_predict_layers", 1, 0);
  return language::network_of(c);
}

}  // namespace ferry::deepseek_v3
