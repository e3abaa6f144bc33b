# SPDX-License-Identifier: Apache-2.0
"""The files of a parity fixture (docs/parity.md), and the generator cbrng-1 for inputs and sample positions. Used by
this package and by tests/parity/make_*_fixture*.py."""
import hashlib, json, os, struct

import numpy as np

FORMAT = "parity-fixture/1"
MASK = (1 << 64) - 1
TYPES = {np.dtype("float32"): "F32", np.dtype("int64"): "I64", np.dtype("int32"): "I32"}


# ---- cbrng-1: the same numbers on every machine (sdk/model/seeded.h) ------------------------------------------------


def mix64(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def bits(name, seed, count):
    """The first `count` words of 64 bits of the stream `name`."""
    base = 0xCBF29CE484222325
    for b in name.encode():
        base = ((base ^ b) * 0x100000001B3) & MASK
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(base ^ mix64(seed))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def steps(name, seed, shape):
    """Integers on [-2^23, 2^23)."""
    words = bits(name, seed, int(np.prod(shape)))
    return ((words >> np.uint64(40)).astype(np.int64) - (1 << 23)).reshape(shape)


def unit(name, seed, shape):
    """Numbers on [-1, 1), float64."""
    return steps(name, seed, shape) / float(1 << 23)


def seeded_image(shape, seed, channels_last=False):
    """float32 [N,C,H,W], or [N,H,W,C]: tiles of 32x32 with noise."""
    if channels_last:
        n, h, w, c = shape
        return np.ascontiguousarray(seeded_image((n, c, h, w), seed).transpose(0, 2, 3, 1))
    n, c, h, w = shape
    tiles = unit("input.tile", seed, (n, c, -(-h // 32), -(-w // 32)))
    tiles = tiles.repeat(32, 2).repeat(32, 3)[:, :, :h, :w]
    return (1.5 * tiles + 0.5 * unit("input.noise", seed, shape)).astype(np.float32)


# ---- rules: how a manifest describes a checkpoint's tensors ----------------------------------------------------------


def rule(name, shape, kind="uniform", offset=0.0, scale=1.0):
    return {"name": name, "dtype": "F32", "shape": list(shape), "kind": kind, "offset": float(np.float32(offset)),
            "scale": float(np.float32(scale))}


def tensor_of(rule, seed):
    """The float32 tensor that build/dev/bin/make_checkpoint writes."""
    name, shape, offset, scale = rule["name"], rule["shape"], rule["offset"], rule["scale"]
    if rule["kind"] == "centered":
        k = steps(name, seed, shape).reshape(shape[0], -1)
        rows = k.shape[1]
        values = (k * rows - k.sum(1, keepdims=True)).astype(np.float64) / float(rows << 23) * scale
        return values.astype(np.float32).reshape(shape)
    u = unit(name, seed, shape)
    return (offset + scale * (np.abs(u) if rule["kind"] == "abs" else u)).astype(np.float32)


# ---- files ----------------------------------------------------------------------------------------------------------


def write_safetensors(path, arrays):
    arrays = {name: np.require(array, requirements="C") for name, array in arrays.items()}
    header, at = {}, 0
    for name in sorted(arrays):
        array, end = arrays[name], at + arrays[name].nbytes
        header[name] = {"dtype": TYPES[array.dtype], "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(arrays):
            f.write(arrays[name].tobytes())


def read_safetensors(path):
    """Arrays by name, read-only, of the types above. ValueError: it is no such file."""
    types = {name: dtype for dtype, name in TYPES.items()}
    with open(path, "rb") as file:
        whole = file.read()
    try:
        begin = 8 + struct.unpack_from("<Q", whole)[0]
        out = {}
        for name, item in json.loads(whole[8:begin]).items():
            if name != "__metadata__":
                first, last = item["data_offsets"]
                values = np.frombuffer(whole[begin + first : begin + last], types[item["dtype"]])
                out[name] = values.reshape(item["shape"])
        return out
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: no safetensors file of float32 and integers ({error!r})") from None


def sample_positions(name, samples, size):
    """Flat indices at which an entry of `size` elements is sampled."""
    return (bits("sample:" + name, 0, samples) % np.uint64(size)).astype(np.int64)


def sampled(name, values, samples):
    return values.reshape(-1)[sample_positions(name, samples, values.size)]


def entry(name, exact, rough, samples, stored, most=None):
    """The manifest's entry of a tap or output: `exact` in float64, `rough` computed in float32, None if it was not.
    Tensors of more than `most` (default: 2 * samples) elements are stored as samples."""
    values = exact.astype(np.float32)
    exact = exact.astype(np.float64)
    absmax = float(np.abs(exact).max())
    error = np.abs(rough.astype(np.float64) - exact).max() if rough is not None else None
    floor = None if error is None else float("%.3g" % (error / absmax)) if absmax else 0.0
    item = {"name": name, "shape": list(exact.shape), "stored": "full", "float32_vs_float64": floor,
            "mean": float("%.9g" % exact.mean()), "std": float("%.9g" % exact.std()), "absmax": float("%.9g" % absmax)}
    if values.size > (2 * samples if most is None else most):
        item.update(stored="sample", samples=samples)
        values = sampled(name, values, samples)
    stored[name] = values
    return item


def input_entry(name, array, stored, samples=None):
    """The manifest's entry of an input, float32 or integers. With `samples`, the seed generates it."""
    item = {"name": name, "shape": list(array.shape), "dtype": TYPES[array.dtype],
            "stored": "full" if samples is None else "sample",
            "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}
    if samples is not None:
        item["samples"] = samples
    stored[name] = array if samples is None else sampled(name, array, samples)
    return item


def write_files(folder, manifest, stored, indent=1):
    """manifest: without its format, and without a name if it is the folder's. `indent` None: on one line."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "manifest.json"), "w") as f:
        name = os.path.basename(os.path.abspath(folder))
        json.dump({"format": FORMAT, "name": name, **manifest}, f, indent=indent,
                  separators=None if indent else (",", ":"))
        f.write("\n")
    write_safetensors(os.path.join(folder, "fixture.safetensors"), stored)


def write_fixture(folder, manifest, stored, indent=1):
    """write_files(), and prints a summary."""
    write_files(folder, manifest, stored, indent)
    floor = max(item["float32_vs_float64"] for item in manifest["taps"] + manifest["outputs"])
    counts = f"{len(manifest['taps'])} taps, {len(manifest['outputs'])} outputs"
    print(f"{folder}: {counts}, float32 floor at most {floor:.2g}")
