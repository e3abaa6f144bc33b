#!/usr/bin/env python3
"""Writes the same random torchvision network twice: NAME.onnx and, where ferry knows it by name, NAME.safetensors.

    export_peers.py OUT_DIR [NAME ...]      (default: resnet50 mobilenet_v2)

Needs Debian's python3-torch, python3-torchvision and python3-onnx. Exports with opset 17 (the first with
LayerNormalization), batch 1, constants folded, as an application would. Where ferry knows the network by timm's names only,
the weights are written under those.
"""
import json
import os
import re
import sys

import numpy as np
import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
from torchvision_networks import NETWORKS, build

STAGES = {"1": "0", "3": "1", "5": "2", "7": "3"}  # torchvision numbers stages and downsampling steps consecutively
BEFORE = {"2": "1", "4": "2", "6": "3"}
# torchvision's names as patterns, timm's as replacements, applied in order.
TIMM_NAMES = {
    "convnext_tiny": [
        (r"^features\.0\.", "stem."),
        (r"^features\.([1357])\.(\d+)\.", lambda m: f"stages.{STAGES[m[1]]}.blocks.{m[2]}."),
        (r"^features\.([246])\.", lambda m: f"stages.{BEFORE[m[1]]}.downsample."),
        (r"block\.0\.", "conv_dw."), (r"block\.2\.", "norm."), (r"block\.3\.", "mlp.fc1."), (r"block\.5\.", "mlp.fc2."),
        (r"layer_scale$", "gamma"), (r"^classifier\.0\.", "head.norm."), (r"^classifier\.2\.", "head.fc.")],
    "vit_b_16": [
        (r"^conv_proj\.", "patch_embed.proj."), (r"^class_token$", "cls_token"), (r"^encoder\.pos_embedding$", "pos_embed"),
        (r"^encoder\.layers\.encoder_layer_", "blocks."), (r"\.ln_", ".norm"), (r"self_attention\.in_proj_", "attn.qkv."),
        (r"self_attention\.out_proj\.", "attn.proj."), (r"mlp\.0\.", "mlp.fc1."), (r"mlp\.3\.", "mlp.fc2."),
        (r"^encoder\.ln\.", "norm."), (r"^heads\.head\.", "head.")],
    "swin_t": [
        (r"^features\.0\.0\.", "patch_embed.proj."), (r"^features\.0\.2\.", "patch_embed.norm."),
        (r"^features\.([1357])\.(\d+)\.", lambda m: f"layers.{STAGES[m[1]]}.blocks.{m[2]}."),
        (r"^features\.([246])\.", lambda m: f"layers.{BEFORE[m[1]]}.downsample."),
        (r"mlp\.0\.", "mlp.fc1."), (r"mlp\.3\.", "mlp.fc2."), (r"^head\.", "head.fc.")],
}


def checkpoint_of(name, model):
    """The weights under ferry's names, without index tables that the architecture determines."""
    state = {}
    for key, tensor in model.state_dict().items():
        for pattern, replacement in TIMM_NAMES.get(name, []):
            key = re.sub(pattern, replacement, key)
        if key.endswith(".gamma"):
            tensor = tensor.flatten()
        if not key.endswith("relative_position_index"):
            state[key] = tensor
    return state


def write_safetensors(path, state):
    header, at, chunks = {}, 0, []
    kinds = {np.dtype("float32"): "F32", np.dtype("int64"): "I64"}
    for name in sorted(state):
        a = np.ascontiguousarray(state[name].numpy())
        header[name] = {"dtype": kinds[a.dtype], "shape": list(state[name].shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
        chunks.append(a.tobytes())
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + b"".join(chunks))


def main():
    out, names = sys.argv[1], sys.argv[2:] or ["resnet50", "mobilenet_v2"]
    os.makedirs(out, exist_ok=True)
    for name in names:
        side = NETWORKS[name].side
        model = build(name, side)
        if side == 224:  # classifiers; ferry has the others as .onnx only
            write_safetensors(os.path.join(out, name + ".safetensors"), checkpoint_of(name, model))
        torch.onnx.export(model, torch.zeros(1, 3, side, side), os.path.join(out, name + ".onnx"), opset_version=17,
                          input_names=["input"])
        print(name)


if __name__ == "__main__":
    main()
