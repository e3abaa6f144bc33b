#!/usr/bin/env python3
"""Writes torchvision's networks as ncnn reads them: the layers that pnnx would write, with the weights of export_peers.py.

    ncnn_network.py NETWORK.onnx OUT.param      OUT.bin beside it; needs python3-onnx, for transformers python3-torch

Convolutional networks are made from the nodes of the .onnx. Of ConvNeXt and ViT it writes what is in the PyTorch modules,
of which the .onnx has pieces only. pnnx writes their matrix products as Gemm.
"""
import os
import struct
import sys

import numpy as np

HARD = "{0}=1.666667e-01 {1}=5.000000e-01"  # PyTorch's hard sigmoid: x / 6 + 1 / 2


class Network:
    def __init__(self):
        self.layers = []  # kind, inputs, output, parameters
        self.weights = []
        self.count = 0

    def add(self, kind, inputs, parameters="", weights=(), output=None):
        """weights: arrays, or (array,) of those that ncnn stores with a flag before them: 0, float32."""
        self.count += 1
        output = output or f"v{self.count}"
        self.layers.append((kind, list(inputs), output, parameters))
        for entry in weights:
            flagged = isinstance(entry, tuple)
            if flagged:
                self.weights.append(struct.pack("<I", 0))
            self.weights.append(np.ascontiguousarray(entry[0] if flagged else entry, dtype="<f4").tobytes())
        return output

    def split(self):
        """Inserts a Split after each value with several readers, as ncnn requires."""
        readers = {}
        for _, inputs, _, _ in self.layers:
            for name in inputs:
                readers[name] = readers.get(name, 0) + 1
        taken = {}
        for kind, inputs, output, parameters in self.layers:
            sources = []
            for name in inputs:
                if readers[name] > 1:
                    taken[name] = taken.get(name, -1) + 1
                    name = f"{name}_{taken[name]}"
                sources.append(name)
            yield kind, sources, [output], parameters
            if readers.get(output, 0) > 1:
                yield "Split", [output], [f"{output}_{i}" for i in range(readers[output])], ""

    def write(self, path):
        layers = list(self.split())
        blobs = sum(len(outputs) for _, _, outputs, _ in layers)
        with open(path, "w") as f:
            f.write(f"7767517\n{len(layers)} {blobs}\n")
            for i, (kind, inputs, outputs, parameters) in enumerate(layers):
                f.write(" ".join([kind, f"l{i}", str(len(inputs)), str(len(outputs)), *inputs, *outputs, parameters]) + "\n")
        with open(os.path.splitext(path)[0] + ".bin", "wb") as f:
            f.write(b"".join(self.weights))


