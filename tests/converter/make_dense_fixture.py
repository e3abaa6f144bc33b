"""Writes dense_fixture.inc: what networks that tell something of every place of an image compute, with sizes that
nobody published, for tests/converter/transformers_sizes_test.cc.

    python3 tests/converter/make_dense_fixture.py      (any Python 3: no package is needed)

As make_transformers_fixture.py, whose formulas of inputs and parameters it shares, but in plain Python: maps are
[channel][row][column], tokens [token][channel], everything in double. That the arithmetic is transformers', the parity
fixtures show; here it is that a network follows its config.json.
"""
import json
import math
import pathlib

EPS = 2.0 ** -10
ACT = {"gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2, "relu": lambda x: max(x, 0.0),
       "silu": lambda x: x / (1 + math.exp(-x)), "sigmoid": lambda x: 1 / (1 + math.exp(-x))}


def values(key, *shape):
    """Flat: multiples of 1/64 by the key's letters."""
    seed = sum(map(ord, key)) * 11
    return [((i * 37 + seed) % 61 - 30) / 64 + key.endswith("running_var") for i in range(math.prod(shape))]


def each(f, *trees):
    return [each(f, *parts) for parts in zip(*trees)] if isinstance(trees[0], list) else f(*trees)


def add(a, b):
    return each(lambda x, y: x + y, a, b)


def to_tokens(x):
    return [[channel[i][k] for channel in x] for i in range(len(x[0])) for k in range(len(x[0][0]))]


def to_map(tokens, size):
    return [[[tokens[i * size[1] + k][c] for k in range(size[1])] for i in range(size[0])] for c in range(len(tokens[0]))]


def size_of(x):
    return len(x[0]), len(x[0][0])


def keys_cubic(t, a=-0.75):
    t = abs(t)
    if t <= 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a if t < 2 else 0.0


def axis(old, new, kind, align_corners):
    """For each new cell: {old cell: weight}."""
    cells = []
    for i in range(new):
        at = i * (old - 1) / max(new - 1, 1) if align_corners else (i + 0.5) * old / new - 0.5
        if kind == "bilinear":
            at = max(at, 0.0)
        first, weights = math.floor(at), {}
        for cell in range(first - 1, first + 3):
            weight = keys_cubic(at - cell) if kind == "bicubic" else max(0.0, 1 - abs(at - cell))
            place = min(max(cell, 0), old - 1)
            weights[place] = weights.get(place, 0.0) + weight
        cells.append(weights)
    return cells


def resize(x, size, kind="bilinear", align_corners=False):
    rows, columns = (axis(old, new, kind, align_corners) for old, new in zip(size_of(x), size))
    return [[[sum(u * v * channel[i][k] for i, u in row.items() for k, v in column.items()) for column in columns]
             for row in rows] for channel in x]


