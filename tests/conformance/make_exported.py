#!/usr/bin/env python3
"""Writes tests/data/onnx/NAME/: networks of a few kilobytes, exported by PyTorch, with an input and PyTorch's output.

    make_exported.py OUT_DIR

Needs Debian's python3-torch, python3-torchvision and python3-onnx. The folders look like the ONNX project's node tests:
model.onnx, test_data_set_0/input_0.pb and output_0.pb.
"""
import os
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import torch
import torchvision
from torch import nn


class Cnn(nn.Module):
    """Convolutions, batch norms, squeeze and excitation, residual sums, pools, a flattened map."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False), nn.BatchNorm2d(8), nn.SiLU())
        self.gate = torchvision.ops.SqueezeExcitation(8, 4, scale_activation=nn.Hardsigmoid)
        self.point = nn.Conv2d(8, 8, 1)
        self.up = nn.ConvTranspose2d(8, 6, 2, 2)
        self.head = nn.Linear(10 * 4 * 4, 5)

    def forward(self, x):
        x = self.pool(self.stem(x))
        x = x + self.point(self.gate(self.depthwise(x)))
        y = torch.relu(self.up(x))
        y = nn.functional.avg_pool2d(y, 2)
        z = torch.cat([nn.functional.pad(x[:, :4], (1, 1, 1, 1))[:, :, 1:-1, 1:-1], y], 1)
        z = nn.functional.interpolate(z, scale_factor=2, mode="bilinear", align_corners=False)
        z = nn.functional.avg_pool2d(z, 2)
        return self.head(z.flatten(1))


class Detector(nn.Module):
    """Two heads, reshaped and joined by sizes that are computed from the input's."""

    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(3, 8, 3, 2, 1)
        self.down = nn.Conv2d(8, 8, 3, 2, 1)
        self.heads = nn.ModuleList([nn.Conv2d(8, 6, 1), nn.Conv2d(8, 6, 1)])

    def forward(self, x):
        a = torch.relu(self.body(x))
        b = torch.relu(self.down(a))
        rows = [h(v).permute(0, 2, 3, 1).contiguous().view(x.size(0), -1, 2) for h, v in zip(self.heads, (a, b))]
        return torch.softmax(torch.cat(rows, 1), 2)


class ResponseNorm(torch.autograd.Function):
    """As ONNX defines it; exporters of older frameworks write it."""

    @staticmethod
    def forward(ctx, x, size):
        values = x.detach().numpy()  # out of the exporter's sight
        squares = np.pad(values ** 2, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
        sums = sum(squares[:, i:i + values.shape[1]] for i in range(size))
        return torch.from_numpy(values / (0.5 + 2.0 / size * sums) ** 0.75)

    @staticmethod
    def symbolic(g, x, size):
        return g.op("LRN", x, size_i=size, alpha_f=2.0, beta_f=0.75, bias_f=0.5)


class ResponseNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.second = nn.Conv2d(8, 6, 3)

    def forward(self, x):
        return ResponseNorm.apply(self.second(ResponseNorm.apply(self.first(x), 5)), 4)


def convnext():
    block = torchvision.models.convnext.CNBlockConfig
    return torchvision.models.ConvNeXt([block(8, 12, 1), block(12, None, 1)], stochastic_depth_prob=0.0, num_classes=5)


def vit():
    return torchvision.models.VisionTransformer(image_size=16, patch_size=8, num_layers=2, num_heads=2, hidden_dim=16,
                                                mlp_dim=24, num_classes=5)


def swin():
    return torchvision.models.SwinTransformer(patch_size=[2, 2], embed_dim=8, depths=[2], num_heads=[2],
                                              window_size=[2, 2], num_classes=5)


class Upscaler(nn.Module):
    """Group norm, a pixel shuffle, and one built from reshapes."""

    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, 8, 3, 1, 1)
        self.norm = nn.GroupNorm(2, 8)
        self.up = nn.Conv2d(8, 16, 1)
        self.tail = nn.Conv2d(4, 12, 1)

    def forward(self, x):
        x = nn.functional.pixel_shuffle(self.up(torch.relu(self.norm(self.head(x)))), 2)
        y = self.tail(x)
        n, c, h, w = y.shape
        y = y.reshape(n, 3, 2, 2, h, w).permute(0, 1, 4, 2, 5, 3)
        return y.reshape(n, 3, 2 * h, 2 * w)


