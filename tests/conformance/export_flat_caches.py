#!/usr/bin/env python3
"""Writes tests/data/onnx/language/flat and flat_turned: tiny decoders whose caches have three dimensions.

    ~/.cache/ferry/debian-amd64/references/inside python3 tests/conformance/export_flat_caches.py tests/data/onnx/language

Keys and values are those of the Falcon of transformers 4.31, [samples * heads, tokens, channels], with one head for all
queries and rotary positions; or of its Bloom, whose keys are [samples * heads, channels, tokens], without ALiBi and for
one token a run. model.onnx has random weights, generate.json a prompt and PyTorch's continuation without a cache.
"""
import json
import os
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY, WIDTH, HEADS, LAYERS, OPSET = 64, 32, 4, 2, 14
SIZE = WIDTH // HEADS


def rotated(x, angles):
    a, b = x.chunk(2, -1)
    return x * angles.cos() + torch.cat((-b, a), -1) * angles.sin()


class Layer(nn.Module):
    def __init__(self, turned):
        super().__init__()
        self.turned, self.shared = turned, HEADS if turned else 1
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
        self.qkv = nn.Linear(WIDTH, (HEADS + 2 * self.shared) * SIZE)
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x, mask, angles, past):
        n, tokens, _ = x.shape
        parts = self.qkv(self.norm(x)).view(n, tokens, -1, SIZE).split([HEADS, self.shared, self.shared], 2)
        q, k, v = (part.transpose(1, 2).reshape(-1, tokens, SIZE) for part in parts)
        if self.turned:
            k = k.transpose(1, 2)
        else:
            q, k = rotated(q, angles), rotated(k, angles)
        if past:
            k, v = torch.cat((past[0], k), 2 if self.turned else 1), torch.cat((past[1], v), 1)
        if self.turned:
            p = torch.softmax((q @ k / SIZE ** 0.5).view(n, HEADS, tokens, -1) + mask, -1)
            y = (p.view(n * HEADS, tokens, -1) @ v).view(n, HEADS, tokens, SIZE)
        else:
            heads = [part.reshape(n, -1, part.shape[1], SIZE) for part in (q, k, v)]
            y = torch.softmax(heads[0] @ heads[1].transpose(2, 3) / SIZE ** 0.5 + mask, -1) @ heads[2]
        x = x + self.out(y.permute(0, 2, 1, 3).reshape(n, tokens, WIDTH))
        return x + self.down(F.gelu(self.up(x))), k, v


class Model(nn.Module):
    def __init__(self, turned):
        super().__init__()
        self.turned, self.embedding = turned, nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([Layer(turned) for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.register_buffer("frequencies", 10000 ** -(torch.arange(0, SIZE, 2).float() / SIZE))

    def forward(self, ids, mask, *past):
        before = past[0].shape[2 if self.turned else 1] if past else 0
        total = before + ids.shape[1]
        queries = torch.arange(before, total)
        angles = torch.outer(queries.float(), self.frequencies).repeat(1, 2)[None]
        hidden = (torch.arange(total) > queries[:, None]) | (mask[:, None, None] == 0)
        bias = torch.zeros(hidden.shape).masked_fill(hidden, torch.finfo(torch.float32).min)
        x, present = self.embedding(ids), []
        for i, layer in enumerate(self.layers):
            x, *new = layer(x, bias, angles, past[2 * i:2 * i + 2])
            present += new
        return self.head(self.norm(x)), *present


def export(model, path):
    n, before, tokens, heads = 2, 3, 1 if model.turned else 2, HEADS if model.turned else 1
    values = {"input_ids": torch.randint(1, VOCABULARY, (n, tokens)),
              "attention_mask": torch.ones(n, before + tokens, dtype=torch.long)}
    axes = {"input_ids": {0: "batch_size"}, "attention_mask": {0: "batch_size", 1: "total"}}
    if tokens > 1:
        axes["input_ids"][1] = "sequence_length"
    outputs = ["logits"]
    for layer in range(LAYERS):
        for part in ("key", "value"):
            turned = model.turned and part == "key"
            name, shape = f"past_key_values.{layer}.{part}", (n * heads, before, SIZE)
            values[name] = torch.randn(shape).transpose(1, 2) if turned else torch.randn(shape)
            outputs.append(f"present.{layer}.{part}")
            for value, length in ((name, "past_sequence_length"), (outputs[-1], "total")):
                axes[value] = {0: "batch_size x num_heads", 2 if turned else 1: length}
    torch.onnx.export(model, tuple(values.values()), path, opset_version=OPSET, dynamo=False, input_names=list(values),
                      output_names=outputs, dynamic_axes=axes)


def main():
    warnings.filterwarnings("ignore")
    for name, turned in (("flat", False), ("flat_turned", True)):
        torch.manual_seed(3)
        model, folder = Model(turned).eval(), os.path.join(sys.argv[1], name)
        for parameter in model.parameters():
            parameter.data += torch.randn_like(parameter) * (0.25 if parameter.dim() > 1 else 0.1)
        os.makedirs(folder, exist_ok=True)
        export(model, os.path.join(folder, "model.onnx"))
        ids = torch.randint(1, VOCABULARY, (17,)).tolist()
        for _ in range(24):
            with torch.no_grad():
                ids.append(int(model(torch.tensor([ids]), torch.ones(1, len(ids)))[0][0, -1].argmax()))
        with open(os.path.join(folder, "generate.json"), "w") as f:
            json.dump({"prompt": ids[:17], "tokens": ids[17:]}, f)
            f.write("\n")


if __name__ == "__main__":
    main()