class FromOnnx:
    """Converts node by node; an activation after a convolution is fused into it if ncnn supports that."""

    def __init__(self, path):
        import onnx
        from onnx import numpy_helper
        graph = onnx.load(path).graph
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.nodes = []
        for node in graph.node:
            if node.op_type == "Constant":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
            elif node.op_type == "Identity" and node.input[0] in self.constants:  # constants that are equal
                self.constants[node.output[0]] = self.constants[node.input[0]]
            else:
                self.nodes.append(node)
        self.readers = {}
        for node in self.nodes:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.network = Network()
        self.values = {graph.input[0].name: self.network.add("Input", [], "0=224 1=224 2=3", output="input")}
        self.done = set()

    def make(self):
        for node in self.nodes:
            if node.output[0] not in self.done:
                self.finish(node, self.layer(node))
        return self.network

    def finish(self, node, value):
        self.done.add(node.output[0])
        self.values[node.output[0]] = value

    def only_reader(self, node):
        readers = self.readers.get(node.output[0], [])
        return readers[0] if len(readers) == 1 else None

    def clip(self, node):
        return [float(self.constants[name]) for name in node.input[1:3]]

    def layer(self, node):
        kind = node.op_type
        attributes = {a.name: a for a in node.attribute}
        inputs = [self.values[name] for name in node.input if name in self.values]
        add = self.network.add
        if kind == "Conv":
            return self.convolution(node, attributes, inputs)
        if kind == "Gemm":
            weight, bias = self.constants[node.input[1]], self.constants[node.input[2]]
            return add("InnerProduct", inputs, f"0={weight.shape[0]} 1=1 2={weight.size}", [(weight,), bias])
        if kind == "Sigmoid":  # x * sigmoid(x) is Swish
            reader = self.only_reader_beside(node)
            if reader is not None:
                value = add("Swish", inputs)
                self.finish(reader, value)
                return value
            return add("Sigmoid", inputs)
        if kind == "MaxPool":
            side, stride, pad = (attributes[n].ints[0] for n in ("kernel_shape", "strides", "pads"))
            return add("Pooling", inputs, f"0=0 1={side} 2={stride} 3={pad} 5=1")
        if kind in ("GlobalAveragePool", "ReduceMean"):
            return add("Pooling", inputs, "0=1 4=1")
        if kind in ("Flatten", "Identity"):
            return inputs[0]
        simple = {"Add": ("BinaryOp", "0=0"), "Mul": ("BinaryOp", "0=2"), "Relu": ("ReLU", ""),
                  "HardSigmoid": ("HardSigmoid", HARD.format(0, 1)), "HardSwish": ("HardSwish", HARD.format(0, 1))}
        if kind not in simple:
            sys.exit(f"ncnn_network.py: no layer is known for {kind} ({node.name})")
        return add(simple[kind][0], inputs, simple[kind][1])

    def only_reader_beside(self, sigmoid):
        """The Mul of this sigmoid and its own input, if that is its only reader."""
        reader = self.only_reader(sigmoid)
        if reader is not None and reader.op_type == "Mul" and sigmoid.input[0] in reader.input:
            return reader
        return None

    def convolution(self, node, attributes, inputs):
        weight = self.constants[node.input[1]]
        bias = [self.constants[node.input[2]]] if len(node.input) > 2 else []
        groups = attributes["group"].i
        parameters = (f"0={weight.shape[0]} 1={weight.shape[3]} 11={weight.shape[2]} 3={attributes['strides'].ints[0]} "
                      f"4={attributes['pads'].ints[0]} 5={len(bias)} 6={weight.size}")
        if groups > 1:
            parameters += f" 7={groups}"
        reader = self.only_reader(node)
        activation = ""
        if reader is not None:
            if reader.op_type == "Relu":
                activation = " 9=1"
            elif reader.op_type == "Clip":
                activation = " 9=3 -23310=2,{:e},{:e}".format(*self.clip(reader))
            elif reader.op_type == "Sigmoid" and self.only_reader_beside(reader) is None:
                activation = " 9=4"
            elif reader.op_type == "HardSwish":
                activation = " 9=6 -23310=2,1.666667e-01,5.000000e-01"
        kind = "ConvolutionDepthWise" if groups > 1 else "Convolution"
        value = self.network.add(kind, inputs, parameters + activation, [(weight,), *bias])
        if activation:
            self.finish(reader, value)
        return value


class FromTorch:
    """Layers of PyTorch's modules, by the names of their weights."""

    def __init__(self, name):
        sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "conformance"))
        from torchvision_networks import build
        self.state = {key: value.numpy() for key, value in build(name, 224).state_dict().items()}
        self.network = Network()
        self.add = self.network.add
        self.input = self.add("Input", [], "0=224 1=224 2=3", output="input")

    def parameters_of(self, path):
        return self.state[path + ".weight"], self.state[path + ".bias"]

    def conv(self, x, path, stride, pad):
        weight, bias = self.parameters_of(path)
        groups = weight.shape[0] if weight.shape[1] == 1 else 1
        parameters = f"0={weight.shape[0]} 1={weight.shape[3]} 3={stride} 4={pad} 5=1 6={weight.size}"
        if groups == 1:
            return self.add("Convolution", [x], parameters, [(weight,), bias])
        return self.add("ConvolutionDepthWise", [x], parameters + f" 7={groups}", [(weight,), bias])

    def linear(self, x, path):
        weight, bias = self.parameters_of(path)
        return self.add("Gemm", [x], f"3=1 5=1 6=1 8={weight.shape[0]} 9={weight.shape[1]} 10=4", [(weight,), (bias,)])

    def layer_norm(self, x, path):
        weight, bias = self.parameters_of(path)
        return self.add("LayerNorm", [x], f"0={weight.size} 1=1.000000e-06 2=1", [weight, bias])

    def layer_norm_of_channels(self, x, path):
        return self.add("Permute", [self.layer_norm(self.add("Permute", [x], "0=3"), path)], "0=4")

    def sum(self, x, y):
        return self.add("BinaryOp", [x, y], "0=0")

    def mlp(self, x, first, second):
        return self.linear(self.add("GELU", [self.linear(x, first)], "0=0"), second)


