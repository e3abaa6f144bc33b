#!/usr/bin/env python3
"""Make the parity fixtures of the super-resolution networks: our own reference, in numpy alone and independent of Ferry.

    make_super_resolution_fixtures.py OUT --esrgan-slim PACKAGE --realesr MODEL.safetensors

PACKAGE is the unpacked npm package @upscalerjs/esrgan-slim, MODEL.safetensors the weights of realesr-animevideov3. Writes
folders in the format parity-fixture/1 (manifest.json, fixture.safetensors):

    esrgan_slim_x2, _x3, _x4, _x8    the package's weights (not stored)
    realesr_animevideov3             the published weights (not stored)
    realesr_animevideov3_x3          synthetic weights, from the manifest's rules

Everything is computed twice, in float64 (stored, rounded to float32) and in float32 (whose error is the floor). Before
anything is written, the residual dense network's results on the package's fixture.png are compared with its result.png.
"""
import argparse, hashlib, json, os, struct
import numpy as np

MASK = (1 << 64) - 1
SAMPLES = 512


# ---- cbrng-1: numbers that are the same everywhere ------------------------------------------------------------------


def mix64(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def bits(name, seed, count):
    base = 0xCBF29CE484222325
    for b in name.encode():
        base = ((base ^ b) * 0x100000001B3) & MASK
    base ^= mix64(seed)
    return [mix64((base + (i + 1) * 0x9E3779B97F4A7C15) & MASK) for i in range(count)]


def unit(name, seed, shape):
    k = np.array([(b >> 40) - (1 << 23) for b in bits(name, seed, int(np.prod(shape)))], np.float64)
    return (k / (1 << 23)).reshape(shape)


# ---- files ----------------------------------------------------------------------------------------------------------


def read_safetensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {k: np.frombuffer(data[slice(*v["data_offsets"])], "<f4").reshape(v["shape"]) for k, v in header.items()}


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name in sorted(tensors):
        size = tensors[name].nbytes
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(tensors):
            f.write(np.ascontiguousarray(tensors[name]).tobytes())


def read_layers_model(folder):
    with open(os.path.join(folder, "model.json")) as f:
        manifest = json.load(f)["weightsManifest"]
    weights = {}
    for group in manifest:
        data = b"".join(open(os.path.join(folder, p), "rb").read() for p in group["paths"])
        at = 0
        for w in group["weights"]:
            count = int(np.prod(w["shape"]))
            weights[w["name"]] = np.frombuffer(data, "<f4", count, at).reshape(w["shape"])
            at += 4 * count
    return weights


# ---- the networks: H,W,C throughout ---------------------------------------------------------------------------------


def conv(x, kernel, bias):
    """'same' convolution, stride 1; kernel KH,KW,I,O."""
    kh, kw, _, out = kernel.shape
    height, width, _ = x.shape
    padded = np.pad(x, ((kh // 2, kh // 2), (kw // 2, kw // 2), (0, 0)))
    y = np.zeros((height * width, out), x.dtype)
    for i in range(kh):
        for j in range(kw):
            y += padded[i : i + height, j : j + width].reshape(height * width, -1) @ kernel[i, j]
    return (y + bias).reshape(height, width, out)


def nearest(x, scale):
    return x.repeat(scale, 0).repeat(scale, 1)


def residual_dense(x, weights, scale, taps):
    def put(name, value):
        taps[name] = value
        return value

    def c(x, name):
        return put(name, conv(x, weights[name + "/kernel"].astype(x.dtype), weights[name + "/bias"].astype(x.dtype)))

    shallow = c(x, "F_m1")
    x = c(shallow, "F_0")
    blocks = []
    for i in (1, 2):
        grown = put(f"F_{i}_1_Relu", np.maximum(c(x, f"F_{i}_1"), 0))
        y = put(f"RDB_Concat_{i}_1", np.concatenate([x, grown], -1))
        x = put(f"LRL_{i}", c(y, f"LFF_{i}") + x)
        blocks.append(x)
    x = put("LRLs_Concat", np.concatenate(blocks, -1))
    x = put("FDF", c(c(x, "GFF_1"), "GFF_2") + shallow)
    x = put("UPN1_Relu", np.maximum(c(x, "UPN1"), 0))
    x = put("UPN2_Relu", np.maximum(c(x, "UPN2"), 0))
    x = put("UPsample", nearest(c(x, "UPN3"), scale))
    return c(x, "SR")


def compact(image, weights, scale, taps):
    def c(x, i):
        kernel = weights[f"body.{i}.weight"].astype(x.dtype).transpose(2, 3, 1, 0)
        return conv(x, kernel, weights[f"body.{i}.bias"].astype(x.dtype))

    last = max(int(name.split(".")[1]) for name in weights)
    x = image
    for i in range(0, last, 2):
        x = taps[f"body.{i}"] = c(x, i)
        slope = weights[f"body.{i + 1}.weight"].astype(x.dtype)
        x = taps[f"body.{i + 1}"] = np.where(x > 0, x, x * slope)
    x = c(x, last)
    height, width, channels = x.shape
    cells = x.reshape(height, width, channels // scale**2, scale, scale)
    x = taps["upsampler"] = cells.transpose(0, 3, 1, 4, 2).reshape(height * scale, width * scale, -1)
    return x + nearest(image, scale)


# ---- fixtures -------------------------------------------------------------------------------------------------------


def write_fixture(folder, arch, library, network, image, output, channels_first, tensors=None, seed=0):
    """network(image, taps) -> output; `output` and the input's name are the framework's."""

    def order(x):
        return (x.transpose(2, 0, 1) if channels_first else x)[None]

    image = image.astype(np.float32)  # what Ferry is given, for both runs
    taps, rough = {}, {}
    taps[output] = network(image.astype(np.float64), taps)
    rough[output] = network(image, rough)
    name = "input" if channels_first else "LR"
    source = np.ascontiguousarray(order(image))
    stored, entries = {name: source}, []
    for key, value in taps.items():
        entry = key if key == output else "tap/" + key
        value, error = order(value), np.abs(order(rough[key]) - order(value)).max()
        flat = value.astype(np.float32).reshape(-1)
        item = {"name": entry, "shape": list(value.shape), "stored": "full"}
        item["float32_vs_float64"] = float("%.3g" % (error / np.abs(value).max()))
        item["absmax"] = float("%.9g" % np.abs(flat).max())
        samples = SAMPLES * 8 if key == output else SAMPLES
        if flat.size > 2 * samples:
            item.update(stored="sample", samples=samples)
            stored[entry] = flat[[b % flat.size for b in bits("sample:" + entry, 0, samples)]]
        else:
            stored[entry] = value.astype(np.float32)
        entries.append(item)
    manifest = {
        "format": "parity-fixture/1",
        "name": os.path.basename(folder),
        "library": {"name": library, "reference": os.path.basename(__file__), "numpy": np.__version__},
        "arch": arch,
        "seed": seed,
        "inputs": [{"name": name, "shape": list(source.shape), "dtype": "F32", "stored": "full",
                    "sha256": hashlib.sha256(source.tobytes()).hexdigest()}],
        "taps": [e for e in entries if e["name"] != output],
        "outputs": [e for e in entries if e["name"] == output],
    }
    if tensors is not None:
        manifest["tensors"] = tensors
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "manifest.json"), "w") as f:
        json.dump(manifest, f, indent=1)
        f.write("\n")
    write_safetensors(os.path.join(folder, "fixture.safetensors"), stored)
    worst = max(e["float32_vs_float64"] for e in entries)
    print(f"{folder}: {len(entries)} tensors, float32 floor at most {worst:.2g}")


def check_against_package(package, scale, weights):
    from PIL import Image

    def pixels(path):
        return np.asarray(Image.open(os.path.join(package, "assets", path)).convert("RGB")).astype(np.float64)

    ours = np.rint(residual_dense(pixels("fixture.png"), weights, scale, {})).clip(0, 255)
    worst = np.abs(ours - pixels(f"samples/{scale}x/result.png")).max()
    print(f"x{scale}: at most {worst:g} of 255 from the package's result.png")
    if worst > 1:
        raise SystemExit("the reference is not the package's network")


def synthetic_rules(upscale):
    """As PyTorch's default initialisation in size, so that activations keep theirs."""
    rules = []
    for i in range(0, 35):
        if i % 2 == 1:
            rules.append({"name": f"body.{i}.weight", "shape": [64], "offset": 0.25, "scale": 0.25})
            continue
        inputs, outputs = (3 if i == 0 else 64), (3 * upscale**2 if i == 34 else 64)
        scale = float(np.float32((3 / (9 * inputs)) ** 0.5))
        rules.append({"name": f"body.{i}.weight", "shape": [outputs, inputs, 3, 3], "offset": 0.0, "scale": scale})
        rules.append({"name": f"body.{i}.bias", "shape": [outputs], "offset": 0.0, "scale": 0.125})
    return [dict(rule, dtype="F32", kind="uniform") for rule in rules]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--esrgan-slim", required=True)
    parser.add_argument("--realesr", required=True)
    args = parser.parse_args()

    # Not square, so that swapped sides show. Blocks of four pixels with noise: edges for the networks to work on.
    shape = (20, 14, 3)
    blocks = nearest(unit("blocks", 0, (5, 4, 3)), 4)[:20, :14]
    image = np.clip(np.rint(127.5 + 100 * blocks + 40 * unit("noise", 0, shape)), 0, 255)

    for scale in (2, 3, 4, 8):
        weights = read_layers_model(os.path.join(args.esrgan_slim, "models", f"x{scale}"))
        if scale != 8:  # the package has no sample of x8
            check_against_package(args.esrgan_slim, scale, weights)
        write_fixture(os.path.join(args.out, f"esrgan_slim_x{scale}"), f"esrgan_slim_x{scale}", "keras",
                      lambda x, taps: residual_dense(x, weights, scale, taps), image, "SR", False)

    weights = read_safetensors(args.realesr)
    write_fixture(os.path.join(args.out, "realesr_animevideov3"), "realesr_animevideov3", "basicsr",
                  lambda x, taps: compact(x, weights, 4, taps), image / 255, "output", True)

    rules = synthetic_rules(3)
    made = {r["name"]: (r["offset"] + r["scale"] * unit(r["name"], 0, r["shape"])).astype(np.float32) for r in rules}
    write_fixture(os.path.join(args.out, "realesr_animevideov3_x3"), "realesr_animevideov3_x3", "basicsr",
                  lambda x, taps: compact(x, made, 3, taps), image / 255, "output", True, rules)


main()
