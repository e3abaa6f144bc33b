#!/usr/bin/env python3
"""The shapes of published checkpoints, for tests of real sizes.

    tests/converter/make_published_shapes.py                   writes tests/data/published/NAME/{config.json,tensors.txt}
    tests/converter/make_published_shapes.py NAME FOLDER       makes the checkpoint NAME of zeros in holes of the file: no disk

config.json holds the settings of the publisher's file that define the network. A line of tensors.txt is a type, a
shape and a key; {0-27} in a key stands for each of these numbers. Sources: the publishers' config.json, the modules of
transformers (modeling_*.py) and timm, and the headers of the published safetensors files.
"""
import itertools, json, math, os, re, struct, sys

FACTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "published")
SIZES = {"F32": 4, "BF16": 2, "F16": 2, "F8_E4M3": 1, "U8": 1, "I64": 8}
LLAMA3_ROPE = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192}


def config(model_type, width, hidden, layers, heads, kv, vocabulary, length, **more):
    return {"model_type": model_type, "hidden_size": width, "intermediate_size": hidden, "num_hidden_layers": layers,
            "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": vocabulary,
            "max_position_embeddings": length, "torch_dtype": "bfloat16"} | more


def llama(width, hidden, layers, heads, kv, head, factor, tied):
    scaling = {"rope_scaling": LLAMA3_ROPE | {"factor": factor}} if factor else {}
    return config("llama", width, hidden, layers, heads, kv, 128256, 131072 if factor else 8192, head_dim=head,
                  hidden_act="silu", rms_norm_eps=1e-5, rope_theta=500000.0, tie_word_embeddings=tied) | scaling


def qwen2(width, hidden, layers, heads, kv, vocabulary, tied):
    return config("qwen2", width, hidden, layers, heads, kv, vocabulary, 32768, hidden_act="silu", rms_norm_eps=1e-6,
                  rope_theta=1000000.0, tie_word_embeddings=tied, use_sliding_window=False, sliding_window=131072,
                  max_window_layers=layers)


def qwen3(width, hidden, layers, heads, kv, tied, **more):
    return config("qwen3", width, hidden, layers, heads, kv, 151936, 40960, head_dim=128, hidden_act="silu",
                  rms_norm_eps=1e-6, rope_theta=1000000, tie_word_embeddings=tied, attention_bias=False) | more


def qwen3_moe(width, hidden, layers, heads, kv, expert_hidden):
    return qwen3(width, hidden, layers, heads, kv, False, model_type="qwen3_moe", num_experts=128,
                 num_experts_per_tok=8, moe_intermediate_size=expert_hidden, norm_topk_prob=True, decoder_sparse_step=1,
                 mlp_only_layers=[])


def gemma2(width, hidden, layers, heads, kv, head, scalar):
    return config("gemma2", width, hidden, layers, heads, kv, 256000, 8192, head_dim=head,
                  hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6, rope_theta=10000.0,
                  query_pre_attn_scalar=scalar, sliding_window=4096, attn_logit_softcapping=50.0,
                  final_logit_softcapping=30.0, tie_word_embeddings=True)


def gemma3(width, hidden, layers, heads, kv, head, scalar, window, length, vocabulary=262144, factor=None):
    scaling = {"rope_scaling": {"rope_type": "linear", "factor": factor}} if factor else {}
    return config("gemma3_text", width, hidden, layers, heads, kv, vocabulary, length, head_dim=head,
                  hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6, rope_theta=1000000.0,
                  rope_local_base_freq=10000.0, query_pre_attn_scalar=scalar, sliding_window=window,
                  sliding_window_pattern=6, tie_word_embeddings=True) | scaling


def mistral(hidden, layers, kv, width=4096, heads=32, vocabulary=32768, length=32768, theta=1000000.0, **more):
    return config("mistral", width, hidden, layers, heads, kv, vocabulary, length, hidden_act="silu",
                  rms_norm_eps=1e-5, rope_theta=theta, sliding_window=None, tie_word_embeddings=False) | more


def mixtral(width, hidden, layers, heads, length):
    return mistral(hidden, layers, 8, width, heads, 32000, length, model_type="mixtral", num_local_experts=8,
                   num_experts_per_tok=2)


