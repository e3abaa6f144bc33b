#!/usr/bin/env python3
"""Writes rope_fixture.inc: cos of the angles at far positions, as transformers' rotary embeddings compute them.

    tests/converter/make_rope_fixture.py > tests/converter/rope_fixture.inc

modeling_rope_utils.py and the forward() of the models compute in float32: inv_freq = 1 / base ** (arange(0, dim, 2) /
dim), the scaling of the rope type, position * inv_freq, cos. Each step is rounded to float32 here.
"""
import math, struct


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def frequencies(theta, dim):
    return [f32(1 / f32(theta ** f32(i / dim))) for i in range(0, dim, 2)]


def linear(inv, factor):
    return [f32(f / factor) for f in inv]


def llama3(inv, factor, low, high, length):
    out = []
    for f in inv:
        wave = f32(2 * math.pi / f)
        scaled = f32(f / factor) if wave > length / low else f
        if length / high <= wave <= length / low:
            smooth = f32(f32(f32(length / wave) - low) / (high - low))
            scaled = f32(f32(f32(f32(1 - smooth) * scaled) / factor) + f32(smooth * scaled))
        out.append(scaled)
    return out


CASES = [
    ("llama-3.1-8b", llama3(frequencies(500000.0, 128), 8.0, 1.0, 4.0, 8192)),
    ("llama-3.2-1b", llama3(frequencies(500000.0, 64), 32.0, 1.0, 4.0, 8192)),
    ("qwen3-0.6b", frequencies(1000000.0, 128)),
    ("mistral-nemo-12b", frequencies(1000000.0, 128)),
    ("gemma-3-4b", linear(frequencies(1000000.0, 256), 8.0)),
    ("phi-3-mini-128k", frequencies(10000.0, 96)),
]
for name, inv in CASES:
    cosines = [", ".join(f"{math.cos(f32(position * f)):.7f}" for f in inv) for position in (100000, 131071)]
    print(f'{{"{name}", {{{{{cosines[0]}}},\n {{{cosines[1]}}}}}}},')
