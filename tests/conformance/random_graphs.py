#!/usr/bin/env python3
"""Makes random ONNX graphs, and compares Ferry with ONNX Runtime.

    FERRY_PEERS=FOLDER tests/conformance/random_graphs.py --seed 0 --count 500

A graph has an opset, inputs and nodes by chance (random_nodes.py). Each node is run by ONNX Runtime as it is added: it
is kept if that can run it, and if its outputs do not depend on the last digits of its inputs. FOLDER/node_modules has
onnxruntime-node (tests/bench/peers.py installs it). Needs Debian's python3-onnx and node. The exit code is 1 if a graph
differs, or is refused for another reason than those of KNOWN. --write tests/data/onnx/random writes the graphs that
conformance_tests run: those that have operators which no earlier one has.
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

import random_nodes
import run_ferry

KINDS = {"float32": onnx.TensorProto.FLOAT, "float64": onnx.TensorProto.DOUBLE, "int64": onnx.TensorProto.INT64,
         "int32": onnx.TensorProto.INT32, "bool": onnx.TensorProto.BOOL, "uint8": onnx.TensorProto.UINT8,
         "int8": onnx.TensorProto.INT8}
OPSETS = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]
# What Ferry refuses by design: docs/onnx.md.
KNOWN = [r"a window of \d+ fits nowhere",  # ONNX Runtime rounds (1 - 2) / 2 up to 0 where the definition has no output
         r"Arg.*axis -?\d is outside the 0 dimensions", r"ReduceLogSum.*Int32, expected Float32",
         r"is the same for every input: nothing is left to run"]
LARGEST, SMALLEST, ELEMENTS = 1e3, 1e-3, 4000  # of a value


class Runtime:
    """ONNX Runtime in a process of its own."""

    def __init__(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_serve.mjs")
        self.process = subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)

    def run(self, model, inputs):
        """The outputs by name; None if the model is invalid."""
        encode = lambda data: base64.b64encode(data).decode()
        job = {"model": encode(model.SerializeToString()),
               "inputs": [{"name": n, "type": a.dtype.name, "dims": a.shape, "data": encode(a.tobytes())}
                          for n, a in inputs.items()]}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            return None
        return {o["name"]: np.frombuffer(base64.b64decode(o["data"]), o["type"]).reshape(o["dims"])
                for o in answer["outputs"]}


def infos(arrays):
    return [helper.make_tensor_value_info(n, KINDS[a.dtype.name], a.shape) for n, a in arrays.items()]


def moved(inputs, random):
    """Inputs whose reals differ in the last digits."""
    return {n: a if a.dtype.kind != "f" else (a * (1 + random.uniform(-3e-6, 3e-6, a.shape))).astype(a.dtype)
            for n, a in inputs.items()}


def agree(a, b):
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return np.abs(a.astype(np.float64) - b).max(initial=0) <= 3e-5 * np.abs(a).max(initial=1e-3)


class Maker:
    def __init__(self, seed, runtime):
        self.random, self.runtime = np.random.default_rng(seed), runtime
        self.opset = int(self.choice(OPSETS))
        self.inputs, self.initializers, self.nodes, self.values = {}, {}, [], {}
        self.count = 0
        for i in range(self.integer(1, 3)):
            rank = self.choice([1, 2, 3, 3, 4, 4, 4, 4, 5])
            largest = {1: 30, 2: 12, 3: 9, 4: 8, 5: 5}[rank]
            shape = [self.integer(1, 3)] * (rank > 3) + [self.integer(1, largest) for _ in range(rank - (rank > 3))]
            self.inputs["x%d" % i] = self.array("float32", shape)
        if self.coin():
            shape = [self.integer(1, 6), self.integer(1, 6)]
            self.inputs["k"] = self.array(self.choice(["int64", "bool"]), shape, -5, 6)
        self.values.update(self.inputs)
        for _ in range(self.integer(3, 14)):
            self.add()

    # ---- what functions of random_nodes.py use

    def integer(self, low, high=None):
        return int(self.random.integers(low, high))

    def coin(self):
        return self.integer(2) == 1

    def real(self, low, high):
        return float(np.float32(self.random.uniform(low, high)))

    def choice(self, list_):
        return list_[self.integer(len(list_))]

    def shuffled(self, list_):
        return [list_[i] for i in self.random.permutation(len(list_))]

    def some(self, list_):
        return self.shuffled(list(list_))[:self.integer(1, len(list_) + 1)]

    def shape(self, name):
        return list(self.value_of(name).shape)

    def kind(self, name):
        return self.value_of(name).dtype.name

    def value_of(self, name):
        return self.values[name] if name in self.values else self.new[name]

    def value(self, kind=None):
        fits = [v for v, a in self.values.items() if kind is None or a.dtype.name == kind]
        return self.choice(fits) if fits else None

    def axis(self, name):
        rank = max(len(self.shape(name)), 1)
        return self.integer(-rank, rank)

    def broadcasts(self, a, b):
        return all(x == y or 1 in (x, y) for x, y in zip(a[::-1], b[::-1]))

    def array(self, kind, shape, low=-2, high=2):
        shape = [int(d) for d in shape]
        if kind == "float32":
            if (low, high) == (-2, 2):
                return np.asarray(self.random.standard_normal(shape), np.float32)
            return np.asarray(self.random.uniform(low, high, shape), np.float32)
        if kind == "bool":
            return np.asarray(self.random.integers(0, 2, shape), bool)
        return np.asarray(self.random.integers(int(low), int(high) + 1, shape), kind)

    def scaled(self, shape, terms):
        return (self.array("float32", shape) / np.sqrt(terms)).astype(np.float32)

    def fresh(self):
        self.count += 1
        return "v%d" % self.count

    def constant(self, array, data=False):
        """A constant, or with `data` perhaps an input."""
        self.count += 1
        name = "c%d" % self.count
        self.new[name] = np.asarray(array)
        self.as_input[name] = data and self.integer(3) == 0
        return name

    # ---- one more node

    def add(self):
        floats = [v for v, a in self.values.items() if a.dtype.name == "float32"]
        if not floats:
            return
        for _ in range(4):
            self.new, self.as_input = {}, {}
            recent = floats[-3:] if self.coin() else floats
            try:
                made = self.choice(random_nodes.FUNCTIONS)(self, self.choice(recent))
            except (IndexError, ValueError, ZeroDivisionError):  # a shape that the function does not expect
                continue
            if made and self.keep(made):
                return

    def keep(self, made):
        if isinstance(made, tuple):
            op, inputs, attributes, outputs = (*made, 1)[:4]
            made = [(op, inputs, attributes, [self.fresh() for _ in range(outputs)])]
        nodes = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, attributes, outputs in made]
        inside = [n.name for node in nodes for a in node.attribute for n in a.g.initializer]
        read = {n for node in nodes for n in node.input} | {n for node in nodes for a in node.attribute
                                                            for inner in a.g.node for n in inner.input}
        given = {n: a for n, a in {**self.values, **self.new}.items() if n in read}
        constants = {n: a for n, a in given.items() if n in self.new and not self.as_input[n]}
        data = {n: a for n, a in given.items() if n not in constants}
        made_here = {o for node in nodes for o in node.output}
        last = [o for node in nodes for o in node.output if not any(o in other.input for other in nodes)]
        model = self.model_of(nodes, data, constants, last)
        if inside or model is None:
            return False
        got = self.runtime.run(model, data)
        if got is None or any(a.dtype.name not in KINDS or a.size == 0 or a.size > ELEMENTS or a.ndim > 6
                              or not np.isfinite(a).all() or np.abs(a.astype(np.float64)).max() > LARGEST
                              or (a.dtype.kind == "f" and 0 < np.abs(a).max() < SMALLEST) for a in got.values()):
            return False
        for _ in range(2):
            other = self.runtime.run(model, moved(data, self.random))
            if other is None or any(not agree(a, other[n]) for n, a in got.items()):
                return False
        for name, array in self.new.items():
            if name in given and self.as_input[name]:
                self.inputs[name] = array
            elif name in given:
                self.initializers[name] = array
        self.values.update({n: a for n, a in got.items() if n in made_here})
        self.nodes += nodes
        return True

    def model_of(self, nodes, inputs, constants, outputs):
        as_nodes = [n for i, n in enumerate(constants) if (len(n) + i) % 3 == 0]
        head = [helper.make_node("Constant", [], [n], value=numpy_helper.from_array(constants[n])) for n in as_nodes]
        graph = helper.make_graph(head + nodes, "g", infos(inputs), [onnx.ValueInfoProto(name=o) for o in outputs],
                                  [numpy_helper.from_array(a, n) for n, a in constants.items() if n not in as_nodes])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 4 if self.opset < 9 else 8 if self.opset < 21 else 10
        return model

    def model(self):
        """The model, its inputs and outputs; None if nothing was made."""
        read = {n for node in self.nodes for n in node.input} | {
            n for node in self.nodes for a in node.attribute for inner in a.g.node for n in inner.input}
        inputs = {n: a for n, a in self.inputs.items() if n in read}
        made = [o for node in self.nodes for o in node.output if o in self.values]
        names = [o for o in made if o not in read or self.integer(6) == 0]
        if not names or not inputs:
            return None
        model = self.model_of(self.nodes, inputs, self.initializers, names)
        outputs = self.runtime.run(model, inputs)
        if outputs is None:
            return None
        del model.graph.output[:]
        model.graph.output.extend(infos({n: outputs[n] for n in names}))
        return model, inputs, outputs


def write_case(folder, model, inputs, outputs):
    """As the ONNX project's node tests are laid out."""
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    names = {"input": [i.name for i in model.graph.input], "output": [o.name for o in model.graph.output]}
    for kind, list_ in names.items():
        for i, name in enumerate(list_):
            with open(os.path.join(data, "%s_%d.pb" % (kind, i)), "wb") as f:
                f.write(numpy_helper.from_array({**inputs, **outputs}[name], name).SerializeToString())


