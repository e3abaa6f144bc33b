#!/usr/bin/env python3
"""Writes tests/parity/tiny: a parity fixture whose reference is the plain numpy (float64) below.

    make_tiny_fixture.py OUT_FOLDER

The network has what the converter must not get wrong: stride with uneven padding, a BatchNorm whose epsilon matters, a
depthwise convolution with a lopsided kernel, a residual, a pooled head.

    stem    conv 3->8, 3x3, stride 2, padding 1; BatchNorm (eps 1e-3); ReLU6
    block.0 x + BatchNorm(depthwise 3x3, padding 1)
    head    mean over pixels; linear 8->5
"""
import sys
import numpy as np
from fixture_files import entry, input_entry, rule, sampled, seeded_image, tensor_of, write_fixture

SEED = 7

RULES = []


def tensor(name, shape, kind, offset=0.0, scale=1.0):
    """A checkpoint tensor, float32."""
    RULES.append(rule(name, shape, kind, offset, scale))
    return tensor_of(RULES[-1], SEED)


def conv(x, w, stride, padding, groups, t):
    n, c, h, wd = x.shape
    o, i, kh, kw = w.shape
    p = np.zeros((n, c, h + 2 * padding, wd + 2 * padding), t)
    p[:, :, padding:padding + h, padding:padding + wd] = x
    oh, ow = (h + 2 * padding - kh) // stride + 1, (wd + 2 * padding - kw) // stride + 1
    y = np.zeros((n, o, oh, ow), t)
    for f in range(o):
        g = f // (o // groups)
        for y0 in range(oh):
            for x0 in range(ow):
                patch = p[:, g * i:(g + 1) * i, y0 * stride:y0 * stride + kh, x0 * stride:x0 * stride + kw]
                y[:, f, y0, x0] = (patch * w[f]).sum((1, 2, 3), dtype=t)
    return y


def batch_norm(x, p, eps, t):
    v = lambda k: p[k].astype(t)[None, :, None, None]
    return (x - v("running_mean")) / np.sqrt(v("running_var") + t(eps)) * v("weight") + v("bias")


def weights():
    def norm(prefix, n):
        return {k: tensor(f"{prefix}.{k}", (n,), kind, offset, scale) for k, kind, offset, scale in (
            ("weight", "uniform", 1, 0.2), ("bias", "uniform", 0, 0.2), ("running_mean", "uniform", 0, 0.1),
            ("running_var", "abs", 0.01, 0.02))}
    w = {"stem.conv": tensor("stem.conv.weight", (8, 3, 3, 3), "uniform", 0, 0.1), "stem.bn": norm("stem.bn", 8),
         "block.0.conv": tensor("block.0.conv.weight", (8, 1, 3, 3), "centered", 0, 0.5),
         "block.0.bn": norm("block.0.bn", 8),
         "head.weight": tensor("head.weight", (5, 8), "centered", 0, 1),
         "head.bias": tensor("head.bias", (5,), "uniform", 0, 0.3)}
    return w


def forward(w, x, t):
    out, x = {}, x.astype(t)
    c = lambda v: v.astype(t)
    x = out["tap/stem.conv"] = conv(x, c(w["stem.conv"]), 2, 1, 1, t)
    x = batch_norm(x, w["stem.bn"], 1e-3, t)
    x = out["tap/stem"] = np.clip(x, 0, 6)
    y = out["tap/block.0.conv"] = conv(x, c(w["block.0.conv"]), 1, 1, 8, t)
    y = out["tap/block.0.bn"] = batch_norm(y, w["block.0.bn"], 1e-3, t)
    x = out["tap/block.0"] = x + y
    out["features"] = x
    x = out["pooled"] = x.mean((2, 3), dtype=t)
    out["logits"] = x @ c(w["head.weight"]).T + c(w["head.bias"])
    return out


def main(folder):
    x = seeded_image((1, 3, 36, 44), SEED)
    w = weights()
    exact, single = forward(w, x, np.float64), forward(w, x, np.float32)
    stored = {}
    inputs = [input_entry("input", x, stored)]
    entries = [entry(name, v, single[name], 256, stored, most=400) for name, v in exact.items()]
    stored["feat/0"] = sampled("feat/0", exact["tap/stem"].astype(np.float32), 256)
    manifest = {
        "name": "tiny", "library": {"name": "numpy"}, "seed": SEED, "arch": "tiny",
        "features_only": {"module": ["stem"], "shapes": [list(exact["tap/stem"].shape)]},
        "inputs": inputs,
        "outputs": [e for e in entries if not e["name"].startswith("tap/")],
        "taps": [e for e in entries if e["name"].startswith("tap/")], "tensors": RULES}
    write_fixture(folder, manifest, stored)


if __name__ == "__main__":
    main(sys.argv[1])
