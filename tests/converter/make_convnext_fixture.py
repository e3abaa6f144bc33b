"""Writes convnext_fixture.inc: what ConvNeXts with options that no parity fixture has compute, for
tests/converter/convnext_test.cc.

    python3 tests/converter/make_convnext_fixture.py      (torch 1.13; any version will do)

The networks are tiny and written out below, after the definitions of timm's ConvNeXt and transformers'
DINOv3ConvNextModel. Inputs and parameters are multiples of 1/64 that the test computes by the same formula. All in double.
"""
import math
import pathlib

import torch
from torch.nn import functional as F

CLASSES = 3
WIDTHS = (16, 24, 32, 40)
SIZE = (64, 96)


def values(key, *shape):
    seed = sum(map(ord, key)) * 11
    count = math.prod(shape)
    return torch.tensor([((i * 37 + seed) % 61 - 30) / 64 for i in range(count)], dtype=torch.float64).reshape(shape)


class Network:
    """`parameters` collects what was read, in the checkpoint's names."""

    def __init__(self, eps=1e-6):
        self.eps, self.parameters = eps, {}

    def get(self, key, *shape):
        self.parameters[key] = list(shape)
        return values(key, *shape)

    def conv(self, x, name, out, kernel, **options):
        weight = self.get(name + ".weight", out, x.shape[1] // options.get("groups", 1), kernel, kernel)
        return F.conv2d(x, weight, self.get(name + ".bias", out), **options)

    def linear(self, x, name, out):
        return F.linear(x, self.get(name + ".weight", out, x.shape[-1]), self.get(name + ".bias", out))

    def norm(self, x, name):
        """Over the last dimension."""
        width = x.shape[-1]
        return F.layer_norm(x, [width], self.get(name + ".weight", width), self.get(name + ".bias", width), self.eps)

    def norm2d(self, x, name):
        return self.norm(x.permute(0, 2, 3, 1), name).permute(0, 3, 1, 2)

    def block(self, x, name, names, conv_mlp):
        dw, norm, fc1, fc2 = (name + "." + n for n in names)
        width = x.shape[1]
        y = self.conv(x, dw, width, 7, padding=3, groups=width)
        if conv_mlp:
            y = self.conv(F.gelu(self.conv(self.norm2d(y, norm), fc1, 4 * width, 1)), fc2, width, 1)
        else:
            y = self.linear(F.gelu(self.linear(self.norm(y.permute(0, 2, 3, 1), norm), fc1, 4 * width)), fc2, width)
            y = y.permute(0, 3, 1, 2)
        return x + y * self.get(name + ".gamma", width).reshape(1, -1, 1, 1)


def timm(network, stem, conv_mlp, norm_first, hidden):
    x = values("input", 1, 3, *SIZE)
    if stem == "patch":
        x = network.norm2d(network.conv(x, "stem.0", WIDTHS[0], 4, stride=4), "stem.1")
    else:
        first = 8 if stem == "overlap_tiered" else WIDTHS[0]
        x = network.conv(x, "stem.0", first, 3, stride=2, padding=1)
        x = network.norm2d(network.conv(x, "stem.1", WIDTHS[0], 3, stride=2, padding=1), "stem.2")
    for s, width in enumerate(WIDTHS):
        if s:
            down = "stages.%d.downsample." % s
            x = network.conv(network.norm2d(x, down + "0"), down + "1", width, 2, stride=2)
        x = network.block(x, "stages.%d.blocks.0" % s, ("conv_dw", "norm", "mlp.fc1", "mlp.fc2"), conv_mlp)
    if norm_first:
        x = network.norm2d(x, "norm_pre")
    x = x.mean((2, 3))
    if not norm_first:
        x = network.norm(x, "head.norm")
    if hidden:
        x = F.gelu(network.linear(x, "head.pre_logits.fc", hidden))
    return network.linear(x, "head.fc", CLASSES)


def transformers(network):
    x = values("input", 1, 3, *SIZE)
    for s, width in enumerate(WIDTHS):
        down = "stages.%d.downsample_layers." % s
        if s:
            x = network.conv(network.norm2d(x, down + "0"), down + "1", width, 2, stride=2)
        else:
            x = network.norm2d(network.conv(x, down + "0", width, 4, stride=4), down + "1")
        names = ("depthwise_conv", "layer_norm", "pointwise_conv1", "pointwise_conv2")
        x = network.block(x, "stages.%d.layers.0" % s, names, False)
    x = torch.cat([x.mean((2, 3))[:, None], x.flatten(2).transpose(1, 2)], 1)
    return network.norm(x, "layer_norm")[:, ::6, ::13]  # pooled, and the last of 2x3 positions


CASES = {
    "overlap": lambda network: timm(network, "overlap", True, False, 0),
    "overlap_tiered": lambda network: timm(network, "overlap_tiered", True, False, 0),
    "norm_first": lambda network: timm(network, "patch", True, True, 0),
    "head_mlp": lambda network: timm(network, "patch", False, False, 20),
    "transformers": transformers,
}

lines = ["// By make_convnext_fixture.py, torch %s: {case, {key, shape}..., output}." % torch.__version__.split("+")[0]]
for name, run in CASES.items():
    network = Network()
    output = run(network).flatten().tolist()
    parameters = ", ".join('{"%s", {%s}}' % (k, ", ".join(map(str, s))) for k, s in network.parameters.items())
    lines.append('{"%s", {%s}, {%s}},' % (name, parameters, ", ".join("%.15g" % v for v in output)))
pathlib.Path(__file__).with_name("convnext_fixture.inc").write_text("\n".join(lines) + "\n")
