#!/usr/bin/python3
"""Exports a DINOv3 ViT-S/16 with the weights of the parity fixture hf_dinov3_vits16, for conformance_tests.

    export_dinov3.py [--shared ../shared] [--out DIR]

Needs Debian's python3-torch and python3-onnx. The module is written from the architecture (Siméoni et al., arXiv:2508.10104)
with the names of transformers' checkpoints; its rotary embedding follows from the input's size in the graph, as there.
Expected outputs are the fixture's, which transformers computed. Without --out the folder comes to be in the cache.
"""
import argparse
import json
import math
import os
import shutil
import sys
import warnings

import numpy as np
import torch
from torch import nn

from make_exported import write_case

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "parity"))
from fixture_files import tensor_of

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ferry", "dinov3")
NAME = "hf_dinov3_vits16"
WIDTH, HEADS, DEPTH, HIDDEN, PATCH, REGISTERS, EPSILON, THETA = 384, 6, 12, 1536, 16, 4, 1e-5, 100.0


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.mask_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.register_tokens = nn.Parameter(torch.zeros(1, REGISTERS, WIDTH))
        self.patch_embeddings = nn.Conv2d(3, WIDTH, PATCH, PATCH)

    def forward(self, pixels):
        patches = self.patch_embeddings(pixels).flatten(2).transpose(1, 2)
        batch = pixels.shape[0]
        return torch.cat([self.cls_token.expand(batch, -1, -1), self.register_tokens.expand(batch, -1, -1), patches], 1)


def rotary_tables(pixels):
    """Cosines and sines [patches, head width]: of the row's position, then the column's, in both halves."""
    def places(size):
        return 2 * torch.arange(0.5, size // PATCH, dtype=torch.float32) / (size // PATCH) - 1

    rows, columns = torch.meshgrid(places(pixels.shape[-2]), places(pixels.shape[-1]), indexing="ij")
    frequencies = torch.exp(-math.log(THETA) * torch.arange(0, 1, 4 * HEADS / WIDTH))
    angles = 2 * math.pi * torch.stack([rows.flatten(), columns.flatten()], 1)[:, :, None] * frequencies
    angles = angles.flatten(1).repeat(1, 2)
    return angles.cos(), angles.sin()


def turn(x, cos, sin):
    prefix, patches = x.split([1 + REGISTERS, cos.shape[0]], -2)
    a, b = patches.chunk(2, -1)
    return torch.cat([prefix, patches * cos + torch.cat([-b, a], -1) * sin], -2)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(WIDTH, WIDTH)
        self.k_proj = nn.Linear(WIDTH, WIDTH, bias=False)
        self.v_proj = nn.Linear(WIDTH, WIDTH)
        self.o_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cos, sin):
        batch, tokens, _ = x.shape
        q, k, v = (p(x).view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = turn(q, cos, sin), turn(k, cos, sin)
        scores = torch.matmul(q, k.transpose(2, 3)) * (WIDTH // HEADS) ** -0.5
        y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2).contiguous()
        return self.o_proj(y.reshape(batch, tokens, WIDTH))


class LayerScale(nn.Module):
    def __init__(self):
        super().__init__()
        self.lambda1 = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * self.lambda1


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up_proj = nn.Linear(WIDTH, HIDDEN)
        self.down_proj = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return self.down_proj(nn.functional.gelu(self.up_proj(x)))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH, EPSILON)
        self.attention = Attention()
        self.layer_scale1 = LayerScale()
        self.norm2 = nn.LayerNorm(WIDTH, EPSILON)
        self.mlp = Mlp()
        self.layer_scale2 = LayerScale()

    def forward(self, x, cos, sin):
        x = x + self.layer_scale1(self.attention(self.norm1(x), cos, sin))
        return x + self.layer_scale2(self.mlp(self.norm2(x)))


class DinoV3(nn.Module):
    """Returns last_hidden_state and pooler_output."""

    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        self.layer = nn.ModuleList(Layer() for _ in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, pixels):
        x = self.embeddings(pixels)
        cos, sin = rotary_tables(pixels)
        for layer in self.layer:
            x = layer(x, cos, sin)
        x = self.norm(x)
        return x, x[:, 0]


def read_safetensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    header.pop("__metadata__", None)
    return {name: torch.from_numpy(np.frombuffer(data[slice(*e["data_offsets"])], "<f4").reshape(e["shape"]).copy())
            for name, e in header.items() if e["dtype"] == "F32"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = os.environ.get("FERRY_SHARED") or os.path.join(ROOT, "..", "shared")
    parser.add_argument("--shared", default=shared, metavar="DIR")
    parser.add_argument("--out", default=CACHE, metavar="DIR")
    args = parser.parse_args()
    folder = os.path.join(args.out, NAME)
    if os.path.isdir(folder):
        return
    warnings.filterwarnings("ignore")
    fixture = os.path.join(args.shared, "fixtures", NAME)
    with open(os.path.join(fixture, "manifest.json")) as f:
        manifest = json.load(f)
    model = DinoV3().eval()
    model.load_state_dict({t["name"]: torch.from_numpy(tensor_of(t, manifest["seed"])) for t in manifest["tensors"]})
    stored = read_safetensors(os.path.join(fixture, "fixture.safetensors"))
    shutil.rmtree(folder + ".part", ignore_errors=True)
    write_case(folder + ".part", model, stored["input/pixel_values"],
               [stored[output["name"]] for output in manifest["outputs"]])
    os.rename(folder + ".part", folder)
    print(NAME)


if __name__ == "__main__":
    main()