def phi(width, hidden, layers, heads, kv, vocabulary, length, original=None, part=1.0, **more):
    out = config("phi3", width, hidden, layers, heads, kv, vocabulary, length, hidden_act="silu", rms_norm_eps=1e-5,
                 rope_theta=10000.0, tie_word_embeddings=False, attention_bias=False) | more
    if original:
        pairs = int(width // heads * part) // 2
        out |= {"original_max_position_embeddings": original,
                "rope_scaling": {"type": "longrope", "short_factor": [1.0] * pairs, "long_factor": [1.0] * pairs}}
    return out | ({"partial_rotary_factor": part} if part != 1 else {})


def gpt_oss(layers, experts):
    types = ["sliding_attention", "full_attention"] * (layers // 2)
    return config("gpt_oss", 2880, 2880, layers, 64, 8, 201088, 131072, head_dim=64, hidden_act="silu",
                  rms_norm_eps=1e-5, rope_theta=150000, num_local_experts=experts, num_experts_per_tok=4,
                  sliding_window=128, layer_types=types, attention_bias=True, tie_word_embeddings=False,
                  swiglu_limit=7.0,
                  rope_scaling={"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                                "truncate": False, "original_max_position_embeddings": 4096},
                  quantization_config={"quant_method": "mxfp4"})


DELTA = {"linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
         "linear_num_key_heads": 16, "head_dim": 256, "hidden_act": "silu", "rms_norm_eps": 1e-6,
         "tie_word_embeddings": False}
QWEN3_5_ROPE = {"rope_type": "default", "rope_theta": 10000000, "partial_rotary_factor": 0.25, "mrope_interleaved": True,
                "mrope_section": [11, 11, 10]}

LANGUAGE = {
    "llama-3.2-1b": llama(2048, 8192, 16, 32, 8, 64, 32.0, True),
    "llama-3.2-3b": llama(3072, 8192, 28, 24, 8, 128, 32.0, True),
    "llama-3-8b": llama(4096, 14336, 32, 32, 8, 128, None, False),
    "llama-3.1-8b": llama(4096, 14336, 32, 32, 8, 128, 8.0, False),
    "llama-3.3-70b": llama(8192, 28672, 80, 64, 8, 128, 8.0, False),
    "tinyllama-1.1b": config("llama", 2048, 5632, 22, 32, 4, 32000, 2048, hidden_act="silu", rms_norm_eps=1e-5,
                             rope_theta=10000.0, tie_word_embeddings=False),
    "smollm2-135m": config("llama", 576, 1536, 30, 9, 3, 49152, 8192, hidden_act="silu", rms_norm_eps=1e-5,
                           rope_theta=100000, tie_word_embeddings=True),
    "smollm2-360m": config("llama", 960, 2560, 32, 15, 5, 49152, 8192, hidden_act="silu", rms_norm_eps=1e-5,
                           rope_theta=100000, tie_word_embeddings=True),
    "smollm2-1.7b": config("llama", 2048, 8192, 24, 32, 32, 49152, 8192, hidden_act="silu", rms_norm_eps=1e-5,
                           rope_theta=130000, tie_word_embeddings=True),
    "smollm3-3b": config("smollm3", 2048, 11008, 36, 16, 4, 128256, 65536, hidden_act="silu", rms_norm_eps=1e-6,
                         rope_theta=5000000.0, tie_word_embeddings=True, no_rope_layer_interval=4),
    "mistral-7b-v0.1": mistral(14336, 32, 8, vocabulary=32000, theta=10000.0, sliding_window=4096),
    "mistral-7b-v0.3": mistral(14336, 32, 8),
    "mistral-nemo-12b": mistral(14336, 40, 8, width=5120, vocabulary=131072, length=131072, head_dim=128),
    "mistral-small-24b": mistral(32768, 40, 8, width=5120, vocabulary=131072, theta=100000000.0, head_dim=128),
    "mixtral-8x7b": mixtral(4096, 14336, 32, 32, 32768),
    "mixtral-8x22b": mixtral(6144, 16384, 56, 48, 65536),
    "qwen2.5-0.5b": qwen2(896, 4864, 24, 14, 2, 151936, True),
    "qwen2.5-1.5b": qwen2(1536, 8960, 28, 12, 2, 151936, True),
    "qwen2.5-3b": qwen2(2048, 11008, 36, 16, 2, 151936, True),
    "qwen2.5-7b": qwen2(3584, 18944, 28, 28, 4, 152064, False),
    "qwen2.5-14b": qwen2(5120, 13824, 48, 40, 8, 152064, False),
    "qwen2.5-32b": qwen2(5120, 27648, 64, 40, 8, 152064, False),
    "qwen3-0.6b": qwen3(1024, 3072, 28, 16, 8, True),
    "qwen3-1.7b": qwen3(2048, 6144, 28, 16, 8, True),
    "qwen3-4b": qwen3(2560, 9728, 36, 32, 8, True),
    "qwen3-8b": qwen3(4096, 12288, 36, 32, 8, False),
    "qwen3-14b": qwen3(5120, 17408, 40, 40, 8, False),
    "qwen3-32b": qwen3(5120, 25600, 64, 64, 8, False),
    "qwen3-30b-a3b": qwen3_moe(2048, 6144, 48, 32, 4, 768),
    "qwen3-235b-a22b": qwen3_moe(4096, 12288, 94, 64, 4, 1536),
    "qwen3-next-80b-a3b": config("qwen3_next", 2048, 5120, 48, 16, 2, 151936, 262144, rope_theta=10000000,
                                 partial_rotary_factor=0.25, full_attention_interval=4, linear_num_value_heads=32,
                                 num_experts=512, num_experts_per_tok=10, moe_intermediate_size=512,
                                 shared_expert_intermediate_size=512, norm_topk_prob=True, decoder_sparse_step=1,
                                 mlp_only_layers=[]) | DELTA,
    "qwen3.5-27b": config("qwen3_5_text", 5120, 17408, 64, 24, 4, 248320, 262144, full_attention_interval=4,
                          linear_num_value_heads=48, rope_parameters=QWEN3_5_ROPE) | DELTA,
    "qwen3-vl-2b": {"model_type": "qwen3_vl", "image_token_id": 151655, "video_token_id": 151656,
                    "vision_start_token_id": 151652, "vision_end_token_id": 151653, "tie_word_embeddings": True,
                    "text_config": qwen3(2048, 6144, 28, 16, 8, True, model_type="qwen3_vl_text", rope_theta=5000000,
                                         max_position_embeddings=262144,
                                         rope_scaling={"rope_type": "default", "mrope_interleaved": True,
                                                       "mrope_section": [24, 20, 20]}),
                    "vision_config": {"model_type": "qwen3_vl", "depth": 24, "hidden_size": 1024, "in_channels": 3,
                                      "hidden_act": "gelu_pytorch_tanh", "intermediate_size": 4096, "num_heads": 16,
                                      "num_position_embeddings": 2304, "out_hidden_size": 2048, "patch_size": 16,
                                      "spatial_merge_size": 2, "temporal_patch_size": 2,
                                      "deepstack_visual_indexes": [5, 11, 17]}},
    "gemma-2-2b": gemma2(2304, 9216, 26, 8, 4, 256, 256),
    "gemma-2-9b": gemma2(3584, 14336, 42, 16, 8, 256, 256),
    "gemma-2-27b": gemma2(4608, 36864, 46, 32, 16, 128, 144),
    "gemma-3-270m": gemma3(640, 2048, 18, 4, 1, 256, 256, 512, 32768),
    "gemma-3-1b": gemma3(1152, 6912, 26, 4, 1, 256, 256, 512, 32768),
    "gemma-3-4b": gemma3(2560, 10240, 34, 8, 4, 256, 256, 1024, 131072, 262208, 8.0),
    "gemma-3-12b": gemma3(3840, 15360, 48, 16, 8, 256, 256, 1024, 131072, 262208, 8.0),
    "gemma-3-27b": gemma3(5376, 21504, 62, 32, 16, 128, 168, 1024, 131072, 262208, 8.0),
    "phi-3-mini-4k": phi(3072, 8192, 32, 32, 32, 32064, 4096, sliding_window=2047),
    "phi-3-mini-128k": phi(3072, 8192, 32, 32, 32, 32064, 131072, 4096, sliding_window=262144),
    "phi-3-medium-4k": phi(5120, 17920, 40, 40, 10, 32064, 4096, sliding_window=2047),
    "phi-4-mini": phi(3072, 8192, 32, 24, 8, 200064, 131072, 4096, 0.75, sliding_window=262144,
                      tie_word_embeddings=True),
    "phi-4": phi(5120, 17920, 40, 40, 10, 100352, 16384, rope_theta=250000, sliding_window=None),
    "gpt-oss-20b": gpt_oss(24, 32),
    "gpt-oss-120b": gpt_oss(36, 128),
    "deepseek-v3": config("deepseek_v3", 7168, 18432, 61, 128, 128, 129280, 163840, hidden_act="silu",
                          rms_norm_eps=1e-6, rope_theta=10000, tie_word_embeddings=False, attention_bias=False,
                          q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64,
                          v_head_dim=128, n_routed_experts=256, n_shared_experts=1, num_experts_per_tok=8,
                          moe_intermediate_size=2048, n_group=8, topk_group=4, topk_method="noaux_tc",
                          scoring_func="sigmoid", norm_topk_prob=True, routed_scaling_factor=2.5,
                          first_k_dense_replace=3, moe_layer_freq=1, num_nextn_predict_layers=1,
                          rope_scaling={"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
                                        "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096},
                          quantization_config={"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
                                               "weight_block_size": [128, 128]}),
}


def numbers(values):
    """{0-3}, or {0-3,8} of numbers with gaps."""
    runs = []
    for v in values:
        if runs and runs[-1][1] == v - 1:
            runs[-1][1] = v
        else:
            runs.append([v, v])
    return "{" + ",".join(f"{a}-{b}" if b > a else str(a) for a, b in runs) + "}"


class Tensors(list):
    """Lines of tensors.txt."""

    def add(self, key, *shape, dtype="BF16"):
        self.append((dtype, shape, key))

    def linear(self, key, out, inputs, bias=False, dtype="BF16"):
        if dtype == "F8_E4M3":
            self.add(key + ".weight", out, inputs, dtype=dtype)
            self.add(key + ".weight_scale_inv", -(-out // 128), -(-inputs // 128), dtype="F32")
        else:
            self.add(key + ".weight", out, inputs, dtype=dtype)
        if bias:
            self.add(key + ".bias", out, dtype=dtype)

    def norm(self, key, width, bias=False, dtype="BF16"):
        self.add(key + ".weight", width, dtype=dtype)
        if bias:
            self.add(key + ".bias", width, dtype=dtype)


def gated_mlp(t, key, width, hidden, dtype="BF16"):
    t.linear(key + ".gate_proj", hidden, width, dtype=dtype)
    t.linear(key + ".up_proj", hidden, width, dtype=dtype)
    t.linear(key + ".down_proj", width, hidden, dtype=dtype)


def attention(t, key, c):
    width, kind = c["hidden_size"], c["model_type"]
    head = c.get("head_dim", width // c["num_attention_heads"])
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    if kind == "phi3":
        t.linear(key + ".qkv_proj", q + 2 * kv, width)
    else:
        bias = kind in ("qwen2", "gpt_oss")
        t.linear(key + ".q_proj", 2 * q if kind in ("qwen3_next", "qwen3_5_text") else q, width, bias)
        t.linear(key + ".k_proj", kv, width, bias)
        t.linear(key + ".v_proj", kv, width, bias)
    t.linear(key + ".o_proj", width, q, kind == "gpt_oss")
    if kind.startswith(("qwen3", "gemma3")):
        t.norm(key + ".q_norm", head)
        t.norm(key + ".k_norm", head)
    if kind == "gpt_oss":
        t.add(key + ".sinks", c["num_attention_heads"])


def latent_attention(t, key, c):
    f8, width, heads = "F8_E4M3", c["hidden_size"], c["num_attention_heads"]
    nope, rope, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    t.linear(key + ".q_a_proj", c["q_lora_rank"], width, dtype=f8)
    t.norm(key + ".q_a_layernorm", c["q_lora_rank"])
    t.linear(key + ".q_b_proj", heads * (nope + rope), c["q_lora_rank"], dtype=f8)
    t.linear(key + ".kv_a_proj_with_mqa", c["kv_lora_rank"] + rope, width, dtype=f8)
    t.norm(key + ".kv_a_layernorm", c["kv_lora_rank"])
    t.linear(key + ".kv_b_proj", heads * (nope + value), c["kv_lora_rank"], dtype=f8)
    t.linear(key + ".o_proj", width, heads * value, dtype=f8)


def delta(t, key, c):
    width, k = c["hidden_size"], c["linear_num_key_heads"] * c["linear_key_head_dim"]
    heads = c["linear_num_value_heads"]
    v = heads * c["linear_value_head_dim"]
    t.add(key + ".A_log", heads)
    t.add(key + ".dt_bias", heads)
    t.add(key + ".conv1d.weight", 2 * k + v, 1, c["linear_conv_kernel_dim"])
    if c["model_type"] == "qwen3_next":
        t.linear(key + ".in_proj_qkvz", 2 * k + 2 * v, width)
        t.linear(key + ".in_proj_ba", 2 * heads, width)
    else:
        t.linear(key + ".in_proj_qkv", 2 * k + v, width)
        t.linear(key + ".in_proj_z", v, width)
        t.linear(key + ".in_proj_b", heads, width)
        t.linear(key + ".in_proj_a", heads, width)
    t.norm(key + ".norm", c["linear_value_head_dim"])
    t.linear(key + ".out_proj", width, v)


def mixture(t, key, c):
    width, kind = c["hidden_size"], c["model_type"]
    if kind == "gpt_oss":
        n, hidden = c["num_local_experts"], c["intermediate_size"]
        t.linear(key + ".router", n, width, True)
        for name, out, inputs in (("gate_up_proj", 2 * hidden, width), ("down_proj", width, hidden)):
            t.add(f"{key}.experts.{name}_blocks", n, out, inputs // 32, 16, dtype="U8")
            t.add(f"{key}.experts.{name}_scales", n, out, inputs // 32, dtype="U8")
            t.add(f"{key}.experts.{name}_bias", n, out)
        return
    if kind == "mixtral":
        n, hidden = c["num_local_experts"], c["intermediate_size"]
        t.linear(key + ".gate", n, width)
        expert = f"{key}.experts.{numbers(range(n))}"
        t.linear(expert + ".w1", hidden, width)
        t.linear(expert + ".w2", width, hidden)
        t.linear(expert + ".w3", hidden, width)
        return
    f8 = "F8_E4M3" if kind == "deepseek_v3" else "BF16"
    n = c.get("num_experts", c.get("n_routed_experts"))
    t.linear(key + ".gate", n, width)
    if kind == "deepseek_v3":
        t.add(key + ".gate.e_score_correction_bias", n, dtype="F32")
        gated_mlp(t, key + ".shared_experts", width, c["moe_intermediate_size"], f8)
    if kind == "qwen3_next":
        gated_mlp(t, key + ".shared_expert", width, c["shared_expert_intermediate_size"])
        t.linear(key + ".shared_expert_gate", 1, width)
    gated_mlp(t, f"{key}.experts.{numbers(range(n))}", width, c["moe_intermediate_size"], f8)


def language(c):
    t, kind, width = Tensors(), c["model_type"], c["hidden_size"]
    vision = kind == "qwen3_vl_text"
    model = "model.language_model" if vision else "model"
    t.linear(model + ".embed_tokens", c["vocab_size"], width)
    t.norm(model + ".norm", width)
    if not c["tie_word_embeddings"]:
        t.linear("lm_head", c["vocab_size"], width)
    count = range(c["num_hidden_layers"])
    layers = f"{model}.layers.{numbers(count)}"
    norms = ["input_layernorm", "post_attention_layernorm"]
    if kind.startswith("gemma"):
        norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
    for norm in norms:
        t.norm(f"{layers}.{norm}", width)
    if "full_attention_interval" in c:
        full = [i for i in count if (i + 1) % c["full_attention_interval"] == 0]
        attention(t, f"model.layers.{numbers(full)}.self_attn", c)
        delta(t, f"model.layers.{numbers([i for i in count if i not in full])}.linear_attn", c)
    elif kind == "deepseek_v3":
        latent_attention(t, layers + ".self_attn", c)
    else:
        attention(t, layers + ".self_attn", c)
    dense = c.get("first_k_dense_replace", 0)
    if dense:
        gated_mlp(t, f"model.layers.{numbers(range(dense))}.mlp", width, c["intermediate_size"], "F8_E4M3")
        layers = f"model.layers.{numbers(count[dense:])}"
    if kind == "phi3":
        t.linear(layers + ".mlp.gate_up_proj", 2 * c["intermediate_size"], width)
        t.linear(layers + ".mlp.down_proj", width, c["intermediate_size"])
    elif "num_experts" in c or "num_local_experts" in c or "n_routed_experts" in c:
        mixture(t, layers + (".block_sparse_moe" if kind == "mixtral" else ".mlp"), c)
    else:
        gated_mlp(t, layers + ".mlp", width, c["intermediate_size"])
    return t


def qwen_tower(c):
    t, width, hidden = Tensors(), c["hidden_size"], c["intermediate_size"]
    t.add("model.visual.patch_embed.proj.weight", width, 3, c["temporal_patch_size"], c["patch_size"], c["patch_size"])
    t.add("model.visual.patch_embed.proj.bias", width)
    t.add("model.visual.pos_embed.weight", c["num_position_embeddings"], width)
    block = f"model.visual.blocks.{numbers(range(c['depth']))}"
    t.norm(block + ".norm1", width, True)
    t.norm(block + ".norm2", width, True)
    t.linear(block + ".attn.qkv", 3 * width, width, True)
    t.linear(block + ".attn.proj", width, width, True)
    t.linear(block + ".mlp.linear_fc1", hidden, width, True)
    t.linear(block + ".mlp.linear_fc2", width, hidden, True)
    whole = width * c["spatial_merge_size"] ** 2
    for merger, norm in (("merger", width),
                         (f"deepstack_merger_list.{numbers(range(len(c['deepstack_visual_indexes'])))}", whole)):
        t.norm(f"model.visual.{merger}.norm", norm, True)
        t.linear(f"model.visual.{merger}.linear_fc1", whole, whole, True)
        t.linear(f"model.visual.{merger}.linear_fc2", c["out_hidden_size"], whole, True)
    return t


def vit(width, layers, patch, hidden, classes, image, timm=False):
    """transformers' ViTForImageClassification or timm's vit_*."""
    t, f32 = Tensors(), {"dtype": "F32"}
    tokens = (image // patch) ** 2 + 1
    t.add("vit.embeddings.cls_token", 1, 1, width, **f32)
    t.add("vit.embeddings.position_embeddings", 1, tokens, width, **f32)
    t.add("vit.embeddings.patch_embeddings.projection.weight", width, 3, patch, patch, **f32)
    t.add("vit.embeddings.patch_embeddings.projection.bias", width, **f32)
    layer = f"vit.encoder.layer.{numbers(range(layers))}"
    for name in ("query", "key", "value"):
        t.linear(f"{layer}.attention.attention.{name}", width, width, True, "F32")
    t.linear(layer + ".attention.output.dense", width, width, True, "F32")
    t.linear(layer + ".intermediate.dense", hidden, width, True, "F32")
    t.linear(layer + ".output.dense", width, hidden, True, "F32")
    t.norm(layer + ".layernorm_before", width, True, "F32")
    t.norm(layer + ".layernorm_after", width, True, "F32")
    t.norm("vit.layernorm", width, True, "F32")
    t.linear("classifier", classes, width, True, "F32")
    return t


def dinov2(width, layers, patch, image):
    """transformers' Dinov2Model with SwiGLU (giant)."""
    t, f32 = Tensors(), {"dtype": "F32"}
    hidden = (int(width * 4 * 2 / 3) + 7) // 8 * 8
    t.add("embeddings.cls_token", 1, 1, width, **f32)
    t.add("embeddings.mask_token", 1, width, **f32)
    t.add("embeddings.position_embeddings", 1, (image // patch) ** 2 + 1, width, **f32)
    t.add("embeddings.patch_embeddings.projection.weight", width, 3, patch, patch, **f32)
    t.add("embeddings.patch_embeddings.projection.bias", width, **f32)
    layer = f"encoder.layer.{numbers(range(layers))}"
    for name in ("query", "key", "value"):
        t.linear(f"{layer}.attention.attention.{name}", width, width, True, "F32")
    t.linear(layer + ".attention.output.dense", width, width, True, "F32")
    for name in ("norm1", "norm2"):
        t.norm(f"{layer}.{name}", width, True, "F32")
    for name in ("layer_scale1", "layer_scale2"):
        t.add(f"{layer}.{name}.lambda1", width, **f32)
    t.linear(layer + ".mlp.weights_in", 2 * hidden, width, True, "F32")
    t.linear(layer + ".mlp.weights_out", width, hidden, True, "F32")
    t.norm("layernorm", width, True, "F32")
    return t


def dinov3(width, layers, patch, hidden, gated):
    """transformers' DINOv3ViTModel."""
    t, f32 = Tensors(), {"dtype": "F32"}
    t.add("embeddings.cls_token", 1, 1, width, **f32)
    t.add("embeddings.mask_token", 1, 1, width, **f32)
    t.add("embeddings.register_tokens", 1, 4, width, **f32)
    t.add("embeddings.patch_embeddings.weight", width, 3, patch, patch, **f32)
    t.add("embeddings.patch_embeddings.bias", width, **f32)
    layer = f"layer.{numbers(range(layers))}"
    for name, bias in (("q", not gated), ("k", False), ("v", not gated), ("o", True)):
        t.linear(f"{layer}.attention.{name}_proj", width, width, bias, "F32")
    for name in ("norm1", "norm2"):
        t.norm(f"{layer}.{name}", width, True, "F32")
    for name in ("layer_scale1", "layer_scale2"):
        t.add(f"{layer}.{name}.lambda1", width, **f32)
    for name in ("gate_proj", "up_proj") if gated else ("up_proj",):
        t.linear(f"{layer}.mlp.{name}", hidden, width, True, "F32")
    t.linear(layer + ".mlp.down_proj", width, hidden, True, "F32")
    t.norm("norm", width, True, "F32")
    return t


def sam(width, layers, windows):
    """transformers' SamModel; `windows`: the layers with global attention."""
    t, f32 = Tensors(), {"dtype": "F32"}
    head = 80
    t.add("shared_image_embedding.positional_embedding", 2, 128, **f32)
    e = "vision_encoder"
    t.add(e + ".pos_embed", 1, 64, 64, width, **f32)
    t.add(e + ".patch_embed.projection.weight", width, 3, 16, 16, **f32)
    t.add(e + ".patch_embed.projection.bias", width, **f32)
    layer = f"{e}.layers.{numbers(range(layers))}"
    for name in ("layer_norm1", "layer_norm2"):
        t.norm(f"{layer}.{name}", width, True, "F32")
    for which, side in ((windows, 64), ([i for i in range(layers) if i not in windows], 14)):
        for name in ("rel_pos_h", "rel_pos_w"):
            t.add(f"{e}.layers.{numbers(which)}.attn.{name}", 2 * side - 1, head, **f32)
    t.linear(layer + ".attn.qkv", 3 * width, width, True, "F32")
    t.linear(layer + ".attn.proj", width, width, True, "F32")
    t.linear(layer + ".mlp.lin1", 4 * width, width, True, "F32")
    t.linear(layer + ".mlp.lin2", width, 4 * width, True, "F32")
    t.add(e + ".neck.conv1.weight", 256, width, 1, 1, **f32)
    t.norm(e + ".neck.layer_norm1", 256, True, "F32")
    t.add(e + ".neck.conv2.weight", 256, 256, 3, 3, **f32)
    t.norm(e + ".neck.layer_norm2", 256, True, "F32")
    p = "prompt_encoder"
    t.add(p + ".shared_embedding.positional_embedding", 2, 128, **f32)
    for name, out, inputs, side in (("conv1", 4, 1, 2), ("conv2", 16, 4, 2), ("conv3", 256, 16, 1)):
        t.add(f"{p}.mask_embed.{name}.weight", out, inputs, side, side, **f32)
        t.add(f"{p}.mask_embed.{name}.bias", out, **f32)
    t.norm(p + ".mask_embed.layer_norm1", 4, True, "F32")
    t.norm(p + ".mask_embed.layer_norm2", 16, True, "F32")
    t.add(p + ".no_mask_embed.weight", 1, 256, **f32)
    t.add(p + ".not_a_point_embed.weight", 1, 256, **f32)
    t.add(p + ".point_embed.{0-3}.weight", 1, 256, **f32)
    d = "mask_decoder"
    t.add(d + ".iou_token.weight", 1, 256, **f32)
    t.add(d + ".mask_tokens.weight", 4, 256, **f32)

    def attend(key, inner):
        for name in ("q_proj", "k_proj", "v_proj"):
            t.linear(f"{key}.{name}", inner, 256, True, "F32")
        t.linear(key + ".out_proj", 256, inner, True, "F32")

    layer = d + ".transformer.layers.{0-1}"
    attend(layer + ".self_attn", 256)
    attend(layer + ".cross_attn_token_to_image", 128)
    attend(layer + ".cross_attn_image_to_token", 128)
    for i in range(1, 5):
        t.norm(f"{layer}.layer_norm{i}", 256, True, "F32")
    t.linear(layer + ".mlp.lin1", 2048, 256, True, "F32")
    t.linear(layer + ".mlp.lin2", 256, 2048, True, "F32")
    attend(d + ".transformer.final_attn_token_to_image", 128)
    t.norm(d + ".transformer.layer_norm_final_attn", 256, True, "F32")
    for name, inputs, out in (("upscale_conv1", 256, 64), ("upscale_conv2", 64, 32)):
        t.add(f"{d}.{name}.weight", inputs, out, 2, 2, **f32)
        t.add(f"{d}.{name}.bias", out, **f32)
    t.norm(d + ".upscale_layer_norm", 64, True, "F32")
    for key, out in ((d + ".output_hypernetworks_mlps.{0-3}", 32), (d + ".iou_prediction_head", 4)):
        t.linear(key + ".proj_in", 256, 256, True, "F32")
        t.linear(key + ".layers.0", 256, 256, True, "F32")
        t.linear(key + ".proj_out", out, 256, True, "F32")
    return t


def convnext(widths, depths, classes, dtype="F32"):
    """timm's ConvNeXt with layer norms in the blocks and a plain head."""
    t, only = Tensors(), {"dtype": dtype}
    t.add("stem.0.weight", widths[0], 3, 4, 4, **only)
    t.add("stem.0.bias", widths[0], **only)
    t.norm("stem.1", widths[0], True, dtype)
    for i, (width, depth) in enumerate(zip(widths, depths)):
        if i > 0:
            t.norm(f"stages.{i}.downsample.0", widths[i - 1], True, dtype)
            t.add(f"stages.{i}.downsample.1.weight", width, widths[i - 1], 2, 2, **only)
            t.add(f"stages.{i}.downsample.1.bias", width, **only)
        block = f"stages.{i}.blocks.{numbers(range(depth))}"
        t.add(block + ".gamma", width, **only)
        t.add(block + ".conv_dw.weight", width, 1, 7, 7, **only)
        t.add(block + ".conv_dw.bias", width, **only)
        t.norm(block + ".norm", width, True, dtype)
        t.linear(block + ".mlp.fc1", 4 * width, width, True, dtype)
        t.linear(block + ".mlp.fc2", width, 4 * width, True, dtype)
    t.norm("head.norm", widths[-1], True, dtype)
    t.linear("head.fc", classes, widths[-1], True, dtype)
    return t


def efficientnet(wide, deep):
    """timm's efficientnet_b*: width and depth multipliers of arXiv:1905.11946."""
    t, f32 = Tensors(), {"dtype": "F32"}

    def rounded(width):
        out = max(8, int(width * wide + 4) // 8 * 8)
        return out + 8 if out < 0.9 * width * wide else out

    def norm(key, width):
        t.norm(key, width, True, "F32")
        t.add(key + ".running_mean", width, **f32)
        t.add(key + ".running_var", width, **f32)
        t.add(key + ".num_batches_tracked", dtype="I64")

    def block(key, inputs, expand, out, kernel):
        inner = inputs * expand
        reduced = max(1, inputs // 4)
        if expand > 1:
            t.add(key + ".conv_pw.weight", inner, inputs, 1, 1, **f32)
        t.add(key + ".conv_dw.weight", inner, 1, kernel, kernel, **f32)
        norm(key + ".bn1", inner)
        t.add(key + ".se.conv_reduce.weight", reduced, inner, 1, 1, **f32)
        t.add(key + ".se.conv_reduce.bias", reduced, **f32)
        t.add(key + ".se.conv_expand.weight", inner, reduced, 1, 1, **f32)
        t.add(key + ".se.conv_expand.bias", inner, **f32)
        t.add(key + (".conv_pwl.weight" if expand > 1 else ".conv_pw.weight"), out, inner, 1, 1, **f32)
        norm(key + ".bn2", inner if expand > 1 else out)
        if expand > 1:
            norm(key + ".bn3", out)

    stem, head = rounded(32), rounded(1280)
    t.add("conv_stem.weight", stem, 3, 3, 3, **f32)
    norm("bn1", stem)
    inputs = stem
    stages = ((1, 1, 16, 3), (2, 6, 24, 3), (2, 6, 40, 5), (3, 6, 80, 3), (3, 6, 112, 5), (4, 6, 192, 5), (1, 6, 320, 3))
    for i, (repeats, expand, out, kernel) in enumerate(stages):
        out, repeats = rounded(out), math.ceil(repeats * deep)
        block(f"blocks.{i}.0", inputs, expand, out, kernel)
        block(f"blocks.{i}.{numbers(range(1, repeats))}", out, expand, out, kernel)
        inputs = out
    t.add("conv_head.weight", head, inputs, 1, 1, **f32)
    norm("bn2", head)
    t.linear("classifier", 1000, head, True, "F32")
    return t


VISION = {
    "vit-huge-patch14": (
        {"model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 1280,
         "num_hidden_layers": 32, "num_attention_heads": 16, "intermediate_size": 5120, "hidden_act": "gelu",
         "image_size": 224, "patch_size": 14, "num_channels": 3, "layer_norm_eps": 1e-12, "qkv_bias": True},
        vit(1280, 32, 14, 5120, 1000, 224)),
    "dinov2-giant": (
        {"model_type": "dinov2", "architectures": ["Dinov2Model"], "hidden_size": 1536, "num_hidden_layers": 40,
         "num_attention_heads": 24, "mlp_ratio": 4, "hidden_act": "gelu", "image_size": 518, "patch_size": 14,
         "num_channels": 3, "layer_norm_eps": 1e-6, "qkv_bias": True, "use_swiglu_ffn": True,
         "layerscale_value": 1.0},
        dinov2(1536, 40, 14, 518)),
    "dinov3-vit7b16": (
        {"model_type": "dinov3_vit", "architectures": ["DINOv3ViTModel"], "hidden_size": 4096, "num_hidden_layers": 40,
         "num_attention_heads": 32, "intermediate_size": 8192, "hidden_act": "silu", "image_size": 224,
         "patch_size": 16, "num_channels": 3, "layer_norm_eps": 1e-5, "rope_theta": 100.0, "num_register_tokens": 4,
         "use_gated_mlp": True, "mlp_bias": True, "query_bias": False, "key_bias": False, "value_bias": False,
         "proj_bias": True, "layerscale_value": 1.0, "apply_layernorm": True},
        dinov3(4096, 40, 16, 8192, True)),
    "sam-vit-huge": (
        {"model_type": "sam", "architectures": ["SamModel"],
         "vision_config": {"hidden_size": 1280, "output_channels": 256, "num_hidden_layers": 32,
                           "num_attention_heads": 16, "num_channels": 3, "image_size": 1024, "patch_size": 16,
                           "hidden_act": "gelu", "layer_norm_eps": 1e-6, "qkv_bias": True, "mlp_ratio": 4.0,
                           "use_abs_pos": True, "use_rel_pos": True, "window_size": 14,
                           "global_attn_indexes": [7, 15, 23, 31], "num_pos_feats": 128, "mlp_dim": 5120},
         "prompt_encoder_config": {"hidden_size": 256, "image_size": 1024, "patch_size": 16,
                                   "image_embedding_size": 64, "mask_input_channels": 16, "num_point_embeddings": 4,
                                   "hidden_act": "gelu", "layer_norm_eps": 1e-6},
         "mask_decoder_config": {"hidden_size": 256, "hidden_act": "relu", "mlp_dim": 2048, "num_hidden_layers": 2,
                                 "num_attention_heads": 8, "attention_downsample_rate": 2,
                                 "num_multimask_outputs": 3, "iou_head_depth": 3, "iou_head_hidden_dim": 256,
                                 "layer_norm_eps": 1e-6}},
        sam(1280, 32, [7, 15, 23, 31])),
    "convnext-xlarge": ({"architecture": "convnext_xlarge", "num_classes": 1000},
                        convnext([256, 512, 1024, 2048], [3, 3, 27, 3], 1000)),
    "convnext-xxlarge": ({"architecture": "convnext_xxlarge", "num_classes": 1000},
                         convnext([384, 768, 1536, 3072], [3, 4, 30, 3], 1000)),
    "efficientnet-b7": ({"architecture": "efficientnet_b7", "num_classes": 1000}, efficientnet(2.0, 3.1)),
}


def published():
    """(config, tensors) by name."""
    for name, c in LANGUAGE.items():
        yield name, c, (qwen_tower(c["vision_config"]) + language(c["text_config"])) if "text_config" in c else language(c)
    for name, (c, t) in VISION.items():
        yield name, c, t


def expanded(key):
    """The keys that a line's key stands for."""
    parts = re.split(r"\{([^}]*)\}", key)
    choices = [[part] if i % 2 == 0 else
               [str(n) for run in part.split(",") for a, _, b in [run.partition("-")] for n in range(int(a), int(b or a) + 1)]
               for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def write_facts():
    for name, c, tensors in published():
        folder = os.path.join(FACTS, name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            f.write(re.sub(r"\[[^\[\]{}]*\]", lambda m: re.sub(r"\s+", " ", m[0]), json.dumps(c, indent=1)) + "\n")
        with open(os.path.join(folder, "tensors.txt"), "w", encoding="utf-8") as f:
            for dtype, shape, key in tensors:
                f.write(f"{dtype} {'x'.join(map(str, shape)) or '-'} {key}\n")


def first_layers(config, layers):
    """The settings of a language model that is cut to so many layers."""
    for part in (config, config.get("text_config", {})):
        if "num_hidden_layers" in part:
            part["num_hidden_layers"] = layers
        if "layer_types" in part:
            part["layer_types"] = part["layer_types"][:layers]
    return config


def make_checkpoint(name, folder):
    """Returns the header of model.safetensors: type, shape and offsets of every key. NAME:4 has four layers."""
    os.makedirs(folder, exist_ok=True)
    name, _, layers = name.partition(":")
    with open(os.path.join(FACTS, name, "config.json"), encoding="utf-8") as f:
        settings = json.load(f)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(first_layers(settings, int(layers)) if layers else settings, out)
    header, at = {}, 0
    with open(os.path.join(FACTS, name, "tensors.txt"), encoding="utf-8") as f:
        for line in f:
            dtype, shape, key = line.split()
            dims = [] if shape == "-" else [int(d) for d in shape.split("x")]
            for one in expanded(key):
                layer = re.search(r"\blayers\.(\d+)\.", one)
                if layers and layer and int(layer[1]) >= int(layers):
                    continue
                size = SIZES[dtype] * math.prod(dims)
                header[one] = {"dtype": dtype, "shape": dims, "data_offsets": [at, at + size]}
                at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(f.tell() + at)
    return header


if __name__ == "__main__":
    if len(sys.argv) == 1:
        write_facts()
    elif len(sys.argv) == 3:
        make_checkpoint(*sys.argv[1:])
    else:
        sys.exit(__doc__)
