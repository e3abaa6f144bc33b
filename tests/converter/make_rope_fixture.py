#!/usr/bin/env python3
"""Writes rope_fixture.inc: cos of the angles at far positions, as transformers' rotary embeddings compute them.

    tests/converter/make_rope_fixture.py > tests/converter/rope_fixture.inc

Needs torch. The formulas are those of modeling_rope_utils.py and of the models' forward(), with the settings of
tests/data/published; torch rounds each step to float32. Powers alone are rounded from float64: torch's float32 pow() may
be off by one unit in the last place, depending on the CPU, which turns an angle at 100,000 by up to 0.005.
"""
import json, math, os, torch

FACTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "published")
POSITIONS = (100000, 131071)


def powers(base, dim):
    exponents = torch.arange(0, dim, 2, dtype=torch.int64).float() / dim
    return (base ** exponents.double()).float()


def default(base, dim, c, rope):
    return 1.0 / powers(base, dim)


def linear(base, dim, c, rope):
    return default(base, dim, c, rope) / rope["factor"]


def llama3(base, dim, c, rope):
    inv = default(base, dim, c, rope)
    factor, low, high = rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"]
    length = rope["original_max_position_embeddings"]
    wave = 2 * math.pi / inv
    scaled = torch.where(wave > length / low, inv / factor, inv)
    smooth = (length / wave - low) / (high - low)
    smoothed = (1 - smooth) * scaled / factor + smooth * scaled
    return torch.where(~(wave < length / high) * ~(wave > length / low), smoothed, scaled)


def yarn(base, dim, c, rope):
    factor, length = rope["factor"], rope["original_max_position_embeddings"]

    def channel(turns):
        return dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = channel(rope["beta_fast"]), channel(rope["beta_slow"])
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    ramp = torch.clamp((torch.arange(dim // 2, dtype=torch.float32) - low) / (high - low), 0, 1)
    extrapolation = 1 - ramp
    frequencies = powers(base, dim)
    return 1.0 / (factor * frequencies) * (1 - extrapolation) + 1.0 / frequencies * extrapolation


def longrope(base, dim, c, rope):
    factors = torch.tensor([1 + i * i / 64 for i in range(dim // 2)], dtype=torch.float32)  # as in rope_test.cc
    return 1.0 / (factors * powers(base, dim))


for name in ("llama-3.1-8b", "llama-3.2-1b", "qwen3-0.6b", "gemma-3-4b", "phi-3-mini-128k", "gpt-oss-20b",
             "deepseek-v3"):
    with open(os.path.join(FACTS, name, "config.json"), encoding="utf-8") as file:
        c = json.load(file)
    rope = c.get("rope_scaling") or {}
    dim = c.get("qk_rope_head_dim") or c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    inv = globals()[rope.get("rope_type") or rope.get("type", "default")](c["rope_theta"], dim, c, rope)
    freqs = (inv[:, None] @ torch.tensor(POSITIONS).float()[None, :]).transpose(0, 1)
    cosines = [", ".join(f"{x:.7f}" for x in row.tolist()) for row in freqs.cos()]
    print(f'{{"{name}", {{{{{cosines[0]}}},\n {{{cosines[1]}}}}}}},')
