# SPDX-License-Identifier: Apache-2.0
"""What ferry.fixture() needs of an ONNX file: names of values, float32 weights, and further outputs. It reads the
messages of onnx.proto (github.com/onnx/onnx) by their field numbers, so that the package onnx need not be installed."""
import numpy as np

MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT = 1, 5, 11, 12
NODE_OUTPUT, NODE_NAME = 2, 3
VALUE_NAME = 1
TENSOR_DIMS, TENSOR_TYPE, TENSOR_FLOATS, TENSOR_NAME, TENSOR_RAW, TENSOR_LOCATION = 1, 2, 4, 8, 9, 14
FLOAT, EXTERNAL = 1, 1


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def _fields(data):
    """Pairs of a field's number and its value: an integer or bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire in (1, 2, 5):
            size, at = _varint(data, at) if wire == 2 else (8 if wire == 1 else 4, at)
            value, at = data[at : at + size], at + size
            if len(value) < size:
                raise IndexError
        else:
            raise ValueError(f"wire type {wire}")
        yield tag >> 3, value


def _encoded(number, payload):
    out, size = bytearray([number << 3 | 2]), len(payload)
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes(out) + bytes([size]) + payload


def _text(data):
    return bytes(data).decode("utf-8", "replace")


class OnnxNames:
    """Names in the file at `path`. ValueError: it is no ONNX file.

    inputs   of the graph, without those that are initializers
    outputs  of the graph
    nodes    name of each node and of its first output, in the file's order
    values   outputs of nodes
    weights  float32 initializers by name, without those in other files
    external whether other files hold weights"""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.outputs, self.nodes, self.values, self.weights = [], {}, [], {}
        self.external = False
        inputs, initializers = [], set()
        try:
            for graph in (value for number, value in _fields(memoryview(self.data)) if number == MODEL_GRAPH):
                for number, value in _fields(graph):
                    if number == GRAPH_NODE:
                        self._add_node(value)
                    elif number == GRAPH_INITIALIZER:
                        initializers.add(self._add_weight(value))
                    elif number in (GRAPH_INPUT, GRAPH_OUTPUT):
                        named = next(_text(v) for n, v in _fields(value) if n == VALUE_NAME)
                        (inputs if number == GRAPH_INPUT else self.outputs).append(named)
        except (IndexError, ValueError, TypeError, StopIteration) as error:
            raise ValueError(f"{path}: no ONNX file ({error!r})") from None
        if not self.outputs:
            raise ValueError(f"{path}: no ONNX file: it has no outputs")
        self.inputs = [name for name in inputs if name not in initializers]

    def _add_node(self, data):
        name, outputs = "", []
        for number, value in _fields(data):
            if number == NODE_OUTPUT:
                outputs.append(_text(value))
            elif number == NODE_NAME:
                name = _text(value)
        self.values += [output for output in outputs if output]
        if name and outputs:
            self.nodes.setdefault(name, outputs[0])

    def _add_weight(self, data):
        dims, kind, name, raw, floats, external = [], 0, "", b"", b"", False
        for number, value in _fields(data):
            if number == TENSOR_DIMS:
                if isinstance(value, int):
                    dims.append(value)
                else:  # packed
                    at = 0
                    while at < len(value):
                        side, at = _varint(value, at)
                        dims.append(side)
            elif number == TENSOR_TYPE:
                kind = value
            elif number == TENSOR_FLOATS:
                floats += bytes(value)
            elif number == TENSOR_NAME:
                name = _text(value)
            elif number == TENSOR_RAW:
                raw = value
            elif number == TENSOR_LOCATION:
                external = value == EXTERNAL
        self.external = self.external or external
        if kind == FLOAT and not external:
            values = np.frombuffer(raw or floats, "<f4")
            if values.size == int(np.prod(dims)) and values.size:
                self.weights[name] = values.reshape(dims)
        return name

    def value_of(self, name):
        """The value that is called `name`, or whose node is. ValueError: none is."""
        if name in self.values:
            return name
        if name in self.nodes:
            return self.nodes[name]
        raise ValueError(f"no value or node is called {name!r}; there are {len(self.values)} values: "
                         f"{', '.join(self.values[:8])}...")

    def with_outputs(self, names):
        """The file's bytes with these values as outputs, too. Messages of one field are merged when they are read."""
        more = b"".join(_encoded(GRAPH_OUTPUT, _encoded(VALUE_NAME, name.encode()))
                        for name in names if name not in self.outputs)
        return self.data + _encoded(MODEL_GRAPH, more) if more else self.data
