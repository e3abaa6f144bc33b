"""Writes vision_transformer_fixture.inc: what vision transformers with options that no parity fixture has compute, for
tests/converter/vision_transformer_test.cc.

    python3 tests/converter/make_vision_transformer_fixture.py      (torch 1.13; any version will do)

The networks are tiny and written out below, after the definitions of timm's VisionTransformer and Eva and of DINOv3's own
repository. Inputs and parameters are multiples of 1/64 that the test computes by the same formula. All in double.
"""
import math
import pathlib

import torch
from torch.nn import functional as F

CLASSES = 3


def values(key, *shape):
    seed = sum(map(ord, key)) * 11
    count = math.prod(shape)
    return torch.tensor([((i * 37 + seed) % 61 - 30) / 64 for i in range(count)], dtype=torch.float64).reshape(shape)


class Network:
    """Options as in timm's constructors; `parameters` collects what was read, in the checkpoint's names."""

    def __init__(self, **options):
        self.o = dict(patch=4, width=8, depth=2, heads=2, hidden=12, eps=1e-6, class_token=True, registers=0, pre_norm=False,
                      no_embed_class=False, table=None, positions=True, gamma=None, act=F.gelu, mlp="mlp", apart=False,
                      bias="qkv", qk_norm=False, rope=None, pool="token", fc_norm=False, reg_token="reg_token", size=(8, 16))
        self.o.update(options)
        self.parameters = {}

    def get(self, key, *shape):
        self.parameters[key] = list(shape)
        return values(key, *shape)

    def norm(self, x, name):
        width = x.shape[-1]
        return F.layer_norm(x, [width], self.get(name + ".weight", width), self.get(name + ".bias", width), self.o["eps"])

    def linear(self, x, name, out, bias=True):
        return F.linear(x, self.get(name + ".weight", out, x.shape[-1]), self.get(name + ".bias", out) if bias else None)

    def rotate(self, x):
        """x N,heads,L,D: patches are turned by their place's angles, the prefix is not."""
        if self.o["rope"] is None:
            return x
        prefix = 1 + self.o["registers"]
        height, width = self.grid
        wavelengths = self.o["rope"](self, x.shape[-1] // 4)
        rows = 2 * (torch.arange(height, dtype=torch.float64) + 0.5) / height - 1
        columns = 2 * (torch.arange(width, dtype=torch.float64) + 0.5) / width - 1
        places = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), -1).reshape(-1, 2)
        angles = (2 * math.pi * places[:, :, None] / wavelengths).flatten(1).tile(2)
        patches = x[:, :, prefix:]
        one, two = patches.chunk(2, -1)
        patches = patches * angles.cos() + torch.cat([-two, one], -1) * angles.sin()
        return torch.cat([x[:, :, :prefix], patches], 2)

    def attention(self, x, name):
        width, heads = x.shape[-1], self.o["heads"]
        bias = self.o["bias"]
        if self.o["apart"]:
            q = self.linear(x, name + ".q_proj", width, bias != "none")
            k = self.linear(x, name + ".k_proj", width, bias == "qkv")
            v = self.linear(x, name + ".v_proj", width, bias != "none")
        else:
            qkv = self.linear(x, name + ".qkv", 3 * width, bias in ("qkv", "masked"))
            if bias == "qv":
                qkv = qkv + torch.cat([self.get(name + ".q_bias", width), torch.zeros(width), self.get(name + ".v_bias", width)])
            if bias == "masked":
                qkv[..., width : 2 * width] -= values(name + ".qkv.bias", 3 * width)[width : 2 * width]
                self.get(name + ".qkv.bias_mask", 3 * width)
            q, k, v = qkv.chunk(3, -1)
        q, k, v = (t.reshape(*t.shape[:2], heads, -1).transpose(1, 2) for t in (q, k, v))
        if self.o["qk_norm"]:
            q, k = self.norm(q, name + ".q_norm"), self.norm(k, name + ".k_norm")
        q, k = self.rotate(q), self.rotate(k)
        y = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1) @ v
        return self.linear(y.transpose(1, 2).flatten(2), name + ".proj", width)

    def mlp(self, x, name):
        width, hidden, kind = x.shape[-1], self.o["hidden"], self.o["mlp"]
        if kind == "mlp":
            return self.linear(self.o["act"](self.linear(x, name + ".fc1", hidden)), name + ".fc2", width)
        if kind == "packed":
            gate, value = self.linear(x, name + ".fc1", 2 * hidden).chunk(2, -1)
            return self.linear(F.silu(gate) * value, name + ".fc2", width)
        g, v, out = kind
        gate, value = self.linear(x, name + g, hidden), self.linear(x, name + v, hidden)
        return self.linear(F.silu(gate) * value, name + out, width)

    def scale(self, x, block, i):
        return x if self.o["gamma"] is None else x * self.get(block + self.o["gamma"] % i, x.shape[-1])

    def positions(self, prefix):
        kept = 0 if self.o["no_embed_class"] else prefix
        table, width = self.o["table"] or self.grid, self.o["width"]
        p = self.get("pos_embed", 1, kept + table[0] * table[1], width)
        if table != self.grid:
            m = p[:, kept:].reshape(1, *table, width).permute(0, 3, 1, 2)
            m = F.interpolate(m, size=self.grid, mode="bicubic", align_corners=False)
            p = torch.cat([p[:, :kept], m.permute(0, 2, 3, 1).flatten(1, 2)], 1)
        return p

    def run(self):
        o, width = self.o, self.o["width"]
        self.grid = (o["size"][0] // o["patch"], o["size"][1] // o["patch"])
        weight = self.get("patch_embed.proj.weight", width, 3, o["patch"], o["patch"])
        bias = None if o["pre_norm"] else self.get("patch_embed.proj.bias", width)
        x = F.conv2d(values("input", 1, 3, *o["size"]), weight, bias, o["patch"]).flatten(2).transpose(1, 2)
        tokens = [self.get("cls_token", 1, 1, width)] if o["class_token"] else []
        tokens += [self.get(o["reg_token"], 1, o["registers"], width)] if o["registers"] else []
        prefix = sum(t.shape[1] for t in tokens)
        positions = self.positions(prefix) if o["positions"] else torch.zeros(1)
        if o["no_embed_class"]:
            x = torch.cat(tokens + [x + positions], 1)
        else:
            x = torch.cat(tokens + [x], 1) + positions
        if o["pre_norm"]:
            x = self.norm(x, "norm_pre")
        for i in range(o["depth"]):
            block = "blocks.%d." % i
            x = x + self.scale(self.attention(self.norm(x, block + "norm1"), block + "attn"), block, 1)
            x = x + self.scale(self.mlp(self.norm(x, block + "norm2"), block + "mlp"), block, 2)
        if not o["fc_norm"]:
            x = self.norm(x, "norm")
        x = x[:, 0] if o["pool"] == "token" else x[:, prefix:].mean(1)
        if o["fc_norm"]:
            x = self.norm(x, "fc_norm")
        return self.linear(x, "head", CLASSES)


def temperature(network, count):
    return 100.0 ** (torch.arange(count, dtype=torch.float64) / count)


EVA = dict(patch=16, size=(32, 48), eps=1e-5, width=32, registers=4, positions=False)
CASES = {
    "qk_norm": Network(qk_norm=True),
    "apart": Network(apart=True, table=(3, 3)),
    "clip_quick_gelu": Network(pre_norm=True, eps=1e-5, act=lambda x: x * torch.sigmoid(1.702 * x)),
    "gap": Network(class_token=False, bias="none", gamma="ls%d.gamma", pool="avg"),
    "registers": Network(class_token=False, registers=2, no_embed_class=True, gamma="ls%d.gamma", pool="avg", fc_norm=True),
    "embedded_registers": Network(class_token=False, registers=1, pool="avg"),
    "dinov2_giant": Network(mlp="packed", registers=4, no_embed_class=True, gamma="ls%d.gamma", table=(5, 5)),
    "dinov3_plus": Network(**EVA, mlp=(".fc1_g", ".fc1_x", ".fc2"), bias="qv", gamma="gamma_%d", pool="avg", rope=temperature),
    "dinov3_own": Network(**EVA, mlp=(".w1", ".w2", ".w3"), bias="masked", gamma="ls%d.gamma", reg_token="storage_tokens",
                          rope=lambda network, count: 1 + network.get("rope_embed.periods", count)),
}

lines = ["// By make_vision_transformer_fixture.py, torch %s: {case, {key, shape}..., logits}." % torch.__version__.split("+")[0]]
for name, network in CASES.items():
    logits = network.run().flatten().tolist()
    parameters = ", ".join('{"%s", {%s}}' % (k, ", ".join(map(str, s))) for k, s in network.parameters.items())
    lines.append('{"%s", {%s}, {%s}},' % (name, parameters, ", ".join("%.15g" % v for v in logits)))
pathlib.Path(__file__).with_name("vision_transformer_fixture.inc").write_text("\n".join(lines) + "\n")