class Rotary(nn.Module):
    """Attention over rotated queries and keys, their scale before the product, a causal mask, RMS norm."""

    def __init__(self, interleaved):
        super().__init__()
        self.interleaved = interleaved
        self.patch = nn.Conv2d(3, 16, 8, 8)
        self.weight = nn.Parameter(torch.ones(16))
        self.qkv = nn.Linear(16, 48)
        self.proj = nn.Linear(16, 5)
        angles = torch.outer(torch.arange(4.0), 1 / 100 ** (torch.arange(4.0) / 4))
        angles = angles.repeat_interleave(2, -1) if interleaved else torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("mask", torch.ones(4, 4, dtype=torch.bool).tril().logical_not())

    def rotate(self, x):
        if self.interleaved:
            turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).reshape(x.shape)
        else:
            a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
            turned = torch.cat([-b, a], -1)
        return x * self.cos + turned * self.sin

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (self.rotate(q) * 8**-0.25) @ (self.rotate(k).transpose(-2, -1) * 8**-0.25)
        y = scores.masked_fill(self.mask, float("-inf")).softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, n, c))


class RmsNorms(nn.Module):
    """RMS norm as networks write it: in a wider type, as a quotient, as a power, without a weight."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 12, 8, 8)
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(12)) for _ in range(3)])
        self.layers = nn.ModuleList([nn.Linear(12, 12) for _ in range(4)])

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        wide = x.to(torch.float64)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        x = x + self.layers[0](self.weights[0] * wide.to(x.dtype))
        x = x + self.layers[1](x / torch.sqrt((x * x).mean(-1, keepdim=True) + 0.1) * self.weights[1])
        x = x + self.layers[2](self.weights[2] * (x * (x.pow(2).mean(-1, keepdim=True) + 1e-5).pow(-0.5)))
        return self.layers[3](torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * x)


class Quantized(nn.Module):
    """As after training for 8 bits: weights and activations are quantised and dequantised."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.register_buffer("scale", torch.linspace(0.01, 0.02, 8))
        self.register_buffer("zero", torch.zeros(8, dtype=torch.int32))
        self.head = nn.Linear(8 * 8 * 8, 5)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.03, 117, 0, 255)
        weight = torch.fake_quantize_per_channel_affine(self.conv.weight, self.scale, self.zero, 0, -128, 127)
        x = torch.relu(nn.functional.conv2d(x, weight, self.conv.bias, 2, 1))
        x = torch.fake_quantize_per_tensor_affine(x, 0.02, 0, 0, 255)
        return self.head(x.flatten(1))


class Segmenter(nn.Module):
    """Halved, gated by its mean, upscaled to the size of the map before, joined."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.down = nn.Conv2d(8, 8, 3, 2, 1)
        self.gate = nn.Conv2d(8, 8, 1)
        self.head = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = torch.relu(self.stem(x))
        b = self.down(a)
        b = b * torch.sigmoid(self.gate(b.mean((2, 3), keepdim=True)))
        b = nn.functional.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        return self.head(torch.cat([a, b], 1))


class Encoder(nn.Module):
    """Attention with a mask over tokens, the first of which is learned."""

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(1, 1, 8))
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, tokens, mask):
        batch, sequence, width = tokens.shape
        q, k, v = self.qkv(tokens).reshape(batch, sequence, 3, 2, width // 2).permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(q @ k.transpose(-2, -1) / 2 + mask[:, None, None, :], -1)
        y = (weights @ v).transpose(1, 2).reshape(batch, sequence, width)
        return torch.cat([self.first.expand(batch, -1, -1), self.out(y)], 1)


class Positions(nn.Module):
    """A learned vector for each position."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(16, 8))
        self.out = nn.Linear(8, 8)

    def forward(self, tokens):
        return self.out(tokens + self.table[:tokens.shape[1]])


