#!/usr/bin/env python3
"""Writes tests/data/onnx/quantised/NAME/: networks with QuantizeLinear and DequantizeLinear around each operator (QDQ)
as the exporters of ONNX Runtime, Olive and PyTorch place them, of QLinear operators, and of layers whose activations a
run rounds (DynamicQuantizeLinear), with inputs and outputs.

    FERRY_PEERS=FOLDER /usr/bin/python3 tests/conformance/make_quantised.py tests/data/onnx/quantised

Needs what make_microsoft.py needs. The folders look like the ONNX project's node tests. The outputs are ONNX Runtime's
without its optimizer: it computes what lies between the conversions in float32.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = {np.uint8: (0, 255), np.int8: (-128, 127)}


class Network:
    """A graph under construction. Activations are quantised to `activations`, weights to `weights`."""

    def __init__(self, name, activations=np.uint8, weights=np.int8, per_channel=True, zero=128):
        self.name = name
        self.activations, self.weights, self.per_channel = activations, weights, per_channel
        self.zero = zero  # of unsigned weights
        self.random = np.random.default_rng(sum(name.encode()))
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, []
        self.scales = {}  # of real values: names of scale and zero point
        self.integers = {}

    def fresh(self):
        return f"v{len(self.nodes)}_{len(self.constants)}"

    def constant(self, array):
        name = self.fresh()
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        out = self.fresh()
        self.nodes.append(helper.make_node(op, inputs, [out], name=f"n{len(self.nodes)}", domain=domain, **attributes))
        return out

    def input(self, *dims):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = (self.random.standard_normal(dims) * 0.7).astype(np.float32)
        return name

    # ---- quantisation

    def affine(self, low, high, kind=None):
        """Names of a scale and a zero point whose integers cover the range."""
        kind = kind or self.activations
        least, most = LIMITS[kind]
        scale = np.float32((high - low) / 255)
        zero = int(np.clip(round(least - low / float(scale)), least, most))
        return self.constant(scale), self.constant(kind(zero))

    def qdq(self, x, low=-2.0, high=2.0, like=None):
        scale, zero = self.scales[like] if like else self.affine(low, high)
        integers = self.node("QuantizeLinear", [x, scale, zero])
        out = self.node("DequantizeLinear", [integers, scale, zero])
        self.scales[out], self.integers[out] = (scale, zero), integers
        return out

    def weight(self, *dims, axis=0):
        """(real value, integers, scale, zero point) of a random weight; channels along `axis`."""
        low, high = (-127, 128) if self.weights == np.int8 else (1 if self.zero == 128 else 0, 256)
        integers = self.random.integers(low, high, dims).astype(self.weights)
        fan = np.prod(dims) / dims[axis]
        count = dims[axis] if self.per_channel else 1
        scales = (self.random.uniform(0.6, 1.4, count) / 127 / np.sqrt(fan)).astype(np.float32)
        zeros = np.full(count, 0 if self.weights == np.int8 else self.zero, self.weights)
        if not self.per_channel:
            scales, zeros = scales[0], zeros[0]
        names = self.constant(integers), self.constant(scales), self.constant(zeros)
        attributes = {"axis": axis} if self.per_channel else {}
        return self.node("DequantizeLinear", names, **attributes), *names, scales

    def bias(self, x, scales, count):
        """(real value, integers) of an int32 bias with the product of the scales."""
        x_scale = numpy_helper.to_array(next(c for c in self.constants if c.name == self.scales[x][0]))
        product = (np.broadcast_to(scales, (count,)) * x_scale).astype(np.float32)
        integers = self.constant((self.random.standard_normal(count) * 0.1 / product).astype(np.int32))
        scale, zero = self.constant(product), self.constant(np.zeros(count, np.int32))
        return self.node("DequantizeLinear", [integers, scale, zero], axis=0), integers

    def conv(self, x, channels, kernel, activation=None, group=1, inputs=None, qlinear=False, low=-2.0, high=2.0,
             **attributes):
        real, integers, scale, zero, scales = self.weight(channels, inputs // group, kernel, kernel)
        bias, bias_integers = self.bias(x, scales, channels)
        attributes = dict(group=group, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, **attributes)
        if qlinear:
            y_scale, y_zero = self.affine(low, high)
            out = self.node("QLinearConv", [self.integers[x], *self.scales[x], integers, scale, zero, y_scale, y_zero,
                                            bias_integers], **attributes)
            return self.known(out, y_scale, y_zero)
        y = self.node("Conv", [x, real, bias], **attributes)
        if activation == "Clip":
            y = self.node("Clip", [y, self.constant(np.float32(0)), self.constant(np.float32(6))])
        elif activation:
            y = self.node(activation, [y])
        return self.qdq(y, low, high)

    def known(self, integers, scale, zero):
        """The real value of integers that a QLinear operator computes."""
        out = self.node("DequantizeLinear", [integers, scale, zero])
        self.scales[out], self.integers[out] = (scale, zero), integers
        return out

    def qlinear(self, op, parts, low=-2.0, high=2.0, **attributes):
        y_scale, y_zero = self.affine(low, high)
        inputs = [name for x in parts for name in (self.integers[x], *self.scales[x])]
        out = self.node(op, inputs + [y_scale, y_zero], domain="com.microsoft", **attributes)
        return self.known(out, y_scale, y_zero)

    # ---- activations that a run rounds

    def rounded(self, x):
        """Names of integers, scale and zero point."""
        names = [self.fresh() + part for part in ("", "_scale", "_zero_point")]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], names, name=f"n{len(self.nodes)}"))
        return names

    def real(self, sums, scale, weight_scale):
        """Of sums of products, as quantize_dynamic() of ONNX Runtime writes it."""
        return self.node("Mul", [self.node("Cast", [sums], to=TensorProto.FLOAT),
                                 self.node("Mul", [scale, weight_scale])])

    def dynamic_product(self, x, inputs, outputs, form="MatMulInteger"):
        _, integers, scale, zero, _ = self.weight(inputs, outputs, axis=1)
        bias = self.constant((self.random.standard_normal(outputs) * 0.1).astype(np.float32))
        if form == "DynamicQuantizeMatMul":
            return self.node(form, [x, integers, scale, zero, bias], domain="com.microsoft")
        rounded, x_scale, x_zero = self.rounded(x)
        if form == "MatMulIntegerToFloat":
            return self.node(form, [rounded, integers, x_scale, scale, x_zero, zero, bias], domain="com.microsoft")
        return self.node("Add", [self.real(self.node(form, [rounded, integers, x_zero, zero]), x_scale, scale), bias])

    def dynamic_conv(self, x, channels, inputs, **attributes):
        _, integers, scale, zero, _ = self.weight(channels, inputs, 3, 3)
        rounded, x_scale, x_zero = self.rounded(x)
        sums = self.node("ConvInteger", [rounded, integers, x_zero, zero], pads=[1] * 4, **attributes)
        return self.real(sums, x_scale, scale)

    def output(self, value):
        self.outputs.append(value)

    def model(self):
        graph = helper.make_graph(
            self.nodes, self.name,
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in self.inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in self.outputs], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="make_quantised")


def classifier(net):
    """A stem, an inverted residual block, pooling and a classifier: every operator between two conversions."""
    x = net.qdq(net.input(2, 3, 16, 16))
    x = net.conv(x, 16, 3, "Relu", inputs=3, strides=[2, 2], low=0.0)
    y = net.conv(x, 32, 1, "Clip", inputs=16, low=0.0)
    y = net.conv(y, 32, 3, "Clip", group=32, inputs=32, low=0.0)
    y = net.conv(y, 16, 1, inputs=32)
    x = net.qdq(net.node("Add", [x, y]), -2.0, 4.0)
    x = net.qdq(net.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]), like=x)
    x = net.qdq(net.node("GlobalAveragePool", [x]), -1.0, 2.0)
    x = net.qdq(net.node("Flatten", [x]), like=x)
    real, *_, scales = net.weight(10, 16)
    bias, _ = net.bias(x, scales, 10)
    net.output(net.qdq(net.node("Gemm", [x, real, bias], transB=1)))


def sparse_conversions(net):
    """Movers without conversions of their own, a bias of floats, and a value that float operators read, too."""
    x = net.qdq(net.input(1, 8, 12, 12))
    real, *_, _ = net.weight(16, 8, 3, 3)
    floats = net.constant((net.random.standard_normal(16) * 0.1).astype(np.float32))
    y = net.qdq(net.node("Relu", [net.node("Conv", [x, real, floats], kernel_shape=[3, 3], pads=[1] * 4)]), 0.0)
    y = net.node("MaxPool", [y], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    y = net.node("Reshape", [y, net.constant(np.array([1, 16, 36], np.int64))])
    y = net.node("Transpose", [y], perm=[0, 2, 1])
    real, *_, _ = net.weight(16, 24, axis=1)
    products = net.node("MatMul", [net.qdq(y, 0.0), real])
    net.output(net.node("Softmax", [products], axis=-1))
    net.output(net.qdq(products))


def functions(net):
    """Functions of one value, halves of a map, products, and what has no integer form."""
    x = net.qdq(net.input(1, 8, 6, 6))
    halves = [net.qdq(net.node("Slice", [x] + [net.constant(np.array([v], np.int64)) for v in (at, at + 4, 1)]), like=x)
              for at in (0, 4)]
    gate = net.qdq(net.node("Sigmoid", [halves[0]]), 0.0, 1.0)
    y = net.qdq(net.node("Mul", [gate, halves[1]]))
    y = net.qdq(net.node("Concat", [y, net.qdq(net.node("HardSwish", [halves[0]]), like=y)], axis=1), like=y)
    y = net.qdq(net.node("LeakyRelu", [y], alpha=0.2))
    y = net.qdq(net.node("AveragePool", [y], kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4))
    nothing = net.constant(np.zeros(0, np.float32))
    sizes = net.constant(np.array([1, 8, 12, 12], np.int64))
    near = net.qdq(net.node("Resize", [y, nothing, nothing, sizes], mode="nearest",
                            coordinate_transformation_mode="asymmetric", nearest_mode="floor"), like=y)
    smooth = net.qdq(net.node("Resize", [y, nothing, nothing, sizes], mode="linear"), like=y)
    net.output(net.qdq(net.node("Sub", [near, smooth])))
    net.output(net.qdq(net.node("ReduceMean", [near], axes=[2, 3], keepdims=0), -1.0, 1.0))


def qlinear_classifier(net):
    """The operators of ONNX Runtime's format QOperator."""
    x = net.qdq(net.input(2, 3, 16, 16))
    x = net.conv(x, 16, 3, inputs=3, strides=[2, 2], qlinear=True)
    y = net.conv(x, 16, 3, group=16, inputs=16, qlinear=True)
    y = net.conv(y, 16, 1, inputs=16, qlinear=True)
    y = net.qlinear("QLinearMul", [y, net.qlinear("QLinearSigmoid", [y], 0.0, 1.0)])
    x = net.qlinear("QLinearAdd", [x, y], -3.0, 3.0)
    x = net.known(net.node("MaxPool", [net.integers[x]], kernel_shape=[2, 2], strides=[2, 2]), *net.scales[x])
    x = net.qlinear("QLinearGlobalAveragePool", [x], -1.0, 1.0)
    x = net.known(net.node("Reshape", [net.integers[x], net.constant(np.array([2, 16], np.int64))]), *net.scales[x])
    net.per_channel = False
    _, integers, scale, zero, _ = net.weight(16, 10, axis=1)
    y_scale, y_zero = net.affine(-2.0, 2.0)
    y = net.node("QLinearMatMul", [net.integers[x], *net.scales[x], integers, scale, zero, y_scale, y_zero])
    net.output(net.known(y, y_scale, y_zero))


