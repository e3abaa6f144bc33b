#!/usr/bin/env python3
"""Writes tests/data/fixtures/coatnet_*: what timm's CoAtNets compute for a picture of 64 x 96. Needs PyTorch and timm.

    make_coatnet_fixtures.py tests/data/fixtures

Inputs and weights follow the rules of the fixtures' generator, so that neither is stored.
"""
import hashlib, json, os, struct, sys
import numpy as np
import timm
import torch

ARCHITECTURES = ("coatnet_0_rw_224", "coatnet_rmlp_nano_rw_224", "coatnet_0_224")
SHAPE, CLASSES, SEED, SAMPLES = (1, 3, 64, 96), 10, 0, 64
M64, GOLD = (1 << 64) - 1, 0x9E3779B97F4A7C15


def mix64(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
    return z ^ (z >> 31)


def bits(name, seed, n):
    h = 0xCBF29CE484222325
    for b in name.encode():
        h = ((h ^ b) * 0x100000001B3) & M64
    with np.errstate(over="ignore"):
        z = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLD) + np.uint64(h ^ mix64(seed))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def unit(name, shape):
    k = (bits(name, SEED, int(np.prod(shape))) >> np.uint64(40)).astype(np.int64) - (1 << 23)
    return (k / float(1 << 23)).reshape(shape)


def picture():
    n, c, h, w = SHAPE
    tiles = unit("input.tile", (n, c, -(-h // 32), -(-w // 32)))
    tiles = np.repeat(np.repeat(tiles, 32, 2), 32, 3)[:, :, :h, :w]
    return (1.5 * tiles + 0.5 * unit("input.noise", SHAPE)).astype(np.float32)


def rule(name, shape):
    """(kind, offset, scale): activations keep their size from layer to layer."""
    if name.endswith("running_var"):
        return "abs", 0.5, 0.5
    if name.endswith("bias_table"):
        return "uniform", 0.0, 1.5
    if len(shape) > 1:
        return "uniform", 0.0, float((3 / np.prod(shape[1:])) ** 0.5)
    return ("uniform", 1.0, 0.2) if name.endswith("weight") else ("uniform", 0.0, 0.2)


def tensors(model):
    """Fills the model by rule; the rules."""
    rules = []
    for name, t in model.state_dict().items():
        if not t.is_floating_point():
            continue
        shape = tuple(t.shape)
        kind, offset, scale = rule(name, shape)
        offset, scale = float(np.float32(offset)), float(np.float32(scale))
        u = unit(name, shape)
        t.copy_(torch.from_numpy((offset + scale * (abs(u) if kind == "abs" else u)).astype(np.float32)))
        rules.append({"name": name, "dtype": "F32", "shape": list(shape), "kind": kind, "offset": offset, "scale": scale})
    return rules


def compute(model, x):
    out, hooks = {}, []

    def keep(name):
        def hook(module, inputs, output):
            out.setdefault("tap/" + name, output.clone())

        return hook

    for name, module in model.named_modules():
        if name == "stem" or name.startswith("stages."):
            hooks.append(module.register_forward_hook(keep(name)))
    features = model.forward_features(x)
    taps = dict(out)
    pooled = model.forward_head(features, pre_logits=True)
    logits = model.forward_head(features)
    for hook in hooks:
        hook.remove()
    return taps, {"features": features, "pooled": pooled, "logits": logits}


def wanted(name):
    """The stem, every block, and all of a stage's first block."""
    parts = name.split(".")
    return len(parts) <= 4 or parts[3] == "0"


def write_safetensors(path, arrays):
    header, at = {}, 0
    for k in sorted(arrays):
        header[k] = {"dtype": "F32", "shape": list(arrays[k].shape), "data_offsets": [at, at + arrays[k].nbytes]}
        at += arrays[k].nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(arrays[k].tobytes() for k in sorted(arrays)))


def make(architecture, folder):
    model = timm.create_model(architecture, img_size=SHAPE[2:], num_classes=CLASSES).eval()
    rules = tensors(model)
    x = picture()
    single = compute(model, torch.from_numpy(x))
    exact = compute(model.double(), torch.from_numpy(x).double())
    stored, entries = {}, ([], [])
    for kind in (0, 1):
        for name, t in exact[kind].items():
            if kind == 0 and not wanted(name):
                continue
            v, near = t.contiguous().numpy(), single[kind][name].contiguous().numpy()
            absmax = float(abs(v).max())
            e = {"name": name, "shape": list(v.shape), "stored": "full",
                 "float32_vs_float64": float("%.3g" % (abs(near - v).max() / absmax)), "mean": float("%.9g" % v.mean()),
                 "std": float("%.9g" % v.std()), "absmax": float("%.9g" % absmax)}
            v32 = v.astype(np.float32)
            if v.size > SAMPLES:
                e.update(stored="sample", samples=SAMPLES)
                v32 = v32.ravel()[(bits("sample:" + name, 0, SAMPLES) % np.uint64(v.size)).astype(np.int64)]
            stored[name] = v32
            entries[kind].append(e)
    sample = (bits("sample:input", 0, SAMPLES) % np.uint64(x.size)).astype(np.int64)
    stored["input"] = x.ravel()[sample]
    manifest = {
        "format": "parity-fixture/1", "name": os.path.basename(folder),
        "library": {"name": "timm", "version": timm.__version__, "torch": torch.__version__.split("+")[0]}, "seed": SEED,
        "arch": architecture,
        "inputs": [{"name": "input", "shape": list(SHAPE), "dtype": "F32", "stored": "sample", "samples": SAMPLES,
                    "sha256": hashlib.sha256(x.tobytes()).hexdigest()}],
        "taps": entries[0], "outputs": entries[1], "tensors": rules}
    os.makedirs(folder, exist_ok=True)
    write_safetensors(os.path.join(folder, "fixture.safetensors"), stored)
    with open(os.path.join(folder, "manifest.json"), "w") as f:
        json.dump(manifest, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    os.environ["TIMM_FUSED_ATTN"] = "0"
    with torch.no_grad():
        for architecture in ARCHITECTURES:
            make(architecture, os.path.join(sys.argv[1], architecture))