class Last(nn.Module):
    """The last token, as a causal classifier reads it, and the last but one onwards, of each sample."""

    def __init__(self):
        super().__init__()
        self.mix, self.out = nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, tokens):
        y = torch.tanh(self.mix(tokens))
        return self.out(y[:, -1]) + self.out(y[:, -2:-1]).sum(1)


class Text(nn.Module):
    """Token embeddings like BERT's: tables of positions and of types, cut to the length, and a mask over tokens."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 16)
        self.kinds = nn.Embedding(2, 16)
        self.places = nn.Embedding(12, 16)
        self.register_buffer("numbers", torch.arange(12)[None])
        self.register_buffer("kind", torch.zeros(1, 12, dtype=torch.long))
        self.norm = nn.LayerNorm(16)
        self.q, self.k, self.v, self.out = (nn.Linear(16, 16) for _ in range(4))

    def split(self, x):
        return x.view(*x.shape[:2], 2, 8).permute(0, 2, 1, 3)

    def forward(self, tokens, mask):
        batch, length = tokens.shape
        kind = self.kind[:, :length].expand(batch, length)
        x = self.words(tokens) + self.kinds(kind) + self.places(self.numbers[:, :length])
        x = self.norm(x)
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        scores = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 8 ** 0.5 + bias
        y = torch.softmax(scores, -1) @ self.split(self.v(x))
        return x + self.out(y.permute(0, 2, 1, 3).contiguous().view(batch, length, 16))


class Decoder(nn.Module):
    """torch's own attention under a causal mask."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2)
        self.out = nn.Linear(8, 5)
        self.register_buffer("mask", torch.full((5, 5), float("-inf")).triu(1))

    def forward(self, tokens):
        x = tokens.transpose(0, 1)
        return self.out(x + self.attention(x, x, x, attn_mask=self.mask)[0]).transpose(0, 1)


class Padded(nn.Module):
    """torch's own layer with a mask over tokens; positions are inputs of each sample."""

    def __init__(self):
        super().__init__()
        self.places = nn.Embedding(24, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 24, batch_first=True)

    def forward(self, tokens, mask):
        places = torch.arange(tokens.shape[1])[None].expand(tokens.shape[0], -1)
        return self.layer(tokens + self.places(places), src_key_padding_mask=mask)


class RotaryText(nn.Module):
    """Attention over rotated queries and keys under a causal mask, for any length up to the tables'."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.proj = nn.Linear(16, 5)
        angles = torch.outer(torch.arange(24.0), 1 / 100 ** (torch.arange(4.0) / 4))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("mask", torch.ones(24, 24).tril()[None, None])

    def rotate(self, x):
        turned = torch.cat([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1)
        return x * self.cos[: x.shape[2]] + turned * self.sin[: x.shape[2]]

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        scores = self.rotate(q) @ self.rotate(k).transpose(-2, -1) / 8 ** 0.5
        scores = torch.where(self.mask[:, :, :n, :n] == 0, torch.tensor(-1e30), scores)
        y = scores.softmax(-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, n, c))


class Pyramid(nn.Module):
    """Feature maps of three sizes, upscaled to the next larger and finally to the image, at any size."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1)])
        self.lateral = nn.ModuleList([nn.Conv2d(8, 6, 1) for _ in range(3)])
        self.pool = nn.Conv2d(8, 6, 1)
        self.head = nn.Conv2d(6, 2, 3, 1, 1)

    def forward(self, x):
        a = torch.relu(self.down[0](x))
        b = torch.relu(self.down[1](a))
        c = torch.relu(self.down[2](b))
        whole = nn.functional.adaptive_avg_pool2d(c, 1)
        c = self.lateral[2](c) + nn.functional.interpolate(self.pool(whole), size=c.shape[2:], mode="bilinear",
                                                           align_corners=False)
        b = self.lateral[1](b) + nn.functional.interpolate(c, size=b.shape[2:], mode="nearest")
        a = self.lateral[0](a) + nn.functional.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=False)
        return nn.functional.interpolate(self.head(a), size=x.shape[2:], mode="bilinear", align_corners=False)