def dynamic_tokens(net):
    """What quantize_dynamic() makes of embeddings and a block of a transformer: every form of a linear layer."""
    ids = net.constant(net.random.integers(0, 40, (2, 7)).astype(np.int64))
    per_channel, net.per_channel = net.per_channel, False
    _, table, scale, zero, _ = net.weight(40, 48)
    net.per_channel = per_channel
    indices = net.node("Add", [ids, net.node("Cast", [net.node("Floor", [net.input(1, 1)])], to=TensorProto.INT64)])
    indices = net.node("Clip", [indices, net.constant(np.int64(0)), net.constant(np.int64(39))])
    x = net.node("DequantizeLinear", [net.node("Gather", [table, indices]), scale, zero])
    x = net.node("Add", [net.node("Mul", [x, net.constant(np.float32(8))]), net.input(2, 7, 48)])
    y = net.node("Relu", [net.dynamic_product(x, 48, 96)])
    x = net.node("Add", [x, net.dynamic_product(y, 96, 48, "MatMulIntegerToFloat")])
    net.output(net.dynamic_product(x, 48, 24, "DynamicQuantizeMatMul"))


def dynamic_patches(net):
    """A stem by ConvInteger, whose windows are cut into tokens for a linear layer."""
    per_channel, net.per_channel = net.per_channel, False
    x = net.node("Relu", [net.dynamic_conv(net.input(1, 3, 12, 12), 16, 3, strides=[2, 2])])
    x = net.node("Relu", [net.dynamic_conv(x, 32, 16)])
    net.per_channel = per_channel
    x = net.node("Reshape", [x, net.constant(np.array([1, 32, 36], np.int64))])
    x = net.node("Transpose", [x], perm=[0, 2, 1])
    net.output(net.dynamic_product(x, 32, 24))


