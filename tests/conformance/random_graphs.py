#!/usr/bin/env python3
"""Makes random ONNX graphs, and compares Ferry with ONNX Runtime.

    FERRY_PEERS=FOLDER tests/conformance/random_graphs.py --seed 0 --count 500

FOLDER/node_modules has onnxruntime-node (tests/bench/peers.py installs it). Needs Debian's python3-onnx and node. The
exit code is 1 if a graph is refused or differs.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

import run_ferry

UNARY = ("Abs Atan Ceil Cos Elu Erf Exp Floor HardSigmoid HardSwish Identity LeakyRelu Neg Relu Round Selu Sigmoid Sign "
         "Sin Softplus Softsign Tanh Celu ThresholdedRelu").split()


class Maker:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.shapes = [], [], {}
        shape = [1, int(self.random.integers(2, 9)), *map(int, self.random.integers(5, 14, 2))]
        self.inputs = {"x": self.reals(*shape)}
        self.shapes["x"] = shape
        for _ in range(int(self.random.integers(3, 12))):
            getattr(self, self.random.choice([m for m in dir(self) if m.startswith("add_")]))(self.pick())

    def reals(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def pick(self):
        return str(self.random.choice(list(self.shapes)))

    def constant(self, array):
        name = "c%d" % len(self.constants)
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, shape, **attributes):
        name = "v%d" % len(self.nodes)
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.shapes[name] = [int(d) for d in shape]
        return name

    def axis(self, x):
        return int(self.random.integers(0, len(self.shapes[x])))

    def add_unary(self, x):
        self.node(self.random.choice(UNARY), [x], self.shapes[x])

    def add_binary(self, x):
        shape = self.shapes[x]
        other = [d if self.random.integers(2) else 1 for d in shape][int(self.random.integers(0, len(shape) + 1)):]
        names = [x, self.constant(self.reals(*other))]
        self.random.shuffle(names)
        self.node(self.random.choice("Add Sub Mul Max Min".split()), names, shape)

    def add_pair(self, x):
        same = [n for n, s in self.shapes.items() if s == self.shapes[x]]
        self.node(self.random.choice("Add Sub Mul Max Min Sum Mean".split()), [x, str(self.random.choice(same))],
                  self.shapes[x])

    def add_convolution(self, x):
        shape = self.shapes[x]
        if len(shape) != 4:
            return
        kernel = [int(self.random.integers(1, min(4, d + 1))) for d in shape[2:]]
        group = shape[1] if self.random.integers(3) == 0 else 1
        out = group * int(self.random.integers(1, 3)) if group > 1 else int(self.random.integers(1, 9))
        strides, pads = [int(s) for s in self.random.integers(1, 3, 2)], [int(p) for p in self.random.integers(0, 2, 4)]
        weight = self.reals(out, shape[1] // group, *kernel) / np.float32(np.sqrt(shape[1] // group * np.prod(kernel)))
        sides = [(d + pads[i] + pads[2 + i] - kernel[i]) // strides[i] + 1 for i, d in enumerate(shape[2:])]
        self.node("Conv", [x, self.constant(weight), self.constant(self.reals(out))], [shape[0], out, *sides],
                  group=group, strides=strides, pads=pads)

    def add_pool(self, x):
        shape = self.shapes[x]
        if len(shape) != 4 or min(shape[2:]) < 3:
            return
        kernel, strides = [int(k) for k in self.random.integers(2, 4, 2)], [int(s) for s in self.random.integers(1, 3, 2)]
        pads = [int(p) for p in self.random.integers(0, 2, 4)]
        sides = [(d + pads[i] + pads[2 + i] - kernel[i]) // strides[i] + 1 for i, d in enumerate(shape[2:])]
        self.node(self.random.choice(["MaxPool", "AveragePool"]), [x], shape[:2] + sides, kernel_shape=kernel,
                  strides=strides, pads=pads)

    def add_transpose(self, x):
        perm = [int(p) for p in self.random.permutation(len(self.shapes[x]))]
        self.node("Transpose", [x], [self.shapes[x][p] for p in perm], perm=perm)

    def add_reshape(self, x):
        shape = list(self.shapes[x])
        at = self.axis(x)
        if len(shape) > 2 and at > 0:
            shape[at - 1:at + 1] = [shape[at - 1] * shape[at]]
        else:
            shape.insert(at, 1)
        if len(shape) <= 5:
            self.node("Reshape", [x, self.constant(np.array(shape, np.int64))], shape)

    def add_slice(self, x):
        shape, at = list(self.shapes[x]), self.axis(x)
        if shape[at] < 2:
            return
        begin = int(self.random.integers(0, shape[at] - 1))
        end, step = int(self.random.integers(begin + 1, shape[at] + 1)), int(self.random.integers(1, 3))
        shape[at] = -(-(end - begin) // step)
        lists = [self.constant(np.array([v], np.int64)) for v in (begin, end, at, step)]
        self.node("Slice", [x, *lists], shape)

    def add_concat(self, x):
        at, shape = self.axis(x), list(self.shapes[x])
        fits = [n for n, s in self.shapes.items()
                if len(s) == len(shape) and all(a == b for d, (a, b) in enumerate(zip(s, shape)) if d != at)]
        other = str(self.random.choice(fits))
        shape[at] += self.shapes[other][at]
        self.node("Concat", [x, other], shape, axis=at)

    def add_reduce(self, x):
        at, shape = self.axis(x), list(self.shapes[x])
        keep = int(self.random.integers(2))
        if not keep and len(shape) < 3:
            return
        shape[at:at + 1] = [1] * keep
        op = self.random.choice("ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare".split())
        self.node(op, [x], shape, axes=[at], keepdims=keep)

    def add_softmax(self, x):
        self.node(self.random.choice(["Softmax", "LogSoftmax"]), [x], self.shapes[x], axis=self.axis(x))

    def add_product(self, x):
        shape = self.shapes[x]
        if len(shape) < 2:
            return
        out = int(self.random.integers(1, 9))
        weight = self.reals(shape[-1], out) / np.float32(np.sqrt(shape[-1]))
        self.node("MatMul", [x, self.constant(weight)], shape[:-1] + [out])

    def add_norm(self, x):
        shape = self.shapes[x]
        self.node("LayerNormalization", [x, self.constant(self.reals(shape[-1])), self.constant(self.reals(shape[-1]))],
                  shape, axis=-1)

    def add_pad(self, x):
        shape, rank = self.shapes[x], len(self.shapes[x])
        pads = [int(p) for p in self.random.integers(0, 3, 2 * rank)]
        modes = ["constant", "edge"] + (["reflect"] if min(shape) > 2 else [])
        self.node("Pad", [x, self.constant(np.array(pads, np.int64))],
                  [d + pads[i] + pads[rank + i] for i, d in enumerate(shape)], mode=str(self.random.choice(modes)))

    def add_resize(self, x):
        shape = self.shapes[x]
        if len(shape) != 4 or max(shape[2:]) > 30:
            return
        sides = [int(self.random.integers(1, 2 * d + 1)) for d in shape[2:]]
        mode = str(self.random.choice(["nearest", "linear"]))
        how = str(self.random.choice(["half_pixel", "align_corners", "asymmetric"]))
        self.node("Resize", [x, "", "", self.constant(np.array(shape[:2] + sides, np.int64))], shape[:2] + sides,
                  mode=mode, coordinate_transformation_mode=how)

    def add_gather(self, x):
        at, shape = self.axis(x), list(self.shapes[x])
        indices = self.random.integers(-shape[at], shape[at], int(self.random.integers(1, 6)))
        shape[at] = len(indices)
        self.node("Gather", [x, self.constant(indices.astype(np.int64))], shape, axis=at)

    def add_where(self, x):
        shape = self.shapes[x]
        self.node("Where", [self.constant(self.random.integers(0, 2, shape).astype(bool)), x,
                            self.constant(self.reals(*shape[-1:]))], shape)

    def add_cum_sum(self, x):
        self.node("CumSum", [x, self.constant(np.asarray(self.axis(x), np.int64))], self.shapes[x],
                  exclusive=int(self.random.integers(2)), reverse=int(self.random.integers(2)))

    def model(self):
        read = {name for node in self.nodes for name in node.input}
        outputs = [node.output[0] for node in self.nodes if node.output[0] not in read] or None
        if outputs is None or "x" not in read:
            return None
        info = lambda n: helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, self.shapes[n])
        graph = helper.make_graph(self.nodes, "g", [info("x")], [info(n) for n in outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        return model


def run_peer(jobs, folder):
    path = os.path.join(folder, "jobs.json")
    with open(path, "w") as f:
        json.dump(jobs, f)
    subprocess.run(["node", os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_outputs.mjs"), path], check=True)


def main():
    args = run_ferry.arguments(__doc__).parse_args()
    wrong, refused, unread = [], [], 0
    with tempfile.TemporaryDirectory() as root:
        root = args.keep or root
        jobs, makers = [], {}
        for seed in range(args.seed, args.seed + args.count):
            maker = Maker(seed)
            model = maker.model()
            if model is None:
                unread += 1
                continue
            folder = os.path.join(root, str(seed))
            os.makedirs(folder, exist_ok=True)
            onnx.save(model, os.path.join(folder, "net.onnx"))
            maker.inputs["x"].tofile(os.path.join(folder, "x.bin"))
            jobs.append({"model": os.path.join(folder, "net.onnx"), "folder": folder,
                         "inputs": [{"name": "x", "type": "float32", "dims": maker.shapes["x"]}]})
            makers[seed] = maker
        run_peer(jobs, root)
        for (seed, maker), job in zip(makers.items(), jobs):
            with open(os.path.join(job["folder"], "outputs.json")) as f:
                outputs = json.load(f)
            if "error" in outputs:
                sys.exit("seed %d: ONNX Runtime: %s" % (seed, outputs["error"]))
            expected = {o["name"]: np.fromfile(os.path.join(job["folder"], o["name"] + ".bin"), np.float32)
                        .reshape(o["dims"]) for o in outputs}
            got = run_ferry.run_ferry(args.ferry, job["model"], maker.inputs, job["folder"])
            if isinstance(got, str):
                refused.append((seed, got))
            elif why := run_ferry.difference(got, expected, args.bound):
                wrong.append((seed, why))
    return run_ferry.summary(wrong, refused, args.count - unread)


if __name__ == "__main__":
    sys.exit(main())