class Network:
    def __init__(self, config, size):
        self.c, self.size = config, size
        self.parameters = {}

    def get(self, key, *shape):
        self.parameters[key] = list(shape)
        return values(key, *shape)

    def rows(self, key, count, width):
        flat = self.get(key, 1, count, width)
        return [flat[i * width:(i + 1) * width] for i in range(count)]

    def image(self):
        height, width = self.size
        flat = iter(values("input", 1, 3, height, width))
        return [[[next(flat) for _ in range(width)] for _ in range(height)] for _ in range(3)]

    def linear(self, tokens, name, out, bias=True):
        wide = len(tokens[0])
        weight, shift = self.get(name + ".weight", out, wide), self.get(name + ".bias", out) if bias else [0.0] * out
        return [[shift[o] + sum(weight[o * wide + i] * t[i] for i in range(wide)) for o in range(out)] for t in tokens]

    def conv(self, x, name, out, kernel, bias=True, stride=1, padding=0, groups=1):
        inner, (height, width) = len(x) // groups, size_of(x)
        weight = self.get(name + ".weight", out, inner, kernel, kernel)
        shift = self.get(name + ".bias", out) if bias else [0.0] * out

        def at(o, y, z):
            total, first = shift[o], o // (out // groups) * inner
            for i in range(inner):
                for u in range(kernel):
                    for v in range(kernel):
                        row, column = y * stride + u - padding, z * stride + v - padding
                        if 0 <= row < height and 0 <= column < width:
                            total += weight[((o * inner + i) * kernel + u) * kernel + v] * x[first + i][row][column]
            return total

        rows, columns = ((n + 2 * padding - kernel) // stride + 1 for n in (height, width))
        return [[[at(o, y, z) for z in range(columns)] for y in range(rows)] for o in range(out)]

    def upscale(self, x, name, out, by):
        """A transposed convolution whose cells do not overlap."""
        weight, shift, (height, width) = self.get(name + ".weight", len(x), out, by, by), self.get(name + ".bias", out), size_of(x)
        return [[[shift[o] + sum(weight[((i * out + o) * by + y % by) * by + z % by] * x[i][y // by][z // by] for i in range(len(x)))
                  for z in range(width * by)] for y in range(height * by)] for o in range(out)]

    def norm(self, tokens, name, eps):
        return self.normed(tokens, *(self.get(name + leaf, len(tokens[0])) for leaf in (".weight", ".bias")), eps)

    def normed(self, tokens, weight, bias, eps):
        out = []
        for t in tokens:
            mean = sum(t) / len(t)
            scale = 1 / math.sqrt(sum((x - mean) ** 2 for x in t) / len(t) + eps)
            out.append([(x - mean) * scale * w + b for x, w, b in zip(t, weight, bias)])
        return out

    def attend(self, q, k, v, heads):
        width = len(q[0]) // heads
        out = [[0.0] * len(q[0]) for _ in q]
        for head in range(heads):
            part = range(head * width, (head + 1) * width)
            for i, query in enumerate(q):
                scores = [math.exp(sum(query[c] * key[c] for c in part) / math.sqrt(width)) for key in k]
                for c in part:
                    out[i][c] = sum(s * value[c] for s, value in zip(scores, v)) / sum(scores)
        return out


class DepthAnything(Network):
    """DepthAnythingForDepthEstimation."""

    def scaled(self, tokens, name):
        factors = self.get(name, len(tokens[0]))
        return [[x * f for x, f in zip(t, factors)] for t in tokens]

    def block(self, x, name):
        c = self.c["backbone_config"]
        width, eps = c["hidden_size"], c["layer_norm_eps"]
        y = self.norm(x, name + "norm1", eps)
        q, k, v = (self.linear(y, name + "attention.attention." + n, width, c["qkv_bias"]) for n in ("query", "key", "value"))
        y = self.linear(self.attend(q, k, v, c["num_attention_heads"]), name + "attention.output.dense", width)
        x = add(x, self.scaled(y, name + "layer_scale1.lambda1"))
        y, hidden = self.norm(x, name + "norm2", eps), int(width * c["mlp_ratio"])
        if c["use_swiglu_ffn"]:
            hidden = (int(hidden * 2 / 3) + 7) // 8 * 8
            both = self.linear(y, name + "mlp.weights_in", 2 * hidden)
            y = [[ACT["silu"](a) * b for a, b in zip(t[:hidden], t[hidden:])] for t in both]
            y = self.linear(y, name + "mlp.weights_out", width)
        else:
            y = self.linear(each(ACT[c["hidden_act"]], self.linear(y, name + "mlp.fc1", hidden)), name + "mlp.fc2", width)
        return add(x, self.scaled(y, name + "layer_scale2.lambda1"))

    def backbone(self):
        c = self.c["backbone_config"]
        width, patch, root = c["hidden_size"], c["patch_size"], "backbone.embeddings."
        x = self.conv(self.image(), root + "patch_embeddings.projection", width, patch, stride=patch)
        grid, side = size_of(x), c["image_size"] // patch
        table = self.rows(root + "position_embeddings", 1 + side * side, width)
        places = to_tokens(resize(to_map(table[1:], (side, side)), grid, "bicubic"))
        first = add(self.get(root + "cls_token", 1, 1, width), table[0])
        self.get(root + "mask_token", 1, width)
        states = [[first] + add(to_tokens(x), places)]
        for i in range(c["num_hidden_layers"]):
            states.append(self.block(states[-1], "backbone.encoder.layer.%d." % i))
        weight, bias = (self.get("backbone.layernorm." + leaf, width) for leaf in ("weight", "bias"))
        if c["apply_layernorm"]:
            states = [self.normed(x, weight, bias, c["layer_norm_eps"]) for x in states]
        return [to_map(states[i][1:], grid) for i in c["out_indices"]]

    def residual(self, x, name):
        y = self.conv(each(ACT["relu"], x), name + "convolution1", len(x), 3, padding=1)
        return add(x, self.conv(each(ACT["relu"], y), name + "convolution2", len(x), 3, padding=1))

    def run(self):
        c, maps, fused = self.c, [], []
        for i, (x, out, factor) in enumerate(zip(self.backbone(), c["neck_hidden_sizes"], c["reassemble_factors"])):
            layer = "neck.reassemble_stage.layers.%d." % i
            x = self.conv(x, layer + "projection", out, 1)
            if factor > 1:
                x = self.upscale(x, layer + "resize", out, factor)
            elif factor < 1:
                x = self.conv(x, layer + "resize", out, 3, stride=int(1 / factor), padding=1)
            maps.append(self.conv(x, "neck.convs.%d" % i, c["fusion_hidden_size"], 3, False, padding=1))
        maps.reverse()
        for i, x in enumerate(maps):
            layer = "neck.fusion_stage.layers.%d." % i
            first = self.residual(x, layer + "residual_layer1.")  # the deepest level's is in checkpoints and not used
            y = self.residual(add(fused[-1], first) if i > 0 else x, layer + "residual_layer2.")
            size = size_of(maps[i + 1]) if i + 1 < len(maps) else [2 * n for n in size_of(y)]
            fused.append(self.conv(resize(y, size, align_corners=True), layer + "projection", len(y), 1))
        y = self.conv(fused[c["head_in_index"]], "head.conv1", c["fusion_hidden_size"] // 2, 3, padding=1)
        y = self.conv(resize(y, self.size, align_corners=True), "head.conv2", c["head_hidden_size"], 3, padding=1)
        y = self.conv(each(ACT["relu"], y), "head.conv3", 1, 1)
        last = ACT["sigmoid" if c["depth_estimation_type"] == "metric" else "relu"]
        return to_tokens(each(lambda x: last(x) * (c["max_depth"] or 1), y))


class Segformer(Network):
    """SegformerForSemanticSegmentation, SegformerForImageClassification."""

    def block(self, x, name, stage, size):
        c, width = self.c, len(x[0])
        ratio, hidden = c["sr_ratios"][stage], int(width * c["mlp_ratios"][stage])
        y = self.norm(x, name + "layer_norm_1", 1e-5)
        q, source = self.linear(y, name + "attention.self.query", width), y
        if ratio > 1:
            source = to_tokens(self.conv(to_map(y, size), name + "attention.self.sr", width, ratio, stride=ratio))
            source = self.norm(source, name + "attention.self.layer_norm", 1e-5)
        k, v = (self.linear(source, name + "attention.self." + n, width) for n in ("key", "value"))
        y = self.attend(q, k, v, c["num_attention_heads"][stage])
        x = add(x, self.linear(y, name + "attention.output.dense", width))
        y = self.linear(self.norm(x, name + "layer_norm_2", 1e-5), name + "mlp.dense1", hidden)
        y = to_tokens(self.conv(to_map(y, size), name + "mlp.dwconv.dwconv", hidden, 3, padding=1, groups=hidden))
        return add(x, self.linear(each(ACT[c["hidden_act"]], y), name + "mlp.dense2", width))

    def run(self):
        c, x, maps, encoder = self.c, self.image(), [], "segformer.encoder."
        for s, (width, depth) in enumerate(zip(c["hidden_sizes"], c["depths"])):
            patch, embedding = c["patch_sizes"][s], encoder + "patch_embeddings.%d." % s
            x = self.conv(x, embedding + "proj", width, patch, stride=c["strides"][s], padding=patch // 2)
            size, x = size_of(x), self.norm(to_tokens(x), embedding + "layer_norm", 1e-5)
            for b in range(depth):
                x = self.block(x, encoder + "block.%d.%d." % (s, b), s, size)
            x = to_map(self.norm(x, encoder + "layer_norm.%d" % s, 1e-5), size)
            maps.append(x)
        classes, width = len(c["id2label"]), c["decoder_hidden_size"]
        if c["architectures"][0].endswith("ForImageClassification"):
            tokens = to_tokens(x)
            return self.linear([[sum(column) / len(tokens) for column in zip(*tokens)]], "classifier", classes)
        x = []
        for s, one in reversed(list(enumerate(maps))):
            one = to_map(self.linear(to_tokens(one), "decode_head.linear_c.%d.proj" % s, width), size_of(one))
            x += resize(one, size_of(maps[0]))
        x = self.conv(x, "decode_head.linear_fuse", width, 1, False)
        scale, shift, mean, var = (self.get("decode_head.batch_norm." + leaf, width) for leaf in ("weight", "bias", "running_mean", "running_var"))
        x = [each(lambda value: max((value - mean[o]) / math.sqrt(var[o] + 1e-5) * scale[o] + shift[o], 0.0), x[o]) for o in range(width)]
        return to_tokens(self.conv(x, "decode_head.classifier", classes, 1))


def config(model_type, architecture, **entries):
    classes = {} if architecture.endswith("ForDepthEstimation") else {"id2label": {"0": "cat", "1": "dog", "2": "bird"}}
    return dict(model_type=model_type, architectures=[architecture], **classes, **entries)


CASES = {
    "depth_anything": DepthAnything(config("depth_anything", "DepthAnythingForDepthEstimation", backbone_config=dict(
        model_type="dinov2", hidden_size=10, num_hidden_layers=3, num_attention_heads=2, mlp_ratio=3, hidden_act="relu", layer_norm_eps=EPS,
        image_size=12, patch_size=4, qkv_bias=True, use_swiglu_ffn=False, apply_layernorm=True, out_indices=[0, 1, 3],
        reshape_hidden_states=False), patch_size=4, reassemble_hidden_size=10, reassemble_factors=[3, 1, 0.5], neck_hidden_sizes=[4, 5, 6],
        fusion_hidden_size=6, head_hidden_size=3, head_in_index=-1, depth_estimation_type="metric", max_depth=2.5), (8, 16)),
    # A head that reads the middle level; a block that no level reads.
    "depth_anything_gated": DepthAnything(config("depth_anything", "DepthAnythingForDepthEstimation", backbone_config=dict(
        model_type="dinov2", hidden_size=12, num_hidden_layers=4, num_attention_heads=3, mlp_ratio=4, layer_norm_eps=EPS, image_size=9,
        patch_size=3, qkv_bias=False, use_swiglu_ffn=True, apply_layernorm=False, out_indices=[1, 2, 3], reshape_hidden_states=False),
        patch_size=3, reassemble_hidden_size=12, reassemble_factors=[2, 1, 0.4], neck_hidden_sizes=[5, 4, 7], fusion_hidden_size=10,
        head_hidden_size=5, head_in_index=1, depth_estimation_type="relative", max_depth=None), (9, 9)),
    "segformer": Segformer(config("segformer", "SegformerForSemanticSegmentation", num_encoder_blocks=3, hidden_sizes=[4, 6, 10], depths=[1, 2, 1],
                                  num_attention_heads=[2, 1, 5], sr_ratios=[4, 3, 1], patch_sizes=[5, 3, 2], strides=[2, 2, 3],
                                  mlp_ratios=[2, 1.5, 3], hidden_act="silu", decoder_hidden_size=7, reshape_last_stage=True), (23, 37)),
    "segformer_classifier": Segformer(config("segformer", "SegformerForImageClassification", num_encoder_blocks=2, hidden_sizes=[6, 4], depths=[1, 1],
                                             num_attention_heads=[3, 2], sr_ratios=[2, 1], patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[4, 4],
                                             hidden_act="gelu", decoder_hidden_size=7, reshape_last_stage=False), (16, 24)),
}

lines = ["// By make_dense_fixture.py: {{case, {key, shape}..., output}, config.json, height, width}."]
for name, network in CASES.items():
    output = [x for place in network.run() for x in place]
    parameters = ", ".join('{"%s", {%s}}' % (k, ", ".join(map(str, s))) for k, s in network.parameters.items())
    lines.append('{{"%s", {%s}, {%s}}, R"(%s)", %d, %d},' % (
        name, parameters, ", ".join("%.15g" % v for v in output), json.dumps(network.c), *network.size))
pathlib.Path(__file__).with_name("dense_fixture.inc").write_text("\n".join(lines) + "\n")