CASES = {
    "classifier_u8s8": (classifier, {}),
    "classifier_s8s8": (classifier, {"activations": np.int8}),
    "classifier_u8u8": (classifier, {"weights": np.uint8, "per_channel": False}),
    "classifier_u8u8_wide": (classifier, {"weights": np.uint8, "per_channel": False, "zero": 101}),
    "dynamic_patches_s8": (dynamic_patches, {}),
    "dynamic_patches_u8": (dynamic_patches, {"weights": np.uint8, "per_channel": False, "zero": 119}),
    "dynamic_tokens_s8": (dynamic_tokens, {}),
    "dynamic_tokens_u8": (dynamic_tokens, {"weights": np.uint8, "per_channel": False, "zero": 119}),
    "functions_s8": (functions, {"activations": np.int8}),
    "functions_u8": (functions, {}),
    "qlinear_u8s8": (qlinear_classifier, {}),
    "qlinear_u8u8_wide": (qlinear_classifier, {"weights": np.uint8, "per_channel": False, "zero": 101}),
    "qlinear_u8u8": (qlinear_classifier, {"weights": np.uint8, "per_channel": False}),
    "sparse_conversions": (sparse_conversions, {}),
}


def main():
    target = sys.argv[1]
    networks = []
    for name, (build, options) in CASES.items():
        networks.append(Network(name, **options))
        build(networks[-1])
    with tempfile.TemporaryDirectory() as scratch:
        jobs = []
        for net in networks:
            folder = os.path.join(scratch, net.name)
            os.makedirs(folder)
            onnx.save(net.model(), os.path.join(folder, "model.onnx"))
            for name, array in net.inputs.items():
                array.tofile(os.path.join(folder, name + ".bin"))
            jobs.append({"model": os.path.join(folder, "model.onnx"), "folder": folder,
                         "inputs": [{"name": n, "type": "float32", "dims": a.shape} for n, a in net.inputs.items()]})
        with open(os.path.join(scratch, "jobs.json"), "w") as f:
            json.dump(jobs, f)
        subprocess.run(["node", os.path.join(HERE, "ort_outputs.mjs"), os.path.join(scratch, "jobs.json")], check=True)
        for net in networks:
            write_case(os.path.join(scratch, net.name), os.path.join(target, net.name), net)


def write_case(folder, target, net):
    with open(os.path.join(folder, "outputs.json")) as f:
        outputs = json.load(f)
    if "error" in outputs:
        sys.exit(f"{net.name}: {outputs['error']}")
    data = os.path.join(target, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    onnx.save(net.model(), os.path.join(target, "model.onnx"))
    by_name = {o["name"]: o for o in outputs}
    arrays = [("input", n, a) for n, a in net.inputs.items()]
    arrays += [("output", n, np.fromfile(os.path.join(folder, n + ".bin"), np.float32).reshape(by_name[n]["dims"]))
               for n in net.outputs]
    counts = {}
    for kind, name, array in arrays:
        index = counts[kind] = counts.get(kind, -1) + 1
        with open(os.path.join(data, f"{kind}_{index}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(array, name).SerializeToString())


if __name__ == "__main__":
    main()