class Tokens(nn.Module):
    """A map becomes tokens and a map again, as in SegFormer."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.norm = nn.LayerNorm(8)
        self.linear = nn.Linear(8, 8)
        self.head = nn.Conv2d(8, 2, 3, 1, 1)

    def forward(self, x):
        x = self.stem(x)
        n, c, h, w = x.shape
        y = self.linear(self.norm(x.flatten(2).transpose(1, 2)))
        return self.head(y.transpose(1, 2).reshape(n, c, h, w))


class Squeeze(nn.Module):
    """Squeezes dimensions if they are 1, which the exporter leaves to the file's reader."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 5)

    def forward(self, x):
        return self.out(x.squeeze(0)).squeeze(1)


class Sums(nn.Module):
    """A cumulative sum."""

    def forward(self, tokens):
        return tokens.cumsum(1)


class Halves(nn.Module):
    """Both halves of the tokens, and every other one, forwards and backwards."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, tokens):
        x = self.linear(tokens)
        half = tokens.shape[1] // 2
        ends = x[:, :half].mean(1) * x[:, half:].mean(1)
        return ends + x[:, ::2].mean(1) * x[:, 1::2].mean(1) + x.flip(1)[:, 0]


class Multiples(nn.Module):
    """Sides are padded to a multiple of four, halved and doubled, and cropped."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3, padding=1)
        self.down = nn.Conv2d(6, 6, 2, 2)
        self.up = nn.ConvTranspose2d(6, 3, 2, 2)

    def forward(self, x):
        height, width = x.shape[2:]
        y = nn.functional.pad(x, (0, (4 - width % 4) % 4, 0, (4 - height % 4) % 4))
        y = self.up(torch.relu(self.down(self.first(y))))
        return y[:, :, :height, :width] + x


