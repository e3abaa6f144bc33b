"""Writes transformers_fixture.inc: what networks of transformers with sizes that nobody published compute, for
tests/converter/transformers_sizes_test.cc.

    python3 tests/converter/make_transformers_fixture.py      (torch 1.13; any version will do)

The networks are tiny and written out below, after the definitions of transformers' modeling files; each reads its sizes from
the very config.json that the test puts beside the checkpoint. Inputs and parameters are multiples of 1/64 that the test
computes by the same formula. All in double. Epsilons are powers of two, which float32 holds.
"""
import json
import math
import pathlib

import torch
from torch.nn import functional as F

EPS = 2.0 ** -10
ACT = {"gelu": F.gelu, "relu": F.relu, "silu": F.silu, "gelu_new": lambda x: 0.5 * x * (1 + torch.tanh(
    math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))), "relu6": F.relu6, "tanh": torch.tanh, "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x)}


def values(key, *shape):
    seed = sum(map(ord, key)) * 11
    count = math.prod(shape)
    numbers = torch.tensor([((i * 37 + seed) % 61 - 30) / 64 for i in range(count)], dtype=torch.float64).reshape(shape)
    return numbers + (1 if key.endswith("running_var") else 0)


class Network:
    def __init__(self, config, size):
        self.c, self.size = config, size
        self.parameters = {}

    def get(self, key, *shape):
        self.parameters[key] = list(shape)
        return values(key, *shape)

    def image(self):
        return values("input", 1, 3, *self.size)

    def linear(self, x, name, out, bias=True):
        return F.linear(x, self.get(name + ".weight", out, x.shape[-1]), self.get(name + ".bias", out) if bias else None)

    def conv(self, x, name, out, kernel, bias=True, **options):
        inner = x.shape[1] // options.get("groups", 1)
        return F.conv2d(x, self.get(name + ".weight", out, inner, kernel, kernel),
                        self.get(name + ".bias", out) if bias else None, **options)

    def norm(self, x, name, eps):
        width = x.shape[-1]
        return F.layer_norm(x, [width], self.get(name + ".weight", width), self.get(name + ".bias", width), eps)

    def norm2d(self, x, name, eps):
        return self.norm(x.permute(0, 2, 3, 1), name, eps).permute(0, 3, 1, 2)

    def batch_norm(self, x, name, eps):
        width = x.shape[1]
        get = lambda leaf: self.get(name + "." + leaf, width)
        return F.batch_norm(x, get("running_mean"), get("running_var"), get("weight"), get("bias"), False, 0, eps)

    def attend(self, q, k, v, heads, bias=0):
        split = lambda t: t.unflatten(-1, (heads, -1)).transpose(-2, -3)
        q, k, v = split(q), split(k), split(v)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias
        return (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2)


