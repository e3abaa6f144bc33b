#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/onnx/taps: a network exported by PyTorch, and a fixture of its modules' results in float64.

    PYTHONPATH=bindings/python tests/conformance/make_taps.py tests/data/onnx/taps
"""
import os, sys

import ferry, torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.act, self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1), nn.GELU(), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        return x + self.conv2(self.act(self.conv1(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(Block(8), Block(8))
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 5)

    def forward(self, x):
        x = self.layer1(torch.relu(self.bn(self.stem(x))))
        return self.head(self.norm(x.flatten(2).mean(2)))


torch.manual_seed(3)
net = Net().eval()
net.bn.running_mean.uniform_(-0.1, 0.1)
net.bn.running_var.uniform_(0.5, 1.5)
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
torch.onnx.export(net, torch.zeros(1, 3, 16, 16), os.path.join(folder, "model.onnx"), input_names=["input"],
                  output_names=["logits"])
ferry.fixture(net, (1, 3, 16, 16), os.path.join(folder, "fixture"))
