#!/usr/bin/env python3
"""Exports random modules by PyTorch, and compares Ferry with PyTorch in float64.

In float32, PyTorch's own LayerNorm of one element is a thousandth off: rounding is then the whole of the difference.

    tests/conformance/random_exports.py --seed 0 --count 100

Needs Debian's python3-torch. The exit code is 1 if a network is refused or differs.
"""
import os
import sys
import tempfile
import warnings

import numpy as np
import torch
from torch import nn

import run_ferry

ACTIVATIONS = [nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.GELU, nn.SiLU, nn.Mish, nn.Hardswish, nn.Hardsigmoid,
               nn.Sigmoid, nn.Tanh, nn.Softplus, nn.Softsign, nn.CELU]


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Branches(nn.Module):
    """Two paths of equal shape, joined."""

    def __init__(self, a, b, how):
        super().__init__()
        self.a, self.b, self.how = a, b, how

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        return torch.cat([a, b], 1) if self.how == "cat" else a + b if self.how == "add" else a * torch.sigmoid(b)


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.attention = nn.MultiheadAttention(size, 2, batch_first=True)

    def forward(self, x):
        tokens = x.flatten(2).transpose(1, 2)
        return self.attention(tokens, tokens, tokens)[0].transpose(1, 2).reshape(x.shape)


def layer(random, x):
    """A layer for the map x."""
    channels, height, width = x.shape[1:]
    even = channels % 2 == 0
    kinds = ["conv", "conv", "depthwise", "act", "act", "batch", "pool", "branch", "function", "up", "deconv", "norm"]
    kinds += ["attention", "group", "shuffle"] if even and channels * height * width > 2 else []
    kind = random.choice(kinds)
    out = int(random.integers(1, 7)) * 2
    if kind == "conv":
        k = int(random.integers(1, min(4, height + 1, width + 1)))
        return nn.Conv2d(channels, out, k, int(random.integers(1, 3)), int(random.integers(0, k)),
                         bias=bool(random.integers(2)))
    if kind == "depthwise":
        return nn.Conv2d(channels, channels, 3, 1, 1, groups=channels, padding_mode=random.choice(["zeros", "reflect"])
                         if min(height, width) > 2 else "zeros")
    if kind == "act":
        return random.choice(ACTIVATIONS)()
    if kind == "batch":
        return nn.BatchNorm2d(channels)
    if kind == "norm":
        return random.choice([nn.LayerNorm([width]), nn.InstanceNorm2d(channels, affine=True)]) \
            if height * width > 1 else nn.LayerNorm([width])
    if kind == "group":
        return nn.GroupNorm(2, channels)
    if kind == "pool" and min(height, width) > 3:
        return random.choice([nn.MaxPool2d(2), nn.AvgPool2d(3, 2, 1), nn.MaxPool2d(3, 2, 1, ceil_mode=True),
                              nn.AdaptiveAvgPool2d(1), nn.LPPool2d(2, 2)])
    if kind == "branch":
        convs = [nn.Conv2d(channels, out, 3, 1, 1), nn.Conv2d(channels, out, 1)]
        return Branches(*convs, random.choice(["cat", "add", "gate"]))
    if kind == "up" and max(height, width) < 20:
        mode = str(random.choice(["nearest", "bilinear", "bicubic"]))
        return nn.Upsample(scale_factor=2, mode=mode, align_corners=None if mode == "nearest" else bool(random.integers(2)))
    if kind == "deconv" and max(height, width) < 20:
        return nn.ConvTranspose2d(channels, out, 2, 2)
    if kind == "attention" and height * width < 200:
        return Attention(channels)
    if kind == "shuffle" and channels % 4 == 0:
        return nn.PixelShuffle(2)
    functions = [lambda x: x.flip(3), lambda x: x.transpose(2, 3), lambda x: x * x.mean((2, 3), keepdim=True),
                 lambda x: x.clamp(-1, 1), lambda x: torch.softmax(x, 1), lambda x: x - x.amax(1, keepdim=True),
                 lambda x: nn.functional.pad(x, (1, 2, 0, 1), value=0.5), lambda x: x.roll(1, 2),
                 lambda x: torch.where(x > 0, x, x * 0.3), lambda x: x.cumsum(2), lambda x: x / (x.abs().sum(1, True) + 1),
                 lambda x: torch.einsum("nchw,ndhw->ncd", x, x)[..., None], lambda x: x[:, :, ::2],
                 lambda x: nn.functional.normalize(x, dim=1), lambda x: torch.tril(x), lambda x: x.std((2, 3), keepdim=True),
                 lambda x: torch.log1p(x.abs()), lambda x: torch.atan(x), lambda x: torch.stack([x, -x], 2).flatten(1, 2)]
    functions = functions[:15] + functions[16:] if height * width == 1 else functions
    return Function(functions[int(random.integers(len(functions)))])


def made(seed):
    random = np.random.default_rng(seed)
    torch.manual_seed(seed)
    x = torch.randn(1, int(random.integers(1, 5)) * 2, *(int(d) for d in random.integers(6, 17, 2)))
    layers, y = [], x
    for _ in range(int(random.integers(3, 9))):
        layers.append(layer(random, y).eval())
        for p in layers[-1].parameters():
            p.data.add_(0.1 * torch.randn_like(p))
        with torch.no_grad():
            y = layers[-1](y)
    return nn.Sequential(*layers).eval(), x


def main():
    args = run_ferry.arguments(__doc__).parse_args()
    warnings.filterwarnings("ignore")
    verdicts = run_ferry.Verdicts(args)
    with tempfile.TemporaryDirectory() as root:
        for seed in range(args.seed, args.seed + args.count):
            net, x = made(seed)
            folder = os.path.join(args.keep or root, str(seed))
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "net.onnx")
            torch.onnx.export(net, x, path, input_names=["x"], output_names=["y"], opset_version=16)
            with torch.no_grad():
                y = net.double()(x.double()).float()
            verdicts.judge(seed, path, {"x": x.numpy()}, {"y": y.numpy()}, folder)
    return verdicts.summary(args.count)


if __name__ == "__main__":
    sys.exit(main())