def main():
    parser = run_ferry.arguments(__doc__)
    parser.add_argument("--write", metavar="FOLDER", help="writes the graphs that have further operators there")
    parser.add_argument("--only", help="a regular expression: graphs that have such an operator")
    args = parser.parse_args()
    runtime = Runtime()
    verdicts, operators, made, none = run_ferry.Verdicts(args, KNOWN), {}, 0, 0
    with tempfile.TemporaryDirectory() as root:
        root = args.keep or root
        for seed in range(args.seed, args.seed + args.count):
            found = Maker(seed, runtime).model()
            if not found or (args.only and not any(re.search(args.only, n.op_type) for n in found[0].graph.node)):
                none += 1
                continue
            model, inputs, expected = found
            further = {n.op_type for n in model.graph.node} - set(operators)
            folder = os.path.join(root, str(seed))
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "net.onnx")
            onnx.save(model, path)
            for node in model.graph.node:
                operators[node.op_type] = operators.get(node.op_type, 0) + 1
            made += 1
            agrees = verdicts.judge(seed, path, inputs, expected, folder)
            if args.write and further and model.ByteSize() < 1 << 14 and agrees:
                write_case(os.path.join(args.write, str(seed)), model, inputs, expected)
            if not args.keep:
                for name in os.listdir(folder):
                    os.remove(os.path.join(folder, name))
    print("%d seeds made no graph; operators: %s" % (none, ", ".join("%s %d" % o for o in sorted(operators.items()))))
    return verdicts.summary(made)


if __name__ == "__main__":
    sys.exit(main())
