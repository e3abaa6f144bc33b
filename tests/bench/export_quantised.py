#!/usr/bin/python3
"""Writes MobileNetV2 and ResNet50 of random weights as QDQ networks, for compare_peers:

    /usr/bin/python3 tests/bench/export_quantised.py FOLDER
    tests/bench/compare_peers --models FOLDER/mobilenet_v2_u8s8.onnx,FOLDER/mobilenet_v2_u8u8.onnx

u8s8 has uint8 activations and int8 weights per channel, u8u8 uint8 weights with a zero point. Needs python3-onnx and
python3-numpy. Values do not change times; shapes are the published ones.
"""
import os
import sys

import numpy as np
import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
from make_quantised import Network  # noqa: E402

KINDS = {"u8s8": {}, "s8s8": {"activations": np.int8}, "u8u8": {"weights": np.uint8, "per_channel": False}}


def classifier(net, x, channels):
    x = net.qdq(net.node("GlobalAveragePool", [x]), 0.0, 2.0)
    x = net.qdq(net.node("Flatten", [x]), like=x)
    real, *_, scales = net.weight(1000, channels)
    net.output(net.qdq(net.node("Gemm", [x, real, net.bias(x, scales, 1000)[0]], transB=1)))


def mobilenet_v2(net):
    x = net.conv(net.qdq(net.input(1, 3, 224, 224)), 32, 3, "Clip", inputs=3, strides=[2, 2], low=0.0)
    width = 32
    for expansion, channels, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                               (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            step, wide, y = stride if i == 0 else 1, width * expansion, x
            if expansion > 1:
                y = net.conv(y, wide, 1, "Clip", inputs=width, low=0.0)
            y = net.conv(y, wide, 3, "Clip", group=wide, inputs=wide, strides=[step] * 2, low=0.0)
            y = net.conv(y, channels, 1, inputs=wide)
            x = net.qdq(net.node("Add", [x, y])) if step == 1 and width == channels else y
            width = channels
    classifier(net, net.conv(x, 1280, 1, "Clip", inputs=320, low=0.0), 1280)


def resnet50(net):
    x = net.conv(net.qdq(net.input(1, 3, 224, 224)), 64, 7, "Relu", inputs=3, strides=[2, 2], low=0.0)
    x = net.qdq(net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), like=x)
    width = 64
    for inner, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            step = [stride if i == 0 else 1] * 2
            y = net.conv(x, inner, 1, "Relu", inputs=width, low=0.0)
            y = net.conv(y, inner, 3, "Relu", inputs=inner, strides=step, low=0.0)
            y = net.conv(y, 4 * inner, 1, inputs=inner)
            if i == 0:
                x = net.conv(x, 4 * inner, 1, inputs=width, strides=step)
            x = net.qdq(net.node("Relu", [net.node("Add", [x, y])]), 0.0)
            width = 4 * inner
    classifier(net, x, width)


def main():
    for build in (mobilenet_v2, resnet50):
        for kind, options in KINDS.items():
            net = Network(f"{build.__name__}_{kind}", **options)
            build(net)
            onnx.save(net.model(), os.path.join(sys.argv[1], net.name + ".onnx"))


if __name__ == "__main__":
    main()
