#!/usr/bin/env python3
"""Writes tests/data/onnx/loops/NAME/: networks whose loops stay loops, as PyTorch's scripting writes them, with inputs
and PyTorch's outputs; and Scans, whose outputs NumPy computes step by step.

    make_loops.py OUT_DIR

Needs Debian's python3-torch and python3-onnx. The folders look like the ONNX project's node tests.
"""
import os
import sys
import warnings
from typing import List

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn


class Cell(nn.Module):
    """A gated cell that no recurrent operator of ONNX computes."""

    def __init__(self, width, hidden):
        super().__init__()
        self.input = nn.Linear(width, hidden)
        self.state = nn.Linear(hidden, hidden)
        self.gate = nn.Linear(width + hidden, hidden)

    def forward(self, x, h):
        z = torch.sigmoid(self.gate(torch.cat([x, h], -1)))
        return (1 - z) * h + z * torch.tanh(self.input(x) + self.state(h))


class Stacked(torch.jit.ScriptModule):
    """Collects the states of all steps in a list."""

    def __init__(self):
        super().__init__()
        self.cell = Cell(8, 16)
        self.out = nn.Linear(16, 4)

    @torch.jit.script_method
    def forward(self, x):
        h = torch.zeros(x.shape[1], 16)
        outs: List[Tensor] = []
        for t in range(x.shape[0]):
            h = self.cell(x[t], h)
            outs.append(h)
        return self.out(torch.stack(outs, 1)), h


class Exchanged(torch.jit.ScriptModule):
    """The next value of a state is another state. Steps are the second dimension."""

    def __init__(self):
        super().__init__()
        self.cell = Cell(8, 16)

    @torch.jit.script_method
    def forward(self, x):
        a = torch.zeros(x.shape[0], 16)
        b = torch.ones(x.shape[0], 16)
        for t in range(x.shape[1]):
            a, b = b, self.cell(x[:, t], a)
        return a, b


class While(torch.jit.ScriptModule):
    """Ends when a value is small."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    @torch.jit.script_method
    def forward(self, x):
        steps = 0
        while bool(x.abs().max() > 0.3):
            x = torch.tanh(self.layer(x) * 0.5) * 0.5
            steps += 1
        return x, torch.tensor(steps)


class Counted(torch.jit.ScriptModule):
    """An input is the number of steps; another loop runs in each."""

    def __init__(self):
        super().__init__()
        self.cell = Cell(8, 8)

    @torch.jit.script_method
    def forward(self, x, steps: Tensor):
        h = torch.zeros(x.shape[1], 8)
        for t in range(int(steps)):
            row = x[t]
            for _ in range(3):
                h = self.cell(row, h)
        return h


def scan():
    """Two scanned inputs, one from its end and along its second dimension; outputs likewise."""
    steps, width = 400, 3
    generator = np.random.default_rng(5)
    x, y = generator.normal(size=(steps, width)), generator.normal(size=(width, steps))
    state = np.zeros(width)
    sums, products = [], []
    for t in range(steps):
        state = np.tanh(0.5 * state + x[t] * y[:, steps - 1 - t])
        sums.append(state + x[t])
        products.append(state * 2)
    outputs = [state, np.stack(sums[::-1]), np.stack(products, 1)]
    value = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    body = helper.make_graph(
        [helper.make_node("Mul", ["state", "half"], ["kept"]), helper.make_node("Mul", ["a", "b"], ["product"]),
         helper.make_node("Add", ["kept", "product"], ["sum"]), helper.make_node("Tanh", ["sum"], ["next"]),
         helper.make_node("Add", ["next", "a"], ["first"]), helper.make_node("Add", ["next", "next"], ["second"])],
        "body", [value("state", width), value("a", width), value("b", width)],
        [value("next", width), value("first", width), value("second", width)],
        [numpy_helper.from_array(np.float32(0.5), "half")])
    node = helper.make_node("Scan", ["initial", "x", "y"], ["last", "sums", "products"], body=body, num_scan_inputs=2,
                            scan_input_axes=[0, 1], scan_input_directions=[0, 1], scan_output_axes=[0, 1],
                            scan_output_directions=[1, 0])
    graph = helper.make_graph([node], "scan", [value("x", "T", width), value("y", width, "T")],
                              [value("last", width), value("sums", "T", width), value("products", width, "T")],
                              [numpy_helper.from_array(np.zeros(width, np.float32), "initial")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])
    return model.SerializeToString(), {"x": x, "y": y}, dict(zip(["last", "sums", "products"], outputs))


def write(folder, model, inputs, outputs):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model)
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for i, (name, values) in enumerate(tensors.items()):
            narrow = values.astype(np.float32) if values.dtype == np.float64 else values
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(np.array(narrow, order="C"), name).SerializeToString())


def export(folder, network, inputs, dynamic):
    network.eval()
    path = os.path.join(folder, "model.onnx")
    os.makedirs(folder, exist_ok=True)
    with torch.no_grad():
        results = network(*inputs.values())
        results = results if isinstance(results, tuple) else (results,)
        names = [f"y{i}" for i in range(len(results))]
        torch.onnx.export(network, tuple(inputs.values()), path, opset_version=14, input_names=list(inputs),
                          output_names=names, dynamic_axes=dynamic)
    with open(path, "rb") as file:
        model = file.read()
    write(folder, model, {k: v.numpy() for k, v in inputs.items()}, {k: v.numpy() for k, v in zip(names, results)})


def main():
    warnings.filterwarnings("ignore")
    out = sys.argv[1]
    torch.manual_seed(1)
    export(f"{out}/stacked", Stacked(), {"x": torch.randn(150, 2, 8)}, {"x": {0: "T", 1: "N"}})
    export(f"{out}/exchanged", Exchanged(), {"x": torch.randn(3, 151, 8)}, {"x": {0: "N", 1: "T"}})
    export(f"{out}/while", While(), {"x": torch.randn(4, 6)}, {})
    export(f"{out}/counted", Counted(), {"x": torch.randn(50, 2, 8), "steps": torch.tensor(31)}, {})
    write(f"{out}/scan", *scan())


if __name__ == "__main__":
    main()
