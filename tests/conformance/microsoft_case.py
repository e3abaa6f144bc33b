"""A case of make_microsoft.py: a graph, its inputs and its expected outputs."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype") else \
        onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]


class Case:
    """A graph of one or more nodes, whose outputs are the case's."""

    def __init__(self, name):
        self.name = name
        self.random = np.random.default_rng(sum(name.encode()))
        self.before = []  # nodes whose outputs are not the case's
        self.nodes, self.inputs, self.weights, self.defined, self.outputs = [], {}, {}, {}, []
        self.packed = []

    def floats(self, *dims, scale=1.0):
        return (self.random.standard_normal(dims) * scale).round(3).astype(np.float32)

    def integers(self, low, high, *dims, dtype=np.int32):
        return self.random.integers(low, high, dims).astype(dtype)

    def input(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = np.asarray(array)
        return name

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def packed_weight(self, kind, dims, data):
        """A weight of a type that NumPy lacks, by its number in ONNX and its bytes."""
        name = f"p{len(self.packed)}"
        self.packed.append(onnx.TensorProto(name=name, data_type=kind, dims=dims, raw_data=data.tobytes()))
        return name

    def node(self, op, inputs, outputs=1, domain=DOMAIN, types=None, defined=None, **attributes):
        """Adds a node, all of whose outputs are the case's.

        outputs: a number, or a list of 0 (omitted) and 1. types: of the outputs, float32 by default. defined: the
        values of the outputs, where ONNX Runtime has no kernel.
        """
        wanted = [1] * outputs if isinstance(outputs, int) else outputs
        names = [f"y{len(self.nodes)}_{i}" if w else "" for i, w in enumerate(wanted)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"n{len(self.nodes)}", domain=domain, **attributes))
        for i, name in enumerate(n for n in names if n):
            self.outputs.append((name, types[i] if types else np.float32))
            if defined is not None:
                self.defined[name] = np.asarray(defined[i])
        return names

    def model(self, nodes):
        produced = {o for n in nodes for o in n.output}
        graph = helper.make_graph(
            self.before + nodes, self.name,
            [helper.make_tensor_value_info(n, type_of(a), a.shape) for n, a in self.inputs.items()],
            [helper.make_tensor_value_info(n, helper_type(t), None) for n, t in self.outputs if n in produced],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()] + self.packed)
        return helper.make_model(graph, ir_version=8, producer_name="make_microsoft.py",
                                 opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)])


def helper_type(dtype):
    return type_of(np.zeros(1, dtype))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