class ViT(Network):
    """ViTForImageClassification, ViTModel, Dinov2ForImageClassification, Dinov2WithRegistersModel."""

    def run(self):
        c = self.c
        dino = c["model_type"] != "vit"
        classifier = c["architectures"][0].endswith("ForImageClassification")
        root = {"vit": "vit.", "dinov2": "dinov2.", "dinov2_with_registers": "dinov2_with_registers."}[c["model_type"]] if classifier else ""
        patch, width, eps = c["patch_size"], c["hidden_size"], c["layer_norm_eps"]
        x = self.conv(self.image(), root + "embeddings.patch_embeddings.projection", width, patch, stride=patch)
        x = x.flatten(2).transpose(1, 2)
        x = torch.cat([self.get(root + "embeddings.cls_token", 1, 1, width), x], 1)
        x = x + self.get(root + "embeddings.position_embeddings", 1, x.shape[1], width)
        if dino:
            self.get(root + "embeddings.mask_token", 1, width)
        if c.get("num_register_tokens"):
            registers = self.get(root + "embeddings.register_tokens", 1, c["num_register_tokens"], width)
            x = torch.cat([x[:, :1], registers, x[:, 1:]], 1)
        for i in range(c["num_hidden_layers"]):
            block = root + "encoder.layer.%d." % i
            y = self.norm(x, block + ("norm1" if dino else "layernorm_before"), eps)
            q, k, v = (self.linear(y, block + "attention.attention." + n, width, c["qkv_bias"]) for n in ("query", "key", "value"))
            y = self.linear(self.attend(q, k, v, c["num_attention_heads"]), block + "attention.output.dense", width)
            x = x + (y * self.get(block + "layer_scale1.lambda1", width) if dino else y)
            y = self.norm(x, block + ("norm2" if dino else "layernorm_after"), eps)
            if c.get("use_swiglu_ffn"):
                hidden = (int(int(width * c["mlp_ratio"]) * 2 / 3) + 7) // 8 * 8
                a, b = self.linear(y, block + "mlp.weights_in", 2 * hidden).chunk(2, -1)
                y = self.linear(F.silu(a) * b, block + "mlp.weights_out", width)
            elif dino:
                y = self.linear(ACT[c["hidden_act"]](self.linear(y, block + "mlp.fc1", int(width * c["mlp_ratio"]))), block + "mlp.fc2", width)
            else:
                y = self.linear(ACT[c["hidden_act"]](self.linear(y, block + "intermediate.dense", c["intermediate_size"])), block + "output.dense", width)
            x = x + (y * self.get(block + "layer_scale2.lambda1", width) if dino else y)
        x = self.norm(x, root + "layernorm", eps)
        pooled = x[:, 0]
        if classifier:
            if dino:
                pooled = torch.cat([pooled, x[:, 1 + c.get("num_register_tokens", 0):].mean(1)], 1)
            return self.linear(pooled, "classifier", len(c["id2label"]))
        return pooled if dino else ACT[c["pooler_act"]](self.linear(pooled, "pooler.dense", c["pooler_output_size"]))


class DINOv3(Network):
    """DINOv3ViTModel."""

    def run(self):
        c = self.c
        patch, width, heads, eps = c["patch_size"], c["hidden_size"], c["num_attention_heads"], c["layer_norm_eps"]
        x = self.conv(self.image(), "embeddings.patch_embeddings", width, patch, stride=patch)
        height, columns = x.shape[2:]
        x = x.flatten(2).transpose(1, 2)
        prefix = 1 + c["num_register_tokens"]
        self.get("embeddings.mask_token", 1, 1, width)
        x = torch.cat([self.get("embeddings.cls_token", 1, 1, width),
                       self.get("embeddings.register_tokens", 1, prefix - 1, width), x], 1)
        head = width // heads
        inverse = 1 / c["rope_theta"] ** torch.arange(0, 1, 4 / head, dtype=torch.float64)
        place = lambda n: 2 * (torch.arange(n, dtype=torch.float64) + 0.5) / n - 1
        places = torch.stack(torch.meshgrid(place(height), place(columns), indexing="ij"), -1).flatten(0, 1)
        angles = (2 * math.pi * places[:, :, None] * inverse).flatten(1, 2).tile(2)

        def turn(t):
            t = t.unflatten(-1, (heads, head)).transpose(1, 2)
            one, two = t[:, :, prefix:].chunk(2, -1)
            turned = t[:, :, prefix:] * angles.cos() + torch.cat([-two, one], -1) * angles.sin()
            return torch.cat([t[:, :, :prefix], turned], 2).transpose(1, 2).flatten(2)

        for i in range(c["num_hidden_layers"]):
            block = "layer.%d." % i
            y = self.norm(x, block + "norm1", eps)
            q, k, v = (self.linear(y, block + "attention.%s_proj" % n[0], width, c[n + "_bias"]) for n in ("query", "key", "value"))
            y = self.linear(self.attend(turn(q), turn(k), v, heads), block + "attention.o_proj", width, c["proj_bias"])
            x = x + y * self.get(block + "layer_scale1.lambda1", width)
            y = self.norm(x, block + "norm2", eps)
            hidden, act = c["intermediate_size"], ACT[c["hidden_act"]]
            up = self.linear(y, block + "mlp.up_proj", hidden, c["mlp_bias"])
            up = act(self.linear(y, block + "mlp.gate_proj", hidden, c["mlp_bias"])) * up if c["use_gated_mlp"] else act(up)
            x = x + self.linear(up, block + "mlp.down_proj", width, c["mlp_bias"]) * self.get(block + "layer_scale2.lambda1", width)
        return self.norm(x, "norm", eps)[:, 0]


