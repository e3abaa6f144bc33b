"""MI-GAN's generator (Sargsyan et al., ICCV 2023), in its authors' names: a mask and three colours to three colours."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def activate(x):
    return (F.leaky_relu(x, 0.2) * math.sqrt(2)).clamp(-256, 256)


def width_of(side):
    return min(32768 // side, 512)


class Filter(nn.Module):
    """[1 3 3 1] in both directions, for each channel, over a map that was padded; its sum is `gain`."""

    def __init__(self, channels, stride, gain):
        super().__init__()
        self.filter = nn.Conv2d(channels, channels, 4, stride, groups=channels, bias=False)
        line = torch.tensor([1.0, 3.0, 3.0, 1.0]) / 8
        self.filter.weight = nn.Parameter((gain * line[:, None] * line).expand(channels, 1, 4, 4).clone())


class Halve(Filter):
    def __init__(self, channels):
        super().__init__(channels, 2, 1)

    def forward(self, x):
        return self.filter(F.pad(x, (1, 1, 1, 1)))


class Upscale(Filter):
    """Zeros between the pixels, then the filter."""

    def __init__(self, channels, side):
        super().__init__(channels, 1, 4)
        grid = torch.zeros(1, 1, side, side)
        grid[:, :, ::2, ::2] = 1
        self.register_buffer("filter_const", grid)

    def forward(self, x):
        x = F.interpolate(x, scale_factor=2, mode="nearest") * self.filter_const
        return self.filter(F.pad(x, (2, 1, 2, 1)))


class Separable(nn.Module):
    def __init__(self, inputs, outputs, side=0, halve=False, upscale=False, noise=False):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs)
        self.conv2 = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.downsample = Halve(inputs) if halve else None
        self.upsample = Upscale(outputs, side) if upscale else None
        self.noisy = noise
        if noise:
            self.register_buffer("noise_const", torch.randn(side, side))
            self.noise_strength = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        x = activate(self.conv1(x))
        if self.downsample:
            x = self.downsample(x)
        x = self.conv2(x)
        if self.upsample:
            x = self.upsample(x)
        if self.noisy:
            x = x + self.noise_const * self.noise_strength
        return activate(x)


class EncoderBlock(nn.Module):
    def __init__(self, side, first):
        super().__init__()
        width = width_of(side)
        self.fromrgb = nn.Conv2d(4, width, 1) if first else None
        self.conv1 = Separable(width, width)
        self.conv2 = Separable(width, width_of(side // 2), halve=side > 4)

    def forward(self, x):
        if self.fromrgb:
            x = activate(self.fromrgb(x))
        seen = self.conv1(x)
        return self.conv2(seen), seen


class SynthesisBlock(nn.Module):
    def __init__(self, side):
        super().__init__()
        larger = side > 4
        width = width_of(side)
        self.conv1 = Separable(width_of(side // 2) if larger else width, width, side, upscale=larger, noise=larger)
        self.conv2 = Separable(width, width, side, noise=larger)
        self.torgb = nn.Conv2d(width, 3, 1)
        self.upsample = Upscale(3, side) if larger else None

    def forward(self, x, seen, image):
        x = self.conv2(self.conv1(x) + seen)
        colours = self.torgb(x)
        return x, self.upsample(image) + colours if self.upsample else colours


class MiGan(nn.Module):
    def __init__(self, side=512):
        super().__init__()
        self.sides = [4 << i for i in range(side.bit_length() - 2)]
        self.encoder = nn.ModuleDict({f"b{s}": EncoderBlock(s, s == side) for s in reversed(self.sides)})
        self.synthesis = nn.ModuleDict({f"b{s}": SynthesisBlock(s) for s in self.sides})

    def forward(self, x):
        seen, image = {}, None
        for s in reversed(self.sides):
            x, seen[s] = self.encoder[f"b{s}"](x)
        for s in self.sides:
            x, image = self.synthesis[f"b{s}"](x, seen[s], image)
        return image
