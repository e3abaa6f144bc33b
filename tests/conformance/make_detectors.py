#!/usr/bin/env python3
"""Writes tests/data/onnx/NAME/: heads of detectors as PyTorch exports them, with an input and the boxes (on 0..1) and scores that
PyTorch decodes of them, in the place of the file's outputs; and detector.json, which says how.

    make_detectors.py OUT_DIR

Needs Debian's python3-torch and python3-onnx.
"""
import json
import os
import sys

import torch
from torch import nn

from make_exported import write_tensor

HEIGHT, WIDTH, STRIDE, CLASSES = 32, 48, 8, 3
ROWS, COLUMNS = HEIGHT // STRIDE, WIDTH // STRIDE
IMAGE = {"mean": [0.5], "std": [0.5]}


class Heads(nn.Module):
    """Two feature maps of one backbone."""

    def __init__(self, anchors, numbers):
        super().__init__()
        self.anchors = anchors
        self.body = nn.Conv2d(3, 8, STRIDE, STRIDE)
        self.boxes = nn.Conv2d(8, anchors * numbers, 1)
        self.scores = nn.Conv2d(8, anchors * CLASSES, 1)

    def forward(self, x):
        x = torch.relu(self.body(x))
        return self.boxes(x), self.scores(x)


class ChannelsLast(Heads):
    """TensorFlow's images; [1,anchors,rows,columns,numbers], as YOLOv5 has them before its last layer."""

    def forward(self, x):
        split = lambda y: y.view(1, self.anchors, -1, ROWS, COLUMNS).permute(0, 1, 3, 4, 2)
        boxes, scores = super().forward(x.permute(0, 3, 1, 2))
        return split(boxes), split(scores)


class Flat(Heads):
    """[1,numbers,rows*columns], sigmoids already taken."""

    def forward(self, x):
        boxes, scores = super().forward(x)
        return boxes.flatten(2), scores.flatten(2).sigmoid()


def centres(cell):
    y, x = torch.meshgrid(torch.arange(ROWS), torch.arange(COLUMNS), indexing="ij")
    return (x + cell) * STRIDE, (y + cell) * STRIDE


def on_0_to_1(left, top, right, bottom):
    return torch.stack([left / WIDTH, top / HEIGHT, right / WIDTH, bottom / HEIGHT], -1)


def decode_maps(boxes, scores):
    x, y = centres(0.5)
    distances = boxes.view(2, 4, ROWS, COLUMNS) * STRIDE
    corners = on_0_to_1(x - distances[:, 0], y - distances[:, 1], x + distances[:, 2], y + distances[:, 3])
    by_place = lambda t: t.permute(1, 2, 0, 3).reshape(1, -1, t.shape[-1])
    return by_place(corners), by_place(scores.view(2, CLASSES, ROWS, COLUMNS).permute(0, 2, 3, 1).sigmoid())


ANCHORS = [[10, 14], [23, 27]]


def decode_last(boxes, scores):
    x, y = centres(0)
    t = boxes[0].sigmoid()
    sizes = torch.tensor(ANCHORS, dtype=torch.float32)
    w, h = [(2 * t[..., 2 + i]) ** 2 * sizes[:, i].view(2, 1, 1) for i in (0, 1)]
    x, y = x + (2 * t[..., 0] - 0.5) * STRIDE, y + (2 * t[..., 1] - 0.5) * STRIDE
    by_place = lambda t: t.permute(1, 2, 0, 3).reshape(1, -1, t.shape[-1])
    return by_place(on_0_to_1(x - w / 2, y - h / 2, x + w / 2, y + h / 2)), by_place(scores[0].sigmoid())


def decode_flat(boxes, scores):
    x, y = [c.flatten() for c in centres(0)]
    bins = boxes[0].view(4, 8, -1).softmax(1)
    d = (bins * torch.arange(8).view(1, 8, 1)).sum(1) * STRIDE
    return on_0_to_1(x - d[0], y - d[1], x + d[2], y + d[3])[None], scores.transpose(1, 2)


CASES = {
    "detector_maps": (Heads(2, 4), decode_maps, (1, 3, HEIGHT, WIDTH),
                      {"scores": {}, "boxes": {"form": "distances"}, "anchors": {"per_cell": 2}}),
    "detector_channels_last": (ChannelsLast(2, 4), decode_last, (1, HEIGHT, WIDTH, 3),
                               {"scores": {}, "boxes": {"form": "sigmoid_square"},
                                "anchors": {"sizes": [ANCHORS]}}),
    "detector_bins": (Flat(1, 32), decode_flat, (1, 3, HEIGHT, WIDTH),
                      {"scores": {"layout": "first"}, "boxes": {"layout": "first", "form": "distances", "bins": 8},
                       "anchors": {"cell": 0}}),
}


def main():
    for name, (model, decode, size, detector) in CASES.items():
        torch.manual_seed(0)
        for parameter in model.parameters():
            parameter.data = 0.3 * torch.randn_like(parameter)
        x = torch.randn(*size)
        data = os.path.join(sys.argv[1], name, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        torch.onnx.export(model.eval(), (x,), os.path.join(sys.argv[1], name, "model.onnx"), opset_version=17,
                          input_names=["input"], output_names=["boxes", "scores"])
        with torch.no_grad():
            boxes, scores = decode(*model(x))
        for file, value in (("input_0", x), ("output_0", boxes), ("output_1", scores)):
            write_tensor(os.path.join(data, file + ".pb"), value, {"input_0": "input", "output_0": "boxes"}.get(file, "scores"))
        for part in ("scores", "boxes"):
            detector[part]["outputs"] = part
        detector.update(strides=[STRIDE], image=IMAGE)
        with open(os.path.join(sys.argv[1], name, "detector.json"), "w") as f:
            json.dump(detector, f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
