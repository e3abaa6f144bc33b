"""Real-ESRGAN's residual-in-residual dense network (Wang et al., arXiv:1809.00219), in BasicSR's names."""
import torch
from torch import nn
from torch.nn import functional as F


def convolution(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def activate(x):
    return F.leaky_relu(x, 0.2)


class DenseBlock(nn.Module):
    def __init__(self, features, growth):
        super().__init__()
        for i in range(5):
            setattr(self, f"conv{i + 1}", convolution(features + i * growth, features if i == 4 else growth))

    def forward(self, x):
        maps = [x]
        for i in range(4):
            maps.append(activate(getattr(self, f"conv{i + 1}")(torch.cat(maps, 1))))
        return self.conv5(torch.cat(maps, 1)) * 0.2 + x


class ResidualBlock(nn.Module):
    def __init__(self, features, growth):
        super().__init__()
        for i in (1, 2, 3):
            setattr(self, f"rdb{i}", DenseBlock(features, growth))

    def forward(self, x):
        return self.rdb3(self.rdb2(self.rdb1(x))) * 0.2 + x


class RRDBNet(nn.Module):
    """Four times as high and wide."""

    def __init__(self, blocks=23, features=64, growth=32):
        super().__init__()
        self.conv_first = convolution(3, features)
        self.body = nn.Sequential(*[ResidualBlock(features, growth) for _ in range(blocks)])
        self.conv_body = convolution(features, features)
        self.conv_up1 = convolution(features, features)
        self.conv_up2 = convolution(features, features)
        self.conv_hr = convolution(features, features)
        self.conv_last = convolution(features, 3)

    def forward(self, x):
        x = self.conv_first(x)
        x = x + self.conv_body(self.body(x))
        for upscaled in (self.conv_up1, self.conv_up2):
            x = activate(upscaled(F.interpolate(x, scale_factor=2, mode="nearest")))
        return self.conv_last(activate(self.conv_hr(x)))
