#!/usr/bin/env python3
"""Writes tests/data/onnx/denoiser/: a small streaming speech denoiser, exported by PyTorch, and PyTorch's results.

    /usr/bin/python3 tests/conformance/make_denoiser.py tests/data/onnx/denoiser

Needs Debian's python3-torch and python3-onnx. One run takes a frame of the spectrum and the states of the frame before,
and returns the enhanced frame and the new states. The layers are those of published networks (GTCRN, UL-UNAS): a linear
filter bank, unfolded subbands, dilated convolutions over cached frames, an attention over time by a GRU, grouped GRUs
over frequencies and over time, a complex ratio mask. frames.safetensors has the frames, the enhanced ones, and the
states after the last one.
"""
import os
import sys

import torch
from torch import nn

from make_exported import spread_batch_norms
from run_ferry import write_tensors

BINS, LOW, BANDS, CHANNELS, WIDTH, FRAMES, DILATION = 33, 9, 8, 16, 9, 6, 2
STATES = {"conv_cache": (2, 1, CHANNELS // 2, 2 * DILATION, WIDTH), "time_cache": (2, 1, 1, CHANNELS // 2),
          "frame_cache": (1, WIDTH, CHANNELS)}


class Temporal(nn.Module):
    """Half of the channels through a dilated convolution over this frame and cached ones, then shuffled."""

    def __init__(self, kind):
        super().__init__()
        half = CHANNELS // 2
        self.unfold = nn.Unfold((1, 3), padding=(0, 1))
        self.point = nn.Sequential(kind(3 * half, half, 1), nn.BatchNorm2d(half), nn.PReLU())
        self.depth = nn.Conv2d(half, half, 3, padding=(0, 1), dilation=(DILATION, 1), groups=half)
        self.norm = nn.Sequential(nn.BatchNorm2d(half), nn.PReLU())
        self.gru = nn.GRU(half, 2 * half, batch_first=True)
        self.down = nn.Linear(2 * half, half)
        self.state = nn.Linear(half, 2 * half)
        self.keep = nn.Linear(2 * half, half)

    def forward(self, x, cache, state):
        a, b = x.chunk(2, 1)
        a = self.point(self.unfold(a).reshape(1, -1, 1, WIDTH))
        frames = torch.cat([cache, a], 2)
        a = self.norm(self.depth(frames))
        over_time, state = self.gru(a.pow(2).mean(-1).transpose(1, 2), self.state(state))
        a = a * torch.sigmoid(self.down(over_time)).transpose(1, 2)[..., None]
        return torch.stack([a, b], 2).reshape(1, CHANNELS, 1, WIDTH), frames[:, :, 1:], self.keep(state)


class Grouped(nn.Module):
    def __init__(self, both):
        super().__init__()
        half, size = CHANNELS // 2, CHANNELS // (4 if both else 2)
        self.a = nn.GRU(half, size, batch_first=True, bidirectional=both)
        self.b = nn.GRU(half, size, batch_first=True, bidirectional=both)

    def forward(self, x, state):
        (a, b), (h, g) = x.chunk(2, -1), state.chunk(2, -1)
        a, h = self.a(a, h.contiguous())
        b, g = self.b(b, g.contiguous())
        return torch.cat([a, b], -1), torch.cat([h, g], -1)


class DualPath(nn.Module):
    """Over the frequencies of a frame, then over the frames of a frequency."""

    def __init__(self):
        super().__init__()
        self.inside, self.across = Grouped(True), Grouped(False)
        self.layers = nn.ModuleList([nn.Linear(CHANNELS, CHANNELS) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm((WIDTH, CHANNELS), eps=1e-8) for _ in range(2)])

    def forward(self, x, state):
        x = x.permute(0, 2, 3, 1)
        y, _ = self.inside(x.reshape(1, WIDTH, CHANNELS), torch.zeros(2, x.shape[0] * x.shape[1], CHANNELS // 2))
        x = x + self.norms[0](self.layers[0](y).reshape(x.shape[0], -1, WIDTH, CHANNELS))
        y, state = self.across(x.permute(0, 2, 1, 3).reshape(WIDTH, 1, CHANNELS), state)
        y = self.layers[1](y).reshape(x.shape[0], WIDTH, -1, CHANNELS).permute(0, 2, 1, 3)
        return (x + self.norms[1](y)).permute(0, 3, 1, 2), state


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.analysis = nn.Linear(BINS - LOW, BANDS, bias=False)
        self.synthesis = nn.Linear(BANDS, BINS - LOW, bias=False)
        self.unfold = nn.Unfold((1, 3), padding=(0, 1))
        self.down = nn.Sequential(nn.Conv2d(9, CHANNELS, (1, 5), (1, 2), (0, 2)), nn.BatchNorm2d(CHANNELS), nn.PReLU())
        self.encode, self.decode = Temporal(nn.Conv2d), Temporal(nn.ConvTranspose2d)
        self.path = DualPath()
        self.up = nn.Sequential(nn.ConvTranspose2d(CHANNELS, 2, (1, 5), (1, 2), (0, 2)), nn.BatchNorm2d(2), nn.Tanh())

    def forward(self, spectrum, conv_cache, time_cache, frame_cache):
        real, imaginary = spectrum[..., 0].permute(0, 2, 1), spectrum[..., 1].permute(0, 2, 1)
        x = torch.stack([torch.sqrt(real**2 + imaginary**2 + 1e-12), real, imaginary], 1)
        x = torch.cat([x[..., :LOW], self.analysis(x[..., LOW:])], -1)
        x = self.unfold(x).reshape(x.shape[0], 3 * x.shape[1], x.shape[2], x.shape[3])
        down = self.down(x)
        x, conv_cache[0], time_cache[0] = self.encode(down, conv_cache[0], time_cache[0])
        x, frame_cache = self.path(x, frame_cache)
        x, conv_cache[1], time_cache[1] = self.decode(x + down, conv_cache[1], time_cache[1])
        x = self.up(x)
        x = torch.cat([x[..., :LOW], self.synthesis(x[..., LOW:])], -1)
        enhanced = torch.stack([real * x[:, 0] - imaginary * x[:, 1], imaginary * x[:, 0] + real * x[:, 1]], 1)
        return enhanced.permute(0, 3, 2, 1), conv_cache, time_cache, frame_cache


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    model = Denoiser().eval()
    spread_batch_norms(model)
    states = [torch.zeros(shape) for shape in STATES.values()]
    frames = torch.randn(FRAMES, 1, BINS, 1, 2)
    torch.onnx.export(model, (frames[0], *(s.clone() for s in states)), os.path.join(folder, "model.onnx"),
                      opset_version=11, input_names=["spectrum", *STATES],
                      output_names=["enhanced", *(name + "_out" for name in STATES)])
    enhanced = []
    with torch.no_grad():
        for frame in frames:
            one, *states = model(frame, *(s.clone() for s in states))
            enhanced.append(one)
    tensors = {"frames": frames, "enhanced": torch.stack(enhanced), **dict(zip(STATES, states))}
    write_tensors(os.path.join(folder, "frames.safetensors"),
                  {name: t.contiguous().numpy() for name, t in tensors.items()})


if __name__ == "__main__":
    main()