class Swin(Network):
    """SwinForImageClassification."""

    def block(self, x, name, heads, window, shift):
        c = self.c
        _, height, columns, width = x.shape
        if min(height, columns) <= window:
            shift, window = 0, min(height, columns)
        y = self.norm(x, name + "layernorm_before", c["layer_norm_eps"])
        y = F.pad(y, (0, 0, 0, -columns % window, 0, -height % window))
        h, w = y.shape[1:3]
        cut = lambda t: t.unflatten(2, (-1, window)).unflatten(1, (-1, window)).transpose(2, 3).flatten(1, 2).flatten(0, 1).flatten(1, 2)
        mask = 0
        if shift:
            y = y.roll((-shift, -shift), (1, 2))
            regions = torch.zeros(1, h, w, 1, dtype=torch.float64)
            count = 0
            for rows in (slice(0, -window), slice(-window, -shift), slice(-shift, None)):
                for cols in (slice(0, -window), slice(-window, -shift), slice(-shift, None)):
                    regions[:, rows, cols] = count
                    count += 1
            regions = cut(regions)[..., 0]
            mask = torch.where(regions[:, None] == regions[:, :, None], 0.0, -100.0)[:, None].double()
        y = cut(y)
        q, k, v = (self.linear(y, name + "attention.self." + n, width, c["qkv_bias"]) for n in ("query", "key", "value"))
        table = self.get(name + "attention.self.relative_position_bias_table", (2 * c["window_size"] - 1) ** 2, heads)
        at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        apart = at[:, :, None] - at[:, None] + window - 1
        bias = table[apart[0] * (2 * window - 1) + apart[1]].permute(2, 0, 1)
        y = self.linear(self.attend(q, k, v, heads, bias + mask), name + "attention.output.dense", width)
        y = y.unflatten(1, (window, window)).unflatten(0, (h // window, w // window)).transpose(1, 2).flatten(0, 1).flatten(1, 2)[None]
        if shift:
            y = y.roll((shift, shift), (1, 2))
        x = x + y[:, :height, :columns]
        y = self.norm(x, name + "layernorm_after", c["layer_norm_eps"])
        y = ACT[c["hidden_act"]](self.linear(y, name + "intermediate.dense", int(c["mlp_ratio"] * width)))
        return x + self.linear(y, name + "output.dense", width)

    def run(self):
        c = self.c
        x = self.conv(self.image(), "swin.embeddings.patch_embeddings.projection", c["embed_dim"], c["patch_size"], stride=c["patch_size"])
        x = self.norm(x.permute(0, 2, 3, 1), "swin.embeddings.norm", 1e-5)
        for s, depth in enumerate(c["depths"]):
            layer = "swin.encoder.layers.%d." % s
            for b in range(depth):
                x = self.block(x, layer + "blocks.%d." % b, c["num_heads"][s], c["window_size"], 0 if b % 2 == 0 else c["window_size"] // 2)
            if s + 1 < len(c["depths"]):
                x = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
                x = torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)
                width = x.shape[-1] // 2
                x = self.linear(self.norm(x, layer + "downsample.norm", 1e-5), layer + "downsample.reduction", width, False)
        x = self.norm(x, "swin.layernorm", c["layer_norm_eps"])
        return self.linear(x.flatten(1, 2).mean(1), "classifier", len(c["id2label"]))


class ConvNeXt(Network):
    """ConvNextForImageClassification, ConvNextV2ForImageClassification."""

    def run(self):
        c = self.c
        root = c["model_type"] + "."
        v2 = c["model_type"] == "convnextv2"
        x = self.conv(self.image(), root + "embeddings.patch_embeddings", c["hidden_sizes"][0], c["patch_size"], stride=c["patch_size"])
        x = self.norm2d(x, root + "embeddings.layernorm", 1e-6)
        for s, (width, depth) in enumerate(zip(c["hidden_sizes"], c["depths"])):
            stage = root + "encoder.stages.%d." % s
            if s > 0:
                x = self.norm2d(x, stage + "downsampling_layer.0", 1e-6)
                x = self.conv(x, stage + "downsampling_layer.1", width, 2, stride=2)
            for b in range(depth):
                layer = stage + "layers.%d." % b
                y = self.conv(x, layer + "dwconv", width, 7, padding=3, groups=width).permute(0, 2, 3, 1)
                y = self.norm(y, layer + "layernorm", 1e-6)
                y = ACT[c["hidden_act"]](self.linear(y, layer + "pwconv1", 4 * width))
                if v2:
                    length = y.norm(p=2, dim=(1, 2), keepdim=True)
                    ratio = length / (length.mean(-1, keepdim=True) + 1e-6)
                    y = self.get(layer + "grn.weight", 1, 1, 1, 4 * width) * (y * ratio) + self.get(layer + "grn.bias", 1, 1, 1, 4 * width) + y
                y = self.linear(y, layer + "pwconv2", width)
                if not v2 and c["layer_scale_init_value"] > 0:
                    y = y * self.get(layer + "layer_scale_parameter", width)
                x = x + y.permute(0, 3, 1, 2)
        return self.linear(self.norm(x.mean((2, 3)), root + "layernorm", c["layer_norm_eps"]), "classifier", len(c["id2label"]))


class DINOv3ConvNeXt(Network):
    """DINOv3ConvNextModel."""

    def run(self):
        c, eps = self.c, self.c["layer_norm_eps"]
        x = self.image()
        for s, (width, depth) in enumerate(zip(c["hidden_sizes"], c["depths"])):
            down = "stages.%d.downsample_layers." % s
            if s == 0:
                x = self.norm2d(self.conv(x, down + "0", width, 4, stride=4), down + "1", eps)
            else:
                x = self.conv(self.norm2d(x, down + "0", eps), down + "1", width, 2, stride=2)
            for b in range(depth):
                layer = "stages.%d.layers.%d." % (s, b)
                y = self.conv(x, layer + "depthwise_conv", width, 7, padding=3, groups=width).permute(0, 2, 3, 1)
                y = self.linear(self.norm(y, layer + "layer_norm", eps), layer + "pointwise_conv1", 4 * width)
                y = self.linear(ACT[c["hidden_act"]](y), layer + "pointwise_conv2", width)
                x = x + (y * self.get(layer + "gamma", width)).permute(0, 3, 1, 2)
        return self.norm(x.mean((2, 3)), "layer_norm", eps)


class ResNet(Network):
    """ResNetForImageClassification."""

    def layer(self, x, name, out, kernel, stride=1, act=True):
        x = self.conv(x, name + ".convolution", out, kernel, False, stride=stride, padding=kernel // 2)
        x = self.batch_norm(x, name + ".normalization", 1e-5)
        return ACT[self.c["hidden_act"]](x) if act else x

    def run(self):
        c = self.c
        x = self.layer(self.image(), "resnet.embedder.embedder", c["embedding_size"], 7, 2)
        x = F.max_pool2d(x, 3, 2, 1)
        for s, (out, depth) in enumerate(zip(c["hidden_sizes"], c["depths"])):
            for b in range(depth):
                block = "resnet.encoder.stages.%d.layers.%d." % (s, b)
                stride = 2 if b == 0 and (s > 0 or c["downsample_in_first_stage"]) else 1
                shortcut = x
                if x.shape[1] != out or stride != 1:
                    shortcut = self.layer(x, block + "shortcut", out, 1, stride, False)
                if c["layer_type"] == "basic":
                    y = self.layer(x, block + "layer.0", out, 3, stride)
                    y = self.layer(y, block + "layer.1", out, 3, act=False)
                else:
                    early = c["downsample_in_bottleneck"]
                    y = self.layer(x, block + "layer.0", out // 4, 1, stride if early else 1)
                    y = self.layer(y, block + "layer.1", out // 4, 3, 1 if early else stride)
                    y = self.layer(y, block + "layer.2", out, 1, act=False)
                x = ACT[c["hidden_act"]](y + shortcut)
        return self.linear(x.mean((2, 3)), "classifier.1", len(c["id2label"]))


class MobileNetV2(Network):
    """MobileNetV2ForImageClassification."""

    def divisible(self, value):
        divisor = self.c["depth_divisible_by"]
        rounded = max(self.c["min_depth"], int(value + divisor / 2) // divisor * divisor)
        return int(rounded + divisor if rounded < 0.9 * value else rounded)

    def layer(self, x, name, out, kernel, stride=1, groups=1, act=True):
        padding = 0 if self.c["tf_padding"] else (kernel - 1) // 2
        if self.c["tf_padding"]:
            along = lambda n: max(kernel - (n % stride or stride), 0)
            down, right = along(x.shape[2]), along(x.shape[3])
            x = F.pad(x, (right // 2, right - right // 2, down // 2, down - down // 2))
        x = self.conv(x, name + ".convolution", out, kernel, False, stride=stride, padding=padding, groups=groups)
        x = self.batch_norm(x, name + ".normalization", self.c["layer_norm_eps"])
        return ACT[self.c["hidden_act"]](x) if act else x

    def run(self):
        c = self.c
        scaled = lambda channels: self.divisible(int(round(channels * c["depth_multiplier"])))
        root = "mobilenet_v2."
        channels = [scaled(n) for n in [16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320]]
        strides = [2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]
        stem = scaled(32)
        x = self.layer(self.image(), root + "conv_stem.first_conv", stem, 3, 2)
        x = self.layer(x, root + "conv_stem.conv_3x3", stem, 3, 1, stem)
        x = self.layer(x, root + "conv_stem.reduce_1x1", channels[0], 1, act=False)
        for i, stride in enumerate(strides):
            block = root + "layer.%d." % i
            expanded = self.divisible(int(round(channels[i] * c["expand_ratio"])))
            y = self.layer(x, block + "expand_1x1", expanded, 1)
            y = self.layer(y, block + "conv_3x3", expanded, 3, stride, expanded)
            y = self.layer(y, block + "reduce_1x1", channels[i + 1], 1, act=False)
            x = x + y if stride == 1 and channels[i] == channels[i + 1] else y
        head = 1280 if c["finegrained_output"] and c["depth_multiplier"] < 1 else scaled(1280)
        x = self.layer(x, root + "conv_1x1", head, 1)
        return self.linear(x.mean((2, 3)), "classifier", len(c["id2label"]))


def config(model_type, architecture, **entries):
    classes = {} if architecture.endswith("Model") else {"id2label": {"0": "cat", "1": "dog", "2": "bird"}}
    return dict(model_type=model_type, architectures=[architecture], layer_norm_eps=EPS, **classes, **entries)


CASES = {
    "vit": ViT(config("vit", "ViTForImageClassification", hidden_size=12, num_hidden_layers=3, num_attention_heads=3, intermediate_size=20,
                      hidden_act="gelu_new", image_size=[8, 12], patch_size=2, qkv_bias=False), (8, 12)),
    "vit_pooler": ViT(config("vit", "ViTModel", hidden_size=8, num_hidden_layers=1, num_attention_heads=4, intermediate_size=6,
                             hidden_act="relu", image_size=6, patch_size=2, qkv_bias=True, pooler_act="relu", pooler_output_size=5), (6, 6)),
    # Saved for 8 x 8 images, although its config has the original training size.
    "dinov2": ViT(config("dinov2", "Dinov2ForImageClassification", hidden_size=10, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=3,
                         hidden_act="silu", image_size=518, patch_size=2, qkv_bias=True, use_swiglu_ffn=False), (8, 8)),
    "dinov2_swiglu": ViT(config("dinov2_with_registers", "Dinov2WithRegistersModel", hidden_size=12, num_hidden_layers=2, num_attention_heads=3,
                                mlp_ratio=4, hidden_act="gelu", image_size=9, patch_size=3, qkv_bias=False, use_swiglu_ffn=True,
                                num_register_tokens=2), (9, 9)),
    "dinov3": DINOv3(config("dinov3_vit", "DINOv3ViTModel", hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=10,
                            hidden_act="quick_gelu", image_size=12, patch_size=4, query_bias=False, key_bias=True, value_bias=False,
                            proj_bias=False, mlp_bias=False, use_gated_mlp=True, num_register_tokens=3, rope_theta=50.0), (12, 12)),
    "swin": Swin(config("swin", "SwinForImageClassification", image_size=24, patch_size=2, embed_dim=6, depths=[1, 2, 1], num_heads=[3, 2, 4],
                        window_size=3, mlp_ratio=2.0, qkv_bias=False, hidden_act="relu", use_absolute_embeddings=False), (24, 24)),
    "swin_padded": Swin(config("swin", "SwinForImageClassification", image_size=[22, 26], patch_size=2, embed_dim=4, depths=[2, 2],
                               num_heads=[2, 4], window_size=4, mlp_ratio=1.5, qkv_bias=True, hidden_act="gelu",
                               use_absolute_embeddings=False), (22, 26)),
    "convnext": ConvNeXt(config("convnext", "ConvNextForImageClassification", patch_size=2, hidden_sizes=[4, 6, 10], depths=[1, 2, 1],
                                hidden_act="relu", layer_scale_init_value=1e-6, image_size=16), (16, 16)),
    "convnextv2": ConvNeXt(config("convnextv2", "ConvNextV2ForImageClassification", patch_size=4, hidden_sizes=[4, 6], depths=[1, 1],
                                  hidden_act="silu", image_size=16), (16, 16)),
    "convnext_plain": ConvNeXt(config("convnext", "ConvNextForImageClassification", patch_size=4, hidden_sizes=[5, 4], depths=[1, 1],
                                      hidden_act="gelu", layer_scale_init_value=0, image_size=16), (16, 16)),
    "dinov3_convnext": DINOv3ConvNeXt(config("dinov3_convnext", "DINOv3ConvNextModel", hidden_sizes=[4, 6, 8], depths=[1, 1, 2],
                                             hidden_act="relu", layer_scale_init_value=1e-6, image_size=16), (16, 16)),
    "resnet_basic": ResNet(config("resnet", "ResNetForImageClassification", embedding_size=6, hidden_sizes=[6, 10, 8], depths=[1, 2, 1],
                                  layer_type="basic", hidden_act="silu", downsample_in_first_stage=False, downsample_in_bottleneck=False), (33, 47)),
    "resnet_bottleneck": ResNet(config("resnet", "ResNetForImageClassification", embedding_size=5, hidden_sizes=[8, 12], depths=[2, 2],
                                       layer_type="bottleneck", hidden_act="relu", downsample_in_first_stage=True,
                                       downsample_in_bottleneck=True), (32, 32)),
    "mobilenet_v2": MobileNetV2(config("mobilenet_v2", "MobileNetV2ForImageClassification", depth_multiplier=0.1, depth_divisible_by=4,
                                       min_depth=4, expand_ratio=2.5, output_stride=32, first_layer_is_expansion=True,
                                       finegrained_output=False, hidden_act="relu", tf_padding=True, image_size=35), (35, 35)),
    "mobilenet_v2_padded": MobileNetV2(config("mobilenet_v2", "MobileNetV2ForImageClassification", depth_multiplier=0.05, depth_divisible_by=2,
                                              min_depth=6, expand_ratio=1.0, output_stride=32, first_layer_is_expansion=True,
                                              finegrained_output=False, hidden_act="relu6", tf_padding=False, image_size=33), (33, 33)),
}

lines = ["// By make_transformers_fixture.py, torch %s: {{case, {key, shape}..., output}, config.json, height, width}." % torch.__version__.split("+")[0]]
for name, network in CASES.items():
    output = network.run().flatten().tolist()
    parameters = ", ".join('{"%s", {%s}}' % (k, ", ".join(map(str, s))) for k, s in network.parameters.items())
    lines.append('{{"%s", {%s}, {%s}}, R"(%s)", %d, %d},' % (
        name, parameters, ", ".join("%.15g" % v for v in output), json.dumps(network.c), *network.size))
pathlib.Path(__file__).with_name("transformers_fixture.inc").write_text("\n".join(lines) + "\n")
