#!/usr/bin/env python3
"""Makes random ONNX graphs with a Loop or a Scan, and compares Ferry with ONNX Runtime.

    FERRY_PEERS=FOLDER tests/conformance/random_loops.py --seed 0 --count 200

States of several types and shapes, which may change places; slices of inputs; values from outside; rows that are
stacked; conditions; loops in loops; trip counts that are known or an input. Some loops are short enough to be unrolled.
FOLDER and the exit code are those of random_graphs.py.
"""
import os
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import run_ferry
from random_graphs import KINDS, KNOWN, Runtime


class Maker:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.width = self.integer(1, 7)
        self.steps = int(self.choice([1, 2, 5, 40, 150, 400]))
        self.inputs = {"x": self.normal(self.steps, self.width), "w": self.normal(self.width)}
        self.constants, self.count = {}, 0
        nodes = [helper.make_node("Tanh", ["w"], ["outside"])]
        node = self.scan() if self.coin() else self.loop("loop", depth=0)
        outputs = list(node.output)
        nodes.append(node)
        graph = helper.make_graph(
            nodes, "random", [self.info(n, KINDS[a.dtype.name], *a.shape) for n, a in self.inputs.items()],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [numpy_helper.from_array(a, n) for n, a in self.constants.items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8)

    def integer(self, low, high):
        return int(self.random.integers(low, high))

    def coin(self):
        return self.integer(0, 2) == 1

    def choice(self, of):
        return of[self.integer(0, len(of))]

    def normal(self, *shape):
        return self.random.normal(size=shape).astype(np.float32)

    def name(self, what):
        self.count += 1
        return f"{what}{self.count}"

    def constant(self, array):
        name = self.name("c")
        self.constants[name] = np.asarray(array)
        return name

    def value(self, nodes, vectors, index):
        """A new vector of the body, from those that it has."""
        a, out = self.choice(vectors), self.name("v")
        kind = self.choice(["add", "mul", "matmul", "row", "where", "norm", "slice", "outside"])
        if kind in ("row", "outside") and index is None:
            kind = "add"
        other = {"add": lambda: self.choice(vectors), "mul": lambda: self.constant(self.normal(self.width)),
                 "outside": lambda: "outside"}
        if kind in other:
            nodes.append(helper.make_node("Mul" if kind == "mul" else "Add", [a, other[kind]()], [out]))
        elif kind == "matmul":
            weight = self.constant(self.normal(self.width, self.width) / np.float32(np.sqrt(self.width)))
            nodes.append(helper.make_node("MatMul", [a, weight], [out]))
        elif kind == "row":
            row = self.name("v")
            nodes += [helper.make_node("Gather", ["x", index], [row], axis=0),
                      helper.make_node("Add", [a, row], [out])]
        elif kind == "where":
            less = self.name("v")
            nodes += [helper.make_node("Less", [a, self.constant(np.float32(0.1))], [less]),
                      helper.make_node("Where", [less, a, self.choice(vectors)], [out])]
        elif kind == "norm":
            mean = self.name("v")
            nodes += [helper.make_node("ReduceMean", [a], [mean], axes=[0], keepdims=1),
                      helper.make_node("Sub", [a, mean], [out])]
        else:
            first, rest = self.name("v"), self.name("v")
            split = self.integer(0, self.width + 1)
            if split in (0, self.width):
                nodes.append(helper.make_node("Identity", [a], [out]))
            else:
                nodes += [helper.make_node("Split", [a, self.constant(np.int64([split, self.width - split]))],
                                           [first, rest]),
                          helper.make_node("Concat", [rest, first], [out], axis=0)]
        bounded = self.name("v")
        nodes.append(helper.make_node("Tanh", [out], [bounded]))
        vectors.append(bounded)

    def info(self, name, kind, *shape):
        return helper.make_tensor_value_info(name, kind, shape)

    def initial(self, vectors):
        return self.constant(self.normal(self.width)) if self.coin() else self.choice(vectors)

    def body_values(self, nodes, vectors, index, depth):
        for _ in range(self.integer(1, 5)):
            if depth == 0 and self.integer(0, 6) == 0:
                inner = self.loop(self.name("inner"), depth + 1, vectors, nodes)
                nodes.append(inner)
                vectors.append(inner.output[0])
            else:
                self.value(nodes, vectors, index)

    def loop(self, label, depth, outer=("w", "outside"), before=None):
        FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
        index, going = self.name("i"), self.name("going")
        states = [self.name("s") for _ in range(self.integer(1, 4))]
        nodes, vectors = [], list(states)
        limit = self.steps if depth == 0 else self.integer(1, 4)
        row_index = index if depth == 0 else None
        self.body_values(nodes, vectors, row_index, depth)
        following = [self.choice(vectors) for _ in states]
        counts = self.coin()  # an integer state
        results, initial, inputs = list(following), [self.initial(list(outer)) for _ in states], list(states)
        if counts:
            counter, more = self.name("n"), self.name("n")
            nodes.append(helper.make_node("Add", [counter, self.constant(np.int64(3))], [more]))
            inputs.append(counter)
            results.append(more)
            initial.append(self.constant(np.int64(self.integer(-5, 5))))
        condition = going
        if self.integer(0, 3) == 0:
            total, condition = self.name("v"), self.name("cond")
            nodes += [helper.make_node("ReduceMax", [following[0]], [total], axes=[0], keepdims=0),
                      helper.make_node("Less", [total, self.constant(np.float32(self.choice([0.9, 0.97, 2])))],
                                       [condition])]
        rows = [self.choice(vectors) for _ in range(self.integer(0, 3))] if depth == 0 else []
        names = [self.name("out") for _ in results + rows]
        given = lambda name: self.info(name, INT) if counts and name == inputs[-1] else self.info(name, FLOAT, self.width)
        passed = []  # an output of a body has a name of its own
        for name in results + rows:
            passed.append(self.name("p"))
            nodes.append(helper.make_node("Identity", [name], [passed[-1]]))
        ends = self.name("p")
        nodes.append(helper.make_node("Identity", [condition], [ends]))
        of_type = [self.info(p, INT) if counts and k == len(results) - 1 else self.info(p, FLOAT, self.width)
                   for k, p in enumerate(passed)]
        body = helper.make_graph(nodes, label, [self.info(index, INT), self.info(going, BOOL)] +
                                 [given(name) for name in inputs], [self.info(ends, BOOL)] + of_type)
        trips = self.constant(np.int64(limit))
        if depth == 0 and self.coin():
            self.inputs["trips"] = np.int64(self.integer(0, limit + 1))
            if rows == [] or any(n.op_type == "Gather" for n in nodes):
                trips = "trips"
            else:
                del self.inputs["trips"]
        return helper.make_node("Loop", [trips, ""] + initial, names, body=body)

    def scan(self):
        FLOAT = TensorProto.FLOAT
        states = [self.name("s") for _ in range(self.integer(1, 3))]
        self.inputs["y"] = self.normal(self.width, self.steps)
        nodes, vectors = [], states + ["row_x", "row_y"]
        self.body_values(nodes, vectors, None, 0)
        results = [self.choice(vectors) for _ in states]
        rows = [self.choice(vectors) for _ in range(self.integer(1, 3))]
        passed = []
        for name in results + rows:
            passed.append(self.name("p"))
            nodes.append(helper.make_node("Identity", [name], [passed[-1]]))
        body = helper.make_graph(nodes, "scan", [self.info(s, FLOAT, self.width) for s in vectors[:len(states) + 2]],
                                 [self.info(p, FLOAT, self.width) for p in passed])
        flags = lambda n: [self.integer(0, 2) for _ in range(n)]
        return helper.make_node("Scan", [self.initial(["w", "outside"]) for _ in states] + ["x", "y"],
                                [self.name("out") for _ in passed], body=body, num_scan_inputs=2,
                                scan_input_axes=[0, 1], scan_input_directions=flags(2),
                                scan_output_axes=flags(len(rows)), scan_output_directions=flags(len(rows)))


def main():
    args = run_ferry.arguments(__doc__).parse_args()
    runtime, verdicts, skipped = Runtime(), run_ferry.Verdicts(args, KNOWN), 0
    with tempfile.TemporaryDirectory() as root:
        for seed in range(args.seed, args.seed + args.count):
            made = Maker(seed)
            folder = os.path.join(args.keep or root, str(seed))
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "net.onnx")
            with open(path, "wb") as file:
                file.write(made.model.SerializeToString())
            inputs = {n: np.asarray(a) for n, a in made.inputs.items()}
            expected = runtime.run(made.model, inputs)
            if expected is None:
                skipped += 1
                continue
            verdicts.judge(seed, path, inputs, expected, folder)
    print("%d graphs are not valid" % skipped)
    return verdicts.summary(args.count - skipped)


if __name__ == "__main__":
    sys.exit(main())
