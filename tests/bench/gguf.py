"""Writes a folder of make_language_checkpoint as a GGUF file, for llama.cpp. Needs numpy (Debian: python3-numpy)."""
import json
import os
import re
import struct

import numpy

U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5  # types of metadata
ALIGNMENT = 32
TYPES = {"f32": (0, 1, 4), "q4_0": (2, 32, 18), "q8_0": (8, 32, 34)}  # number, elements per block, bytes per block
NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    name = name.removesuffix(".weight")
    if name in NAMES:
        return NAMES[name] + ".weight"
    layer, rest = re.fullmatch(r"model\.layers\.(\d+)\.(.*)", name).groups()
    return f"blk.{layer}.{NAMES[rest]}.weight"


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", F32, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", U32, value)
    kind, items = (STRING, map(text, value)) if isinstance(value[0], str) else \
                  (I32, (struct.pack("<i", item) for item in value))
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) + b"".join(items)


def metadata(config):
    kind = config["model_type"]
    vocabulary = config["vocab_size"]
    values = {
        "context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"], "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": config["num_key_value_heads"],
        "attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
        "attention.key_length": config["head_dim"], "attention.value_length": config["head_dim"],
        "rope.dimension_count": config["head_dim"], "rope.freq_base": float(config["rope_theta"]),
        "vocab_size": vocabulary}
    # Dummy words: both tools get token ids.
    return {"general.architecture": kind} | {f"{kind}.{key}": value for key, value in values.items()} | {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [f"<{i}>" for i in range(vocabulary)],
        "tokenizer.ggml.token_type": [1] * vocabulary, "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": 0, "tokenizer.ggml.bos_token_id": 0}


def q8_0(x):
    blocks = x.reshape(-1, 32)
    scale = numpy.abs(blocks).max(1, keepdims=True) / 127
    out = numpy.empty((len(blocks), 34), numpy.uint8)
    out[:, :2] = scale.astype(numpy.float16).view(numpy.uint8)
    out[:, 2:] = numpy.rint(blocks / numpy.where(scale == 0, 1, scale)).astype(numpy.int8).view(numpy.uint8)
    return out.tobytes()


def q4_0(x):
    blocks = x.reshape(-1, 32)
    largest = numpy.take_along_axis(blocks, numpy.abs(blocks).argmax(1)[:, None], 1)
    scale = largest / -8
    steps = numpy.clip(numpy.rint(blocks / numpy.where(scale == 0, 1, scale)) + 8, 0, 15).astype(numpy.uint8)
    out = numpy.empty((len(blocks), 18), numpy.uint8)
    out[:, :2] = scale.astype(numpy.float16).view(numpy.uint8)
    out[:, 2:] = steps[:, :16] | steps[:, 16:] << 4
    return out.tobytes()


def write(folder, kind, path):
    """`kind`: q8_0 or q4_0, for every matrix."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    weights = numpy.memmap(os.path.join(folder, "model.safetensors"), numpy.uint8, "r")
    begin = 8 + struct.unpack("<Q", weights[:8].tobytes())[0]
    tensors = json.loads(weights[8:begin].tobytes())
    infos, at = b"", 0
    for name, tensor in tensors.items():
        number, block, size = TYPES[kind if len(tensor["shape"]) == 2 else "f32"]
        shape = tensor["shape"][::-1]
        infos += text(gguf_name(name)) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, number, at)
        at += -(-int(numpy.prod(shape)) // block * size // ALIGNMENT) * ALIGNMENT
    pairs = metadata(config)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(pairs)) + \
        b"".join(pair(*item) for item in pairs.items()) + infos
    with open(path + ".part", "wb") as f:
        f.write(head + bytes(-len(head) % ALIGNMENT))
        for tensor in tensors.values():
            first, end = tensor["data_offsets"]
            halves = weights[begin + first:begin + end].view(numpy.uint16)
            for part in range(0, len(halves), 1 << 24):  # a multiple of every block size
                numbers = (halves[part:part + (1 << 24)].astype(numpy.uint32) << 16).view(numpy.float32)
                f.write(numbers.tobytes() if len(tensor["shape"]) == 1 else {"q8_0": q8_0, "q4_0": q4_0}[kind](numbers))
            f.write(bytes(-f.tell() % ALIGNMENT))
    os.rename(path + ".part", path)