class HalfSize(nn.Module):
    """A map of half the sides, and back."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)

    def forward(self, x):
        size = x.shape[2] // 2, x.shape[3] // 2
        y = nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False)
        return nn.functional.interpolate(self.conv(y), size=x.shape[2:], mode="bilinear", align_corners=False)


class GridRotary(nn.Module):
    """Attention between patches, rotated by coordinates of -1 to 1 whatever the number of patches (DINOv3)."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.qkv = nn.Linear(16, 48)
        self.register_buffer("frequencies", torch.tensor([3.14, 10.5]))

    def forward(self, x):
        y = self.patches(x)
        batch, width, rows, columns = y.shape
        places = [2 * (torch.arange(n, dtype=torch.float32) + 0.5) / n - 1 for n in (rows, columns)]
        grid = torch.stack(torch.meshgrid(*places, indexing="ij"), -1).flatten(0, 1)
        angles = (grid[:, :, None] * self.frequencies).flatten(1, 2).repeat(1, 2)
        q, k, v = self.qkv(y.flatten(2).transpose(1, 2)).reshape(batch, -1, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        turn = lambda z: z * angles.cos() + torch.cat([-z[..., 4:], z[..., :4]], -1) * angles.sin()
        z = torch.softmax(turn(q) @ turn(k).transpose(-1, -2) / 8 ** 0.5, -1) @ v
        return z.transpose(1, 2).reshape(batch, -1, width).mean(1)


class Windows(nn.Module):
    """A layer of a Swin transformer as transformers writes it: shifted windows of a padded map, with a mask."""

    window, shift, heads = 4, 2, 2

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 2, 2)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)

    def split(self, x):
        batch, rows, columns, width = x.shape
        x = x.view(batch, rows // self.window, self.window, columns // self.window, self.window, width)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.window ** 2, width)

    def mask(self, rows, columns):
        regions = torch.zeros((1, rows, columns, 1))
        slices = slice(0, -self.window), slice(-self.window, -self.shift), slice(-self.shift, None)
        for i, (of_rows, of_columns) in enumerate((a, b) for a in slices for b in slices):
            regions[:, of_rows, of_columns, :] = i
        regions = self.split(regions).squeeze(-1)
        differs = regions[:, None] - regions[:, :, None]
        return differs.masked_fill(differs != 0, -100.0).masked_fill(differs == 0, 0.0)

    def forward(self, x):
        y = self.patches(x).permute(0, 2, 3, 1)
        batch, height, breadth, width = y.shape
        pad = lambda size: (self.window - size % self.window) % self.window
        y = nn.functional.pad(y, (0, 0, 0, pad(breadth), 0, pad(height)))
        _, rows, columns, _ = y.shape
        tokens = self.split(torch.roll(y, (-self.shift, -self.shift), (1, 2)))
        q, k, v = (z.view(-1, self.window ** 2, self.heads, 8).transpose(1, 2) for z in self.qkv(tokens).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / 8 ** 0.5
        mask = self.mask(rows, columns)
        scores = scores.view(batch, mask.shape[0], self.heads, self.window ** 2, -1) + mask[:, None][None]
        scores = scores.view(-1, self.heads, self.window ** 2, self.window ** 2)
        y = self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(-1, self.window ** 2, width))
        y = y.view(-1, rows // self.window, columns // self.window, self.window, self.window, width)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(-1, rows, columns, width)
        return torch.roll(y, (self.shift, self.shift), (1, 2))[:, :height, :breadth]


class Inner(nn.Module):
    """Tokens without the first or the last ones."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, tokens):
        return self.linear(tokens)[:, 1:-1] + tokens[:, 2:] * tokens[:, :-2]


class Picked(nn.Module):
    """The token of each text at a place that is computed, as CLIP's."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 8)

    def forward(self, tokens):
        y = self.embedding(tokens)
        return y[torch.arange(y.shape[0]), tokens.argmax(-1)]


class Centred(nn.Module):
    """Sides are reflected up to a multiple of eight, half of it on either side, and repeated at the end."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(5, 6, 3, padding=1)

    def forward(self, x):
        height, width = x.shape[2:]
        rows, columns = [torch.linspace(-1, 1, n) for n in (height, width)]
        places = torch.stack(torch.meshgrid(rows, columns, indexing="ij")).expand(x.shape[0], 2, height, width)
        x = torch.cat([x, places], 1)
        more = (8 - height % 8) % 8, (8 - width % 8) % 8
        y = nn.functional.pad(x, (more[1] // 2, more[1] - more[1] // 2, more[0] // 2, more[0] - more[0] // 2),
                              mode="reflect")
        return self.conv(y), self.conv(nn.functional.pad(x, (1, more[1], 2, more[0]), mode="replicate"))


class Resampled(nn.Module):
    """Position embeddings resized to the number of patches (timm's dynamic_img_size)."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.positions = nn.Parameter(torch.randn(1, 25, 8))

    def forward(self, x):
        y = self.patches(x)
        places = self.positions.reshape(1, 5, 5, 8).permute(0, 3, 1, 2)
        return y + nn.functional.interpolate(places, size=y.shape[2:], mode="bicubic", align_corners=False)


class Recurrent(nn.Module):
    """A bidirectional LSTM of two layers, a GRU with a state in and out, and an RNN."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 6, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(12, 7)
        self.rnn = nn.RNN(7, 4, nonlinearity="relu")

    def forward(self, frames, state):
        y, (_, cells) = self.lstm(frames)
        z, state = self.gru(y, state)
        return self.rnn(z * 0.1)[0].mean(0), cells, state


class Cells(nn.Module):
    """Attention with one head inside cells, whose number follows from the size: products in three dimensions."""

    cell = 4

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 2, 2)
        self.qkv = nn.Linear(16, 48)

    def forward(self, x):
        y = self.patches(x).permute(0, 2, 3, 1)
        batch, height, breadth, width = y.shape
        y = y.view(batch, height // self.cell, self.cell, breadth // self.cell, self.cell, width)
        q, k, v = self.qkv(y.permute(0, 1, 3, 2, 4, 5).reshape(-1, self.cell ** 2, width)).chunk(3, -1)
        y = torch.softmax(q @ k.transpose(-1, -2) / width ** 0.5, -1) @ v
        return y.reshape(batch, -1, width).mean(1)


class Wrapped(nn.Module):
    """Sides continue at the other end up to a multiple of eight, half of it in front. The exporter has no such mode."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.mode = "circular"

    def forward(self, x):
        height, width = x.shape[2:]
        more = (8 - height % 8) % 8, (8 - width % 8) % 8
        return self.conv(nn.functional.pad(x, (more[1] // 2, more[1] - more[1] // 2, more[0] // 2,
                                               more[0] - more[0] // 2), mode=self.mode))


# Builder, open dimensions, sizes of the inputs.
DYNAMIC = {
    "vit_batch": (vit, {"input": {0: "batch"}}, {"input": (3, 3, 16, 16)}),
    "segmenter": (Segmenter, {"input": {0: "batch", 2: "height", 3: "width"}}, {"input": (2, 3, 24, 40)}),
    "encoder": (Encoder, {"tokens": {0: "batch", 1: "sequence"}, "mask": {0: "batch", 1: "sequence"}},
                {"tokens": (3, 7, 8), "mask": (3, 7)}),
    "decoder": (Decoder, {"tokens": {0: "batch"}}, {"tokens": (3, 5, 8)}),
    "text": (Text, {"tokens": {0: "batch", 1: "sequence"}, "mask": {0: "batch", 1: "sequence"}},
             {"tokens": (3, 7), "mask": (3, 7)}),
    "padded": (Padded, {"tokens": {0: "batch", 1: "sequence"}, "mask": {0: "batch", 1: "sequence"}},
               {"tokens": (3, 7, 16), "mask": (3, 7)}),
    "rotary_text": (RotaryText, {"tokens": {0: "batch", 1: "sequence"}}, {"tokens": (2, 11, 16)}),
    "pyramid": (Pyramid, {"input": {0: "batch", 2: "height", 3: "width"}}, {"input": (2, 3, 37, 54)}),
    "map_of_tokens": (Tokens, {"input": {0: "batch", 2: "height", 3: "width"}}, {"input": (2, 3, 23, 18)}),
    "squeeze": (Squeeze, {"x": {0: "batch", 1: "frames"}}, {"x": (2, 1, 8)}),
    "halves": (Halves, {"tokens": {0: "batch", 1: "sequence"}}, {"tokens": (2, 13, 8)}),
    "multiples": (Multiples, {"input": {2: "height", 3: "width"}}, {"input": (1, 3, 22, 25)}),
    "half_size": (HalfSize, {"input": {2: "height", 3: "width"}}, {"input": (1, 3, 23, 26)}),
    "sums": (Sums, {"tokens": {1: "sequence"}}, {"tokens": (1, 7)}),
    "grid_rotary": (GridRotary, {"input": {0: "batch", 2: "height", 3: "width"}}, {"input": (2, 3, 26, 44)}),
    "windows": (Windows, {"input": {0: "batch", 2: "height", 3: "width"}}, {"input": (2, 3, 22, 38)}),
    "inner": (Inner, {"tokens": {1: "sequence"}}, {"tokens": (2, 13, 8)}),
    "picked": (Picked, {"tokens": {0: "batch", 1: "sequence"}}, {"tokens": (3, 11)}),
    "centred": (Centred, {"input": {2: "height", 3: "width"}}, {"input": (1, 3, 21, 25)}),
    "resampled": (Resampled, {"input": {2: "height", 3: "width"}}, {"input": (1, 3, 14, 31)}),
    "recurrent": (Recurrent, {"frames": {0: "time"}}, {"frames": (1000, 2, 5), "state": (1, 2, 7)}),
    "positions": (Positions, {"tokens": {1: "sequence"}}, {"tokens": (1, 7, 8)}),
    "last": (Last, {"tokens": {0: "batch", 1: "sequence"}}, {"tokens": (2, 7, 8)}),
    "cells": (Cells, {"input": {0: "batch", 2: "height", 3: "width"}}, {"input": (2, 3, 24, 40)}),
    "wrapped": (Wrapped, {"input": {2: "height", 3: "width"}}, {"input": (1, 3, 21, 27)}),
}
NETWORKS = {"cnn": Cnn, "detector": Detector, "lrn": ResponseNorms, "convnext": convnext, "vit": vit, "swin": swin,
            "upscaler": Upscaler, "quantized": Quantized, "rotary": lambda: Rotary(False),
            "rotary_pairs": lambda: Rotary(True), "rms": RmsNorms}


def write_tensor(path, tensor, name):
    with open(path, "wb") as f:
        f.write(onnx.numpy_helper.from_array(tensor.numpy(), name).SerializeToString())


def write_case(folder, model, x, outputs=None, open_dimensions=None):
    """Writes the model, its inputs `x` (one, or by name) and its outputs (PyTorch's by default)."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    inputs = x if isinstance(x, dict) else {"input": x}
    if outputs is None:
        with torch.no_grad():
            outputs = model(*inputs.values())
        outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    names = ["output"] if len(outputs) == 1 else [f"output_{i}" for i in range(len(outputs))]
    torch.onnx.export(model, tuple(inputs.values()), os.path.join(folder, "model.onnx"), opset_version=17,
                      input_names=list(inputs), output_names=names, dynamic_axes=open_dimensions)
    for i, (name, value) in enumerate(inputs.items()):
        write_tensor(os.path.join(data, f"input_{i}.pb"), value, name)
    for i, output in enumerate(outputs):
        write_tensor(os.path.join(data, f"output_{i}.pb"), output, names[i])


def write_wrapped(folder, model, inputs, open_dimensions):
    """Writes the model with reflecting pads, and lets them wrap."""
    with torch.no_grad():
        outputs = [model(*inputs.values())]
    model.mode = "reflect"
    write_case(folder, model, inputs, outputs, open_dimensions)
    path = os.path.join(folder, "model.onnx")
    file = onnx.load(path)
    file.opset_import[0].version = 19
    for node in file.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Pad" and attribute.name == "mode":
                attribute.s = b"wrap"
    onnx.save(file, path)


def spread_batch_norms(model):
    """Sets statistics under which folding batch norms changes the weights."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)


def build_varied(build):
    torch.manual_seed(0)
    model = build().eval()
    spread_batch_norms(model)
    for parameter in model.parameters():  # far from zero, so that no branch disappears in rounding
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def random_input(network, name, size):
    if network in ("text", "picked") and name == "tokens":
        return torch.randint(0, 20, size)
    if network in ("text", "padded") and name == "mask":
        keep = torch.rand(size) > 0.3
        return keep.long() if network == "text" else ~keep
    return torch.randn(*size)


def main():
    for name, build in NETWORKS.items():
        model = build_varied(build)
        write_case(os.path.join(sys.argv[1], name), model, torch.randn(1, 3, 16, 16))
    for name, (build, open_dimensions, sizes) in DYNAMIC.items():
        model = build_varied(build)
        inputs = {key: random_input(name, key, size) for key, size in sizes.items()}
        write = write_wrapped if name == "wrapped" else write_case
        write(os.path.join(sys.argv[1], name), model, inputs, open_dimensions=open_dimensions)


if __name__ == "__main__":
    main()
