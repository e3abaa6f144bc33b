#!/usr/bin/env python3
"""Make the parity fixtures of RRDBNet (on cells of 2 x 2 pixels) and MI-GAN: our own reference, independent of Ferry.

    make_restoration_fixtures.py OUT

Plain Python, one number after the other; nothing needs to be installed. Writes folders in the format parity-fixture/1:

    rrdbnet_x2_small    Real-ESRGAN's x2 network, narrow: pixel_unshuffle, residual dense blocks, two doublings
    migan_16            MI-GAN for images of 16 x 16, narrow; one of its filters is not the authors'

Everything is computed twice, in float64 (stored, rounded to float32) and with every product and sum rounded to float32
(whose error is the floor). Maps are lists of channels, which are lists of rows.
"""
import argparse, ctypes, hashlib, json, math, os, struct

MASK = (1 << 64) - 1
SEED = 0


def exactly(x):
    return x


def to_float32(x):
    return ctypes.c_float(x).value


# ---- cbrng-1: numbers that are the same everywhere (sdk/model/seeded.h) ---------------------------------------------


def mix64(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def bits(name, seed, count):
    base = 0xCBF29CE484222325
    for b in name.encode():
        base = ((base ^ b) * 0x100000001B3) & MASK
    base ^= mix64(seed)
    return [mix64((base + i * 0x9E3779B97F4A7C15) & MASK) for i in range(1, count + 1)]


def steps(name, count):
    """Integers on [-2^23, 2^23)."""
    return [(word >> 40) - (1 << 23) for word in bits(name, SEED, count)]


def image(channels, height, width):
    """N,C,H,W as a flat list: tiles of 32 x 32 with noise."""
    across, down = -(-width // 32), -(-height // 32)
    tiles = steps("input.tile", channels * down * across)
    noise = steps("input.noise", channels * height * width)
    out = []
    for i, k in enumerate(noise):
        c, y, x = i // (height * width), i // width % height, i % width
        tile = tiles[(c * down + y // 32) * across + x // 32]
        out.append(to_float32((1.5 * tile + 0.5 * k) / (1 << 23)))
    return out


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def product(shape):
    return math.prod(shape)


class Checkpoint:
    """Rules for a manifest, and the values that they generate."""

    def __init__(self):
        self.rules, self.values, self.constants = [], {}, {}

    def add(self, name, shape, kind="uniform", offset=0.0, scale=1.0):
        offset, scale = to_float32(offset), to_float32(scale)
        self.rules.append({"name": name, "dtype": "F32", "shape": list(shape), "kind": kind, "offset": offset,
                           "scale": scale})
        k = steps(name, product(shape))
        if kind == "centered":  # over all but the first dimension
            row = len(k) // shape[0]
            sums = [sum(k[i : i + row]) for i in range(0, len(k), row)]
            values = [(v * row - sums[i // row]) / float(row << 23) * scale for i, v in enumerate(k)]
        else:
            values = [offset + scale * (v / (1 << 23)) for v in k]
        self.values[name] = [to_float32(v) for v in values]

    def add_constant(self, name, shape, values):
        self.rules.append({"name": name, "dtype": "F32", "shape": list(shape), "kind": "data"})
        self.values[name] = [to_float32(v) for v in values]
        self.constants[name] = (list(shape), self.values[name])

    def convolution(self, name, out, fan_in, kernel, bias=True):
        rows = fan_in * kernel * kernel
        self.add(name + ".weight", (out, fan_in, kernel, kernel), "centered" if rows > 9 else "uniform",
                 scale=math.sqrt(3.0 / rows))
        if bias:
            self.add(name + ".bias", (out,), scale=0.1)


# ---- operators ------------------------------------------------------------------------------------------------------


class Network:
    """Computes with one precision and keeps the modules' outputs."""

    def __init__(self, checkpoint, rounded):
        self.values, self.rounded, self.taps = checkpoint.values, rounded, {}

    def tap(self, name, x):
        self.taps["tap/" + name] = x
        return x

    def each(self, function, *maps):
        r = self.rounded
        return [[[r(function(*cell)) for cell in zip(*rows)] for rows in zip(*channels)] for channels in zip(*maps)]

    def add(self, a, b):
        return self.each(lambda p, q: p + q, a, b)

    def leaky(self, x):
        return self.each(lambda v: v if v > 0 else v * 0.2, x)

    def convolve(self, name, x, out, kernel, stride=1, padding=(0, 0), groups=1, weight=None):
        """padding: zeros before and after. The bias is optional."""
        r, weight = self.rounded, weight or self.values[name + ".weight"]
        bias = self.values.get(name + ".bias")
        before, behind = padding
        height, width, fan_in = len(x[0]), len(x[0][0]), len(x) // groups
        high = (height + before + behind - kernel) // stride + 1
        wide = (width + before + behind - kernel) // stride + 1
        padded = []
        for channel in x:
            empty = [0.0] * (width + before + behind)
            rows = [[0.0] * before + row + [0.0] * behind for row in channel]
            padded.append([empty] * before + rows + [empty] * behind)
        result = []
        for o in range(out):
            group = o // (out // groups)
            sums = [[bias[o] if bias else 0.0] * wide for _ in range(high)]
            for i in range(fan_in):
                channel = padded[group * fan_in + i]
                for ky in range(kernel):
                    for kx in range(kernel):
                        w = weight[((o * fan_in + i) * kernel + ky) * kernel + kx]
                        for y in range(high):
                            row = channel[y * stride + ky][kx : kx + (wide - 1) * stride + 1 : stride]
                            sums[y] = [r(s + r(w * v)) for s, v in zip(sums[y], row)]
            result.append(sums)
        return result


def repeated(x):
    """Every pixel four times."""
    return [[[v for v in row for _ in range(2)] for row in channel for _ in range(2)] for channel in x]


# ---- RRDBNet --------------------------------------------------------------------------------------------------------

FEATURES, GROWTH, BLOCKS, CELL = 12, 6, 2, 2


def rrdbnet_checkpoint():
    c = Checkpoint()
    c.convolution("conv_first", FEATURES, 3 * CELL * CELL, 3)
    for n in range(BLOCKS):
        for k in (1, 2, 3):
            for i in range(1, 6):
                c.convolution(f"body.{n}.rdb{k}.conv{i}", GROWTH if i < 5 else FEATURES, FEATURES + (i - 1) * GROWTH, 3)
    for name in ("conv_body", "conv_up1", "conv_up2", "conv_hr"):
        c.convolution(name, FEATURES, FEATURES, 3)
    c.convolution("conv_last", 3, FEATURES, 3)
    return c


def rrdbnet(net, x):
    def conv(name, x, out=FEATURES):
        return net.tap(name, net.convolve(name, x, out, 3, padding=(1, 1)))

    def damped(y, x):
        return net.each(lambda p, q: net.rounded(p * 0.2) + q, y, x)

    cells = []  # pixel_unshuffle: channel c, row i and column j of a cell become channel (c * 2 + i) * 2 + j
    for channel in x:
        for i in range(CELL):
            for j in range(CELL):
                cells.append([row[j::CELL] for row in channel[i::CELL]])
    shallow = x = conv("conv_first", cells)
    for n in range(BLOCKS):
        outer = x
        for k in (1, 2, 3):
            name, maps = f"body.{n}.rdb{k}", x
            for i in range(1, 5):
                maps = maps + net.leaky(conv(f"{name}.conv{i}", maps, GROWTH))
            x = net.tap(name, damped(conv(f"{name}.conv5", maps), x))
        x = net.tap(f"body.{n}", damped(x, outer))
    x = net.add(shallow, conv("conv_body", net.tap("body", x)))
    for name in ("conv_up1", "conv_up2"):
        x = net.leaky(conv(name, repeated(x)))
    return conv("conv_last", net.leaky(conv("conv_hr", x)), 3)


# ---- MI-GAN ---------------------------------------------------------------------------------------------------------

SIDE = 16
WIDTHS = {16: 8, 8: 12, 4: 16}  # channels of a block's maps, by their side
FILTER = [a * b for a in (1, 3, 3, 1) for b in (1, 3, 3, 1)]


def migan_checkpoint():
    c = Checkpoint()

    def separable(name, fan_in, out, noise=0, down=False):
        c.convolution(name + ".conv1", fan_in, 1, 3)
        c.convolution(name + ".conv2", out, fan_in, 1, bias=False)
        if noise:
            c.add(name + ".noise_strength", (), offset=0.1, scale=0.05)
            c.add(name + ".noise_const", (noise, noise))
        if down:
            c.add_constant(name + ".downsample.filter.weight", (fan_in, 1, 4, 4), [f / 64 for f in FILTER] * fan_in)

    def upscaling(name, channels, side, own=False):
        grid = [1.0 if y % 2 == 0 and x % 2 == 0 else 0.0 for y in range(side) for x in range(side)]
        c.add_constant(name + ".filter_const", (1, 1, side, side), grid)
        if own:
            c.add(name + ".filter.weight", (channels, 1, 4, 4), scale=0.5)
        else:
            c.add_constant(name + ".filter.weight", (channels, 1, 4, 4), [f / 16 for f in FILTER] * channels)

    c.convolution(f"encoder.b{SIDE}.fromrgb", WIDTHS[SIDE], 4, 1)
    for side, width in WIDTHS.items():
        separable(f"encoder.b{side}.conv1", width, width)
        separable(f"encoder.b{side}.conv2", width, WIDTHS.get(side // 2, width), down=side > 4)
    for side in reversed(WIDTHS):
        name, width, noise = f"synthesis.b{side}", WIDTHS[side], side if side > 4 else 0
        separable(name + ".conv1", WIDTHS.get(side // 2, width), width, noise)
        separable(name + ".conv2", width, width, noise)
        c.convolution(name + ".torgb", 3, width, 1)
        if noise:
            upscaling(name + ".conv1.upsample", width, side)
            upscaling(name + ".upsample", 3, side, own=side == 8)
    return c


def migan(net, x):
    def activate(x):
        def function(v):
            return max(-256.0, min(256.0, net.rounded((v if v > 0 else v * 0.2) * math.sqrt(2))))

        return net.each(function, x)

    def upscale(name, x):
        """Zeros between the pixels, then the filter; padding: 2 before, 1 after."""
        side = 2 * len(x[0])
        grid = net.values[name + ".filter_const"]
        rows = [grid[y * side : (y + 1) * side] for y in range(side)]
        spread = net.each(lambda v, g: v * g, repeated(x), [rows] * len(x))
        return net.convolve(name + ".filter", spread, len(x), 4, padding=(2, 1), groups=len(x))

    def separable(name, x):
        out = len(net.values[name + ".conv2.weight"]) // len(x)
        x = activate(net.convolve(name + ".conv1", x, len(x), 3, padding=(1, 1), groups=len(x)))
        if name + ".downsample.filter.weight" in net.values:
            x = net.convolve(name + ".downsample.filter", x, len(x), 4, stride=2, padding=(1, 1), groups=len(x))
        x = net.convolve(name + ".conv2", x, out, 1)
        if name + ".upsample.filter.weight" in net.values:
            x = upscale(name + ".upsample", x)
        if name + ".noise_const" in net.values:
            side, strength = len(x[0]), net.values[name + ".noise_strength"][0]
            noise = net.values[name + ".noise_const"]
            rows = [[net.rounded(v * strength) for v in noise[y * side : (y + 1) * side]] for y in range(side)]
            x = net.add(x, [rows] * len(x))
        return net.tap(name, activate(x))

    seen = {}
    name = f"encoder.b{SIDE}.fromrgb"
    x = activate(net.tap(name, net.convolve(name, x, WIDTHS[SIDE], 1)))
    for side in WIDTHS:
        seen[side] = separable(f"encoder.b{side}.conv1", x)
        x = net.tap(f"encoder.b{side}", separable(f"encoder.b{side}.conv2", seen[side]))
    result = None
    for side in reversed(WIDTHS):
        name = f"synthesis.b{side}"
        x = net.add(separable(name + ".conv1", x), seen[side])
        x = net.tap(name, separable(name + ".conv2", x))
        if result:
            result = net.tap(name + ".upsample", upscale(name + ".upsample", result))
        colours = net.tap(name + ".torgb", net.convolve(name + ".torgb", x, 3, 1))
        result = net.add(result, colours) if result else colours
    return result


# ---- files ----------------------------------------------------------------------------------------------------------


def flat(x):
    return [v for channel in x for row in channel for v in row]


def packed(values):
    return struct.pack(f"<{len(values)}f", *values)


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name in sorted(tensors):
        shape, values = tensors[name]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += packed(values)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


SAMPLES = 256


def entry(name, exact, rough, stored):
    shape = [1, len(exact), len(exact[0]), len(exact[0][0])]
    exact, rough = flat(exact), flat(rough)
    absmax = max(map(abs, exact))
    floor = max(abs(a - b) for a, b in zip(exact, rough)) / absmax
    item = {"name": name, "shape": shape, "stored": "full", "float32_vs_float64": float("%.3g" % floor),
            "absmax": float("%.9g" % absmax)}
    if len(exact) > 2 * SAMPLES:
        item.update(stored="sample", samples=SAMPLES)
        exact = [exact[at % len(exact)] for at in bits("sample:" + name, 0, SAMPLES)]
        shape = [SAMPLES]
    stored[name] = (shape, exact)
    return item


def make_fixture(folder, arch, library, checkpoint, network, shape):
    channels, height, width = shape
    values = image(channels, height, width)
    x = [[values[(c * height + y) * width :][:width] for y in range(height)] for c in range(channels)]
    runs = []
    for rounded in (exactly, to_float32):
        net = Network(checkpoint, rounded)
        result = network(net, x)
        runs.append((net.taps, result))
    (exact, output), (rough, rough_output) = runs
    stored = {"input": ([1, *shape], values)}
    inputs = [{"name": "input", "shape": [1, *shape], "dtype": "F32", "stored": "full",
               "sha256": hashlib.sha256(packed(values)).hexdigest()}]
    taps = [entry(name, exact[name], rough[name], stored) for name in exact]
    outputs = [entry("output", output, rough_output, stored)]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "manifest.json"), "w") as f:
        json.dump({"format": "parity-fixture/1", "name": os.path.basename(os.path.normpath(folder)),
                   "library": {"name": library, "reference": os.path.basename(__file__)}, "arch": arch, "seed": SEED,
                   "inputs": inputs, "taps": taps, "outputs": outputs, "tensors": checkpoint.rules}, f, indent=1)
        f.write("\n")
    write_safetensors(os.path.join(folder, "fixture.safetensors"), stored)
    if checkpoint.constants:
        write_safetensors(os.path.join(folder, "consts.safetensors"), checkpoint.constants)
    floor = max(item["float32_vs_float64"] for item in taps + outputs)
    print(f"{folder}: {len(taps)} taps, float32 floor at most {floor:.2g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    args = parser.parse_args()
    make_fixture(os.path.join(args.out, "rrdbnet_x2_small"), "rrdbnet", "basicsr", rrdbnet_checkpoint(), rrdbnet,
                 (3, 20, 28))
    make_fixture(os.path.join(args.out, "migan_16"), "migan", "MI-GAN", migan_checkpoint(), migan, (4, SIDE, SIDE))
