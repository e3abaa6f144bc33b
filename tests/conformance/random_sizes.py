#!/usr/bin/env python3
"""Exports random modules with open sides, converts each once, and compares it with PyTorch at several sizes.

    tests/conformance/random_sizes.py --seed 0 --count 100 [--exporter script|dynamo]

Needs python3-torch; dynamo needs onnxscript, too. A size at which PyTorch computes and Ferry refuses counts as refused. The exit code is 1
if a network is refused or differs.
"""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import run_ferry


class Step(nn.Module):
    """A function of a map, and of a map's sides."""

    def __init__(self, function, *modules):
        super().__init__()
        self.function, self.inner = function, nn.ModuleList(modules)

    def forward(self, x):
        return self.function(x, *self.inner)


def to_multiple(m, mode, centred):
    def pad(x):
        more = [(m - size % m) % m for size in x.shape[2:]]
        before = [n // 2 if centred else 0 for n in more]
        return F.pad(x, (before[1], more[1] - before[1], before[0], more[0] - before[0]), mode=mode)
    return pad


def coordinates(how):
    def add(x):
        sides = []
        for size in x.shape[2:]:
            i = torch.arange(size).to(x.dtype)
            sides.append({"linspace": torch.linspace(-1, 1, size).to(x.dtype), "normalised": 2 * (i + 0.5) / size - 1,
                          "positions": i * 0.1, "waves": (i / size * 6.28).sin()}[how])
        grid = torch.stack(torch.meshgrid(*sides, indexing="ij"))
        return torch.cat([x, grid.expand(x.shape[0], 2, x.shape[2], x.shape[3])], 1)
    return add


def windows(w, shift, heads):
    def attend(x, qkv):
        y = x.permute(0, 2, 3, 1)
        n, height, breadth, c = y.shape
        y = F.pad(y, (0, 0, 0, (w - breadth % w) % w, 0, (w - height % w) % w))
        rows, columns = y.shape[1:3]
        if shift:
            y = torch.roll(y, (-shift, -shift), (1, 2))
        y = y.view(n, rows // w, w, columns // w, w, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, c)
        q, k, v = qkv(y).chunk(3, -1)
        if heads:
            q, k, v = (part.unsqueeze(1) for part in (q, k, v))
        y = torch.softmax(q @ k.transpose(-1, -2) / c ** 0.5, -1) @ v
        y = y.view(n, rows // w, columns // w, w, w, c).permute(0, 1, 3, 2, 4, 5).reshape(n, rows, columns, c)
        if shift:
            y = torch.roll(y, (shift, shift), (1, 2))
        return y[:, :height, :breadth].permute(0, 3, 1, 2)
    return attend


def attention(x, qkv):
    tokens = x.flatten(2).transpose(1, 2)
    q, k, v = qkv(tokens).chunk(3, -1)
    y = torch.softmax(q @ k.transpose(1, 2) / x.shape[1] ** 0.5, -1) @ v
    return y.transpose(1, 2).reshape(x.shape)


def patches_cut(p):
    def cut(x):
        x = to_multiple(p, "constant", False)(x)
        return F.pixel_unshuffle(x, p)
    return cut


def distance_bias(x):
    rows = torch.arange(x.shape[2])
    bias = (rows[:, None] - rows[None]).abs().to(x.dtype).neg().exp()
    return (bias @ x.permute(0, 1, 2, 3)) / x.shape[2]


def layer(random, channels):
    """A step from a map with so many channels, and how many it leaves."""
    pick = lambda *choices: choices[int(random.integers(len(choices)))]
    number = lambda low, high: int(random.integers(low, high))
    mode = pick("constant", "reflect", "replicate", "circular")
    a, b, p, out = number(0, 3), number(0, 4), number(2, 4), number(2, 7)
    side, resampling, table = pick(2, 3), pick("nearest", "bilinear"), pick("bilinear", "bicubic")
    steps = {
        "conv": lambda: (nn.Conv2d(channels, out, number(1, 4), number(1, 3), number(0, 2)), out),
        "pool": lambda: (pick(nn.MaxPool2d, nn.AvgPool2d)(number(2, 4), number(1, 4), ceil_mode=bool(number(0, 2))),
                         channels),
        "pad": lambda: (Step(lambda x: F.pad(x, (a, b, b, a), mode=mode)), channels),
        "multiple": lambda: (Step(to_multiple(number(2, 9), mode, bool(number(0, 2)))), channels),
        "crop": lambda: (Step(lambda x: x[:, :, a:x.shape[2] - b, b:]), channels),
        "crop from the end": lambda: (Step(lambda x: x[:, :, a:-b - 1, -7:]), channels),
        "every other": lambda: (Step(lambda x: x[:, :, ::2, a::2]), channels),
        "half": lambda: (Step(lambda x: x[:, :, : x.shape[2] // 2] + x[:, :, x.shape[2] - x.shape[2] // 2:]), channels),
        "flip": lambda: (Step(lambda x: x + x.flip(side)), channels),
        "roll": lambda: (Step(lambda x: torch.roll(x, (a, -b), (2, 3))), channels),
        "resize": lambda: (Step(lambda x: F.interpolate(x, size=((x.shape[2] + 1) // 2, x.shape[3] * 2), mode="bilinear",
                                                        align_corners=bool(a))), channels),
        "there and back": lambda: (Step(lambda x: x + F.interpolate(F.avg_pool2d(x, 2), size=x.shape[2:], 
                                                                 mode=resampling)), channels),
        "coordinates": lambda: (Step(coordinates(pick("linspace", "normalised", "positions", "waves"))), channels + 2),
        "cells": lambda: (Step(patches_cut(p)), channels * p * p),
        "mean": lambda: (Step(lambda x: x - x.mean(side, keepdim=True) + x.shape[3] / 10), channels),
        "sum": lambda: (Step(lambda x: x.cumsum(3) / x.shape[3]), channels),
        "attention": lambda: (Step(attention, nn.Linear(channels, 3 * channels)), channels),
        "windows": lambda: (Step(windows(number(2, 5), number(0, 2), number(0, 2)), nn.Linear(channels, 3 * channels)),
                            channels),
        "distances": lambda: (Step(distance_bias), channels),
        "table": lambda: (Step(lambda x, t: x + F.interpolate(t.weight.reshape(1, channels, 4, 4), size=x.shape[2:],
                                                              mode=table, align_corners=False),
                               nn.Embedding(16, channels)), channels),
    }
    kind = pick(*steps)
    return kind, *steps[kind]()


def made(seed):
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    channels, kinds, layers = int(random.integers(1, 5)), [], []
    x = torch.randn(1, channels, int(random.integers(20, 40)), int(random.integers(20, 40)))
    for _ in range(int(random.integers(2, 5))):
        kind, step, channels = layer(random, channels)
        if channels > 64:
            break
        kinds.append(kind)
        layers.append(step)
    sizes = [tuple(int(n) for n in random.integers(16, 70, 2)) for _ in range(4)]
    return nn.Sequential(*layers).eval(), x, kinds, sizes


def export(net, x, path, exporter):
    names = {2: "height", 3: "width"}
    if exporter == "dynamo":
        sides = {i: torch.export.Dim(name, min=8, max=512) for i, name in names.items()}
        torch.onnx.export(net, (x,), path, input_names=["x"], output_names=["y"], dynamo=True, verbose=False,
                          dynamic_shapes=[sides])
    else:
        more = {"dynamo": False} if torch.__version__ >= "2.5" else {}
        torch.onnx.export(net, x, path, input_names=["x"], output_names=["y"], opset_version=16,
                          dynamic_axes={"x": names}, **more)


def main():
    parser = run_ferry.arguments(__doc__)
    parser.add_argument("--exporter", choices=("script", "dynamo"), default="script")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    wrong, refused, agree = [], [], 0
    with tempfile.TemporaryDirectory() as root:
        for seed in range(args.seed, args.seed + args.count):
            net, x, kinds, sizes = made(seed)
            folder = os.path.join(args.keep or root, str(seed))
            os.makedirs(folder, exist_ok=True)
            path, blob = os.path.join(folder, "net.onnx"), os.path.join(folder, "net.ferry")
            try:
                net(x)
                export(net, x, path, args.exporter)
            except Exception:  # PyTorch itself takes no such size, or cannot export it
                continue
            shape = "x=" + "x".join(str(n) for n in x.shape)
            done = subprocess.run([args.ferry, "convert", path, "--detect", "none", "-o", blob, "--shape", shape,
                                   "--dynamic", "height", "--dynamic", "width"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=300)
            if done.returncode != 0:
                refused.append((seed, kinds, done.stdout.strip().splitlines()[-1]))
                continue
            verdict = None
            for size in [x.shape[2:], *sizes]:
                given = torch.randn(*x.shape[:2], *size)
                try:
                    with torch.no_grad():
                        y = net.double()(given.double()).float()
                except Exception:
                    continue
                inputs, got = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
                run_ferry.write_tensors(inputs, {"x": given.numpy()})
                ran = subprocess.run([args.ferry, "run", blob, "--tensors", inputs, "--save", got],
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if ran.returncode != 0:
                    verdict = verdict or (refused, "%s: %s" % (tuple(size), ran.stdout.strip().splitlines()[-1]))
                    continue
                why = run_ferry.difference(run_ferry.read_tensors(got), {"y": y.numpy()}, args.bound)
                if why:
                    verdict = (wrong, "%s: %s" % (tuple(size), why))
                    break
            if verdict:
                verdict[0].append((seed, kinds, verdict[1]))
            else:
                agree += 1
    print("%d agree, %d refused, %d wrong" % (agree, len(refused), len(wrong)))
    for name, list_ in (("refused", refused), ("wrong", wrong)):
        for seed, kinds, why in list_:
            print("  %s: seed %d, %s: %s" % (name, seed, "; ".join(kinds), why))
    return 1 if wrong or refused else 0


if __name__ == "__main__":
    sys.exit(main())
