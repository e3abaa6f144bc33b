#!/usr/bin/env python3
"""Make the parity fixtures of the super-resolution networks: our own reference, in numpy alone, independent of Ferry.

    make_super_resolution_fixtures.py OUT --esrgan-slim PACKAGE --realesr MODEL.safetensors

PACKAGE is the unpacked npm package @upscalerjs/esrgan-slim, MODEL.safetensors the weights of realesr-animevideov3.
Writes folders in the format parity-fixture/1 (manifest.json, fixture.safetensors):

    esrgan_slim_x2, _x3, _x4, _x8    the package's weights (not stored)
    realesr_animevideov3             the published weights (not stored)
    realesr_animevideov3_x3          synthetic weights, from the manifest's rules

Everything is computed twice, in float64 (stored, rounded to float32) and in float32 (whose error is the floor). Before
anything is written, the residual dense network's results on the package's fixture.png are compared with its result.png.
"""
import argparse, json, os, struct
import numpy as np
from fixture_files import entry, input_entry, rule, tensor_of, unit, write_fixture

SAMPLES = 512


# ---- files ----------------------------------------------------------------------------------------------------------


def read_safetensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    header.pop("__metadata__", None)
    return {k: np.frombuffer(data[slice(*v["data_offsets"])], "<f4").reshape(v["shape"]) for k, v in header.items()}


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


def make_fixture(folder, arch, library, network, image, output, channels_first, tensors=None, seed=0):
    """network(image, taps) -> output; `output` and the input's name are the framework's."""

    def order(x):
        return (x.transpose(2, 0, 1) if channels_first else x)[None]

    image = image.astype(np.float32)  # the input for Ferry, in both runs
    taps, rough = {}, {}
    taps[output] = network(image.astype(np.float64), taps)
    rough[output] = network(image, rough)
    name = "input" if channels_first else "LR"
    stored = {}

    def make_entry(key, samples):
        entry_name = key if key == output else "tap/" + key
        return entry(entry_name, order(taps[key]), order(rough[key]), samples, stored)

    manifest = {
        "library": {"name": library, "reference": os.path.basename(__file__), "numpy": np.__version__},
        "arch": arch,
        "seed": seed,
        "inputs": [input_entry(name, order(image), stored)],
        "taps": [make_entry(key, SAMPLES) for key in taps if key != output],
        "outputs": [make_entry(output, 8 * SAMPLES)],
    }
    if tensors is not None:
        manifest["tensors"] = tensors
    write_fixture(folder, manifest, stored)


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
    """Like PyTorch's default initialisation in magnitude, so that activations keep theirs."""
    rules = []
    for i in range(0, 35):
        if i % 2 == 1:
            rules.append(rule(f"body.{i}.weight", [64], offset=0.25, scale=0.25))
            continue
        inputs, outputs = (3 if i == 0 else 64), (3 * upscale**2 if i == 34 else 64)
        rules.append(rule(f"body.{i}.weight", [outputs, inputs, 3, 3], scale=(3 / (9 * inputs)) ** 0.5))
        rules.append(rule(f"body.{i}.bias", [outputs], scale=0.125))
    return rules


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--esrgan-slim", required=True)
    parser.add_argument("--realesr", required=True)
    args = parser.parse_args()

    # Not square, so that exchanged sides show. Blocks of four pixels with noise give the networks edges.
    shape = (20, 14, 3)
    blocks = nearest(unit("blocks", 0, (5, 4, 3)), 4)[:20, :14]
    image = np.clip(np.rint(127.5 + 100 * blocks + 40 * unit("noise", 0, shape)), 0, 255)

    for scale in (2, 3, 4, 8):
        weights = read_layers_model(os.path.join(args.esrgan_slim, "models", f"x{scale}"))
        if scale != 8:  # the package has no sample of x8
            check_against_package(args.esrgan_slim, scale, weights)
        make_fixture(os.path.join(args.out, f"esrgan_slim_x{scale}"), f"esrgan_slim_x{scale}", "keras",
                     lambda x, taps: residual_dense(x, weights, scale, taps), image, "SR", False)

    weights = read_safetensors(args.realesr)
    make_fixture(os.path.join(args.out, "realesr_animevideov3"), "realesr_animevideov3", "basicsr",
                 lambda x, taps: compact(x, weights, 4, taps), image / 255, "output", True)

    rules = synthetic_rules(3)
    made = {r["name"]: tensor_of(r, 0) for r in rules}
    make_fixture(os.path.join(args.out, "realesr_animevideov3_x3"), "realesr_animevideov3_x3", "basicsr",
                 lambda x, taps: compact(x, made, 3, taps), image / 255, "output", True, rules)


main()
