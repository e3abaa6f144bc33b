#!/usr/bin/env python3
"""Writes the same random torchvision network twice: NAME.onnx for the peer, NAME.safetensors for ferry.

    export_peers.py OUT_DIR [NAME ...]      (default: resnet50 mobilenet_v2)

Needs Debian's python3-torch, python3-torchvision and python3-onnx. BatchNorm statistics are made non-trivial, so that
folding is not a no-op. Exports with opset 13, batch 1, 3x224x224, constants folded, as an application would.
"""
import json
import os
import sys

import numpy as np
import torch
import torchvision


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
        torch.manual_seed(0)
        model = getattr(torchvision.models, name)(weights=None).eval()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.uniform_(-0.1, 0.1)
                module.running_var.uniform_(0.5, 1.5)
        write_safetensors(os.path.join(out, name + ".safetensors"), model.state_dict())
        torch.onnx.export(model, torch.zeros(1, 3, 224, 224), os.path.join(out, name + ".onnx"), opset_version=13,
                          input_names=["input"], output_names=["logits"])
        print(name)


if __name__ == "__main__":
    main()