def convnext_tiny():
    net = FromTorch("convnext_tiny")
    x = net.layer_norm_of_channels(net.conv(net.input, "features.0.0", 4, 0), "features.0.1")
    side = 56
    for stage, depth in ((1, 3), (3, 3), (5, 9), (7, 3)):
        if stage > 1:
            x = net.layer_norm_of_channels(x, f"features.{stage - 1}.0")
            x = net.conv(x, f"features.{stage - 1}.1", 2, 0)
            side //= 2
        for i in range(depth):
            path = f"features.{stage}.{i}."
            channels = net.state[path + "block.0.weight"].shape[0]
            y = net.add("Permute", [net.conv(x, path + "block.0", 1, 3)], "0=3")
            y = net.layer_norm(y, path + "block.2")
            y = net.add("Reshape", [y], f"0={channels} 1={side * side}")
            y = net.mlp(y, path + "block.3", path + "block.5")
            y = net.add("Permute", [net.add("Reshape", [y], f"0={channels} 1={side} 2={side}")], "0=4")
            y = net.add("Scale", [y], f"0={channels}", [net.state[path + "layer_scale"]])
            x = net.sum(y, x)
    x = net.layer_norm(net.add("Pooling", [x], "0=1 4=1"), "classifier.0")
    weight, bias = net.parameters_of("classifier.2")  # of a vector, which Gemm would treat as a column
    net.add("InnerProduct", [x], f"0={weight.shape[0]} 1=1 2={weight.size}", [(weight,), bias])
    return net.network


def vit_s_16():
    net = FromTorch("vit_s_16")
    weight, bias = net.parameters_of("conv_proj")
    width = weight.shape[0]
    token = net.add("MemoryData", [], f"0={width} 1=1", [net.state["class_token"]])
    positions = net.add("MemoryData", [], f"0={width} 1=197", [net.state["encoder.pos_embedding"]])
    x = net.add("Convolution", [net.input], f"0={width} 1=16 3=16 5=1 6={weight.size}", [(weight,), bias])
    x = net.add("Permute", [net.add("Reshape", [x], f"0=196 1={width}")], "0=1")
    x = net.sum(net.add("Concat", [token, x], "0=0"), positions)
    for i in range(12):
        path = f"encoder.layers.encoder_layer_{i}."
        weight, bias = net.state[path + "self_attention.in_proj_weight"], net.state[path + "self_attention.in_proj_bias"]
        weights = []
        for w, b in zip(np.split(weight, 3), np.split(bias, 3)):
            weights += [(w,), b]
        weight, bias = net.parameters_of(path + "self_attention.out_proj")
        y = net.add("MultiHeadAttention", [net.layer_norm(x, path + "ln_1")],
                    f"0={width} 1=6 2={width * width} 3={width} 4={width}", weights + [(weight,), bias])
        x = net.sum(x, y)
        first, second = (path + f"mlp.{k}" for k in mlp_of(net.state, path))
        x = net.sum(x, net.mlp(net.layer_norm(x, path + "ln_2"), first, second))
    x = net.layer_norm(x, "encoder.ln")
    net.linear(net.add("Crop", [x], "-23309=1,0 -23310=1,1 -23311=1,0"), "heads.head")
    return net.network


def mlp_of(state, path):
    """torchvision has counted the two linears of a block's MLP in two ways: 0 and 3, linear_1 and linear_2."""
    return ("0", "3") if path + "mlp.0.weight" in state else ("linear_1", "linear_2")


MODULES = {"convnext_tiny": convnext_tiny, "vit_s_16": vit_s_16}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, out = sys.argv[1:]
    name = os.path.splitext(os.path.basename(source))[0]
    network = MODULES[name]() if name in MODULES else FromOnnx(source).make()
    network.write(out)


if __name__ == "__main__":
    main()
