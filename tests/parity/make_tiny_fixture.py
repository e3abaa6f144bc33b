#!/usr/bin/env python3
"""Writes tests/parity/tiny: a parity fixture whose reference is the plain numpy (float64) below.

    make_tiny_fixture.py OUT_FOLDER

The network has what the converter must not get wrong: stride with uneven padding, a BatchNorm whose epsilon matters, a
depthwise convolution with a lopsided kernel, a residual, a pooled head.

    stem    conv 3->8, 3x3, stride 2, padding 1; BatchNorm (eps 1e-3); ReLU6
    block.0 x + BatchNorm(depthwise 3x3, padding 1)
    head    mean over pixels; linear 8->5
"""
import hashlib, json, os, struct, sys
import numpy as np

M64 = (1 << 64) - 1
SEED = 7


def mix64(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def bits(name, seed, i):
    h = 0xCBF29CE484222325
    for b in name.encode():
        h = ((h ^ b) * 0x100000001B3) & M64
    return mix64(((h ^ mix64(seed)) + (i + 1) * 0x9E3779B97F4A7C15) & M64)


def unit(name, n, seed=SEED):
    return np.array([((bits(name, seed, i) >> 40) - (1 << 23)) / (1 << 23) for i in range(n)])


RULES = []


def tensor(name, shape, kind, offset=0.0, scale=1.0):
    """A checkpoint tensor in float64, rounded to float32 as the rule says."""
    offset, scale = float(np.float32(offset)), float(np.float32(scale))
    RULES.append({"name": name, "dtype": "F32", "shape": list(shape), "kind": kind, "offset": offset, "scale": scale})
    n = int(np.prod(shape))
    u = unit(name, n)
    if kind == "abs":
        u = abs(u)
    if kind == "centered":
        s = np.round(u * (1 << 23)).astype(np.int64).reshape(shape[0], -1)
        k = s.shape[1]
        v = (s * k - s.sum(1, keepdims=True)).astype(np.float64) / float(k << 23) * scale
    else:
        v = offset + scale * u
    return v.astype(np.float32).reshape(shape)


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
         "head.weight": tensor("head.weight", (5, 8), "centered", 0, 1), "head.bias": tensor("head.bias", (5,), "uniform", 0, 0.3)}
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


def image(shape):
    n, c, h, w = shape
    th, tw = -(-h // 32), -(-w // 32)
    tiles = unit("input.tile", n * c * th * tw).reshape(n, c, th, tw)
    noise = unit("input.noise", n * c * h * w).reshape(shape)
    return (1.5 * np.repeat(np.repeat(tiles, 32, 2), 32, 3)[:, :, :h, :w] + 0.5 * noise).astype(np.float32)


def write_safetensors(path, tensors):
    header, at = {}, 0
    for k in sorted(tensors):
        header[k] = {"dtype": "F32", "shape": list(tensors[k].shape), "data_offsets": [at, at + tensors[k].nbytes]}
        at += tensors[k].nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(tensors[k].tobytes() for k in sorted(tensors)))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    x = image((1, 3, 36, 44))
    w = weights()
    exact, single = forward(w, x, np.float64), forward(w, x, np.float32)
    stored, entries = {"input": x}, {}
    for name, v in exact.items():
        v32 = v.astype(np.float32)
        absmax = float(abs(v).max())
        e = {"name": name, "shape": list(v.shape), "stored": "full",
             "float32_vs_float64": float("%.3g" % (abs(single[name].astype(np.float64) - v).max() / absmax)),
             "mean": float("%.9g" % v.mean()), "std": float("%.9g" % v.std()), "absmax": float("%.9g" % absmax)}
        if v.size > 400:
            e.update(stored="sample", samples=256)
            v32 = v32.ravel()[[bits("sample:" + name, 0, i) % v.size for i in range(256)]]
        stored[name], entries[name] = v32, e
    stored["feat/0"] = exact["tap/stem"].astype(np.float32).ravel()[
        [bits("sample:feat/0", 0, i) % exact["tap/stem"].size for i in range(256)]]
    manifest = {
        "format": "parity-fixture/1", "name": "tiny", "library": {"name": "numpy"}, "seed": SEED, "arch": "tiny",
        "features_only": {"module": ["stem"], "shapes": [list(exact["tap/stem"].shape)]},
        "inputs": [{"name": "input", "shape": list(x.shape), "dtype": "F32", "stored": "full",
                    "sha256": hashlib.sha256(x.tobytes()).hexdigest()}],
        "outputs": [e for k, e in entries.items() if not k.startswith("tap/")],
        "taps": [e for k, e in entries.items() if k.startswith("tap/")], "tensors": RULES}
    with open(os.path.join(folder, "manifest.json"), "w") as f:
        json.dump(manifest, f, indent=1)
        f.write("\n")
    write_safetensors(os.path.join(folder, "fixture.safetensors"), stored)


if __name__ == "__main__":
    main(sys.argv[1])
