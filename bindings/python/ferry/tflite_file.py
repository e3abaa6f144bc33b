# SPDX-License-Identifier: Apache-2.0
"""What ferry.fixture() needs of a .tflite file: names, types and scales of tensors, further outputs, and an interpreter
of TensorFlow Lite that runs it. It reads the tables of schema.fbs (github.com/tensorflow/tensorflow) by their field
numbers, so that neither flatbuffers nor TensorFlow need be installed."""
import importlib, json, os, shutil, struct, subprocess, tempfile

import numpy as np

IDENTIFIER = b"TFL3"
TYPES = {0: "float32", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8"}
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
LONGEST_TAP = 512  # bytes of a name in a blob
# Operators whose states are inputs and outputs of the blob, and those of variables.
STATEFUL = {16, 24, 27}  # LSTM, RNN, SVDF
VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE = 142, 143, 144


def is_tflite(path):
    with open(path, "rb") as file:
        return file.read(8)[4:] == IDENTIFIER


class _Table:
    """A table of a flatbuffer. IndexError, struct.error: it lies outside of the file."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def _field(self, number):
        vtable = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        slot = 4 + 2 * number
        if slot >= struct.unpack_from("<H", self.data, vtable)[0]:
            return None
        offset = struct.unpack_from("<H", self.data, vtable + slot)[0]
        return self.at + offset if offset else None

    def number(self, number, kind="i", absent=0):
        at = self._field(number)
        return absent if at is None else struct.unpack_from("<" + kind, self.data, at)[0]

    def place(self, number):
        """Where the offset of a vector, string or table is stored; None: nowhere."""
        return self._field(number)

    def _target(self, number):
        at = self._field(number)
        return None if at is None else at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, number):
        at = self._target(number)
        return None if at is None else _Table(self.data, at)

    def numbers(self, number, kind="i"):
        at = self._target(number)
        if at is None:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        return list(struct.unpack_from(f"<{count}{kind}", self.data, at + 4))

    def bytes(self, number):
        at = self._target(number)
        if at is None:
            return b""
        count = struct.unpack_from("<I", self.data, at)[0]
        return bytes(self.data[at + 4 : at + 4 + count])

    def text(self, number):
        return self.bytes(number).decode("utf-8", "replace")

    def tables(self, number):
        at = self._target(number)
        if at is None:
            return []
        out = []
        for i in range(struct.unpack_from("<I", self.data, at)[0]):
            place = at + 4 + 4 * i
            out.append(_Table(self.data, place + struct.unpack_from("<I", self.data, place)[0]))
        return out


class _Tensor:
    """shape and type ("int8"); scale and zero of integers that stand for real numbers, else 0."""

    def __init__(self, table, index, buffers):
        self.index, self.name = index, table.text(3) or f"tensor {index}"
        self.shape, self.type = table.numbers(0), TYPES.get(table.number(1, "b"))
        self.is_variable = bool(table.number(5, "b"))
        buffer = table.number(2, "I")
        self.data = buffers[buffer].bytes(0) if buffer < len(buffers) and buffer > 0 else b""
        quantization = table.table(4)
        scales = quantization.numbers(2, "f") if quantization else []
        zeros = quantization.numbers(3, "q") if quantization else []
        quantised = len(scales) == 1 and self.type in RANGES
        self.scale = np.float32(scales[0]) if quantised else np.float32(0)
        self.zero = zeros[0] if quantised and zeros else 0

    def real(self, array):
        if not self.scale:
            return array.astype(np.float32)
        return (array.astype(np.int64) - self.zero).astype(np.float32) * self.scale

    def stored(self, array):
        """The array in the file's type, rounded as Ferry rounds (docs/format.md)."""
        if not self.scale:
            return array.astype(self.type)
        low, high = RANGES[self.type]
        integers = np.rint(array.astype(np.float32) * (np.float32(1) / self.scale)) + self.zero
        return np.clip(integers, low, high).astype(self.type)


class TfliteFile:
    """A file's network: the first, or the one of this signature. ValueError: it is no .tflite file, or has no such.

    inputs, outputs  tensors by the names of the blob's ports, in the file's order
    values           computed tensors with real numbers, by name, in run order
    states           shapes of variables that the blob has as inputs, by name
    weights          float32 constants by name
    quantised        whether any value is integers with a scale"""

    def __init__(self, path, network=None):
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        if bytes(self.data[4:8]) != IDENTIFIER:
            raise ValueError(f"{os.fspath(path)}: no .tflite file")
        try:
            self._read(network)
        except (struct.error, IndexError) as error:
            raise ValueError(f"{os.fspath(path)}: no .tflite file ({error!r})") from None

    def _read(self, network):
        model = _Table(self.data, struct.unpack_from("<I", self.data, 0)[0])
        graphs, buffers = model.tables(2), model.tables(4)
        codes = [max(code.number(0, "b"), code.number(3)) for code in model.tables(1)]
        signatures = [(s.text(2), s.number(4, "I"), s) for s in model.tables(7)]
        index = 0 if network is None else next((i for key, i, _ in signatures if key == network), None)
        if index is None:
            raise ValueError(f"no signature is called {network!r}; there are {', '.join(k for k, _, _ in signatures)}")
        self.graph, self.index = graphs[index], index
        self.tensors = [_Tensor(t, i, buffers) for i, t in enumerate(self.graph.tables(0))]
        signature = next((s for _, i, s in signatures if i == index), None)
        self.inputs = self._ports(self.graph.numbers(1), signature.tables(0) if signature else [])
        self.outputs = self._ports(self.graph.numbers(2), signature.tables(1) if signature else [])
        self.weights, self.values, self.states = {}, {}, {}
        for tensor in self.tensors:
            if tensor.type == "float32" and len(tensor.data) == 4 * int(np.prod(tensor.shape)) and tensor.data:
                self.weights[tensor.name] = np.frombuffer(tensor.data, "<f4").reshape(tensor.shape)
        self._read_operators(codes)
        self.quantised = any(t.scale for t in self.values.values()) or any(t.scale for t in self.inputs.values())

    def _ports(self, indices, entries):
        names = {entry.number(1, "I"): entry.text(0) for entry in entries}
        out = {}
        for i, index in enumerate(indices):
            name = names.get(index) or self.tensors[index].name
            out[f"{name}:{i}" if name in out else name] = self.tensors[index]
        return out

    def _read_operators(self, codes):
        known = {i for i, tensor in enumerate(self.tensors) if tensor.data}
        handles, assigned = {}, set()
        for op in self.graph.tables(3):
            code, inputs, outputs = codes[op.number(0, "I")], op.numbers(1), op.numbers(2)
            if code == VAR_HANDLE:
                options = op.table(4)
                handles[outputs[0]] = (options.text(1) if options else "") or "variable"
            elif code == ASSIGN_VARIABLE:
                assigned.add(handles.get(inputs[0]))
            elif code == READ_VARIABLE and handles.get(inputs[0]) not in assigned:
                self.states.setdefault(handles[inputs[0]], self.tensors[outputs[0]].shape)
            elif code in STATEFUL:
                for i in inputs:
                    if i >= 0 and self.tensors[i].is_variable:
                        self.states.setdefault(self.tensors[i].name, self.tensors[i].shape)
            if inputs and all(i in known for i in inputs if i >= 0):
                known.update(outputs)  # the blob has it as a constant
                continue
            for i in outputs:
                tensor = self.tensors[i]
                if tensor.type == "float32" or tensor.scale:
                    self.values.setdefault(tensor.name, tensor)

    def with_outputs(self, indices):
        """The file's bytes with these tensors as further outputs: a longer list behind its other bytes."""
        data = bytearray(self.data)
        data += b"\0" * (-len(data) % 4)
        outputs = self.graph.numbers(2) + list(indices)
        place = self.graph.place(2)
        struct.pack_into("<I", data, place, len(data) - place)
        return bytes(data + struct.pack(f"<I{len(outputs)}i", len(outputs), *outputs))

    def run(self, arrays, taps):
        """Real numbers of outputs and of the values called `taps`, and the interpreter's name and version. `arrays`:
        real numbers by the inputs' names."""
        for name, array in arrays.items():
            if name not in self.inputs:
                raise ValueError(f"the network has no input {name!r}; it has {', '.join(self.inputs)}")
            if list(array.shape) != self.inputs[name].shape:
                raise ValueError(f"input {name!r} is {list(array.shape)}: the file has {self.inputs[name].shape}")
        listed = {tensor.index for tensor in self.outputs.values()}
        more = [self.values[name] for name in taps if self.values[name].index not in listed]
        data = self.with_outputs([tensor.index for tensor in more])
        given = [tensor.stored(arrays[name]) for name, tensor in self.inputs.items()]
        found, library = _interpret(data, given)
        tensors = list(self.outputs.values()) + more
        if len(found) != len(tensors):
            raise RuntimeError(f"the interpreter returns {len(found)} outputs, the file lists {len(tensors)}")
        real = {tensor.index: tensor.real(array) for tensor, array in zip(tensors, found)}
        return ({name: real[tensor.index] for name, tensor in self.outputs.items()},
                {name: real[self.values[name].index] for name in taps}, library)


# ---- interpreters ----------------------------------------------------------------------------------------------------

PACKAGES = {"ai_edge_litert.interpreter": "ai_edge_litert", "tflite_runtime.interpreter": "tflite_runtime",
            "tensorflow.lite": "tensorflow"}
NPM = "@tensorflow/tfjs-tflite"


def _interpret(data, arrays):
    """Outputs of a file for these inputs, and the interpreter's name and version."""
    for module, package in PACKAGES.items():
        try:
            interpreter = importlib.import_module(module).Interpreter(model_content=data)
        except ImportError:
            continue
        interpreter.allocate_tensors()
        for detail, array in zip(interpreter.get_input_details(), arrays):
            interpreter.set_tensor(detail["index"], array.reshape(detail["shape"]))
        interpreter.invoke()
        found = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
        version = getattr(importlib.import_module(package), "__version__", "")
        return found, {"name": package, "version": str(version)}
    return _interpret_in_node(data, arrays)


def _interpret_in_node(data, arrays):
    """The same by TensorFlow Lite's interpreter as WebAssembly, in the folder that FERRY_PEERS names, or here."""
    peers = os.environ.get("FERRY_PEERS") or os.getcwd()
    package = os.path.join(peers, "node_modules", NPM)
    if shutil.which("node") is None or not os.path.isdir(package):
        raise ImportError("no interpreter of TensorFlow Lite is installed: pip install ai-edge-litert, or npm install "
                          f"--ignore-scripts {NPM}@0.0.1-alpha.10 here, or in the folder that FERRY_PEERS names")
    with open(os.path.join(package, "package.json"), encoding="utf-8") as file:
        library = {"name": "tfjs-tflite", "version": json.load(file)["version"]}
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "interpret_tflite.cjs")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "model.tflite"), "wb") as file:
            file.write(data)
        for i, array in enumerate(arrays):
            array.tofile(os.path.join(folder, f"input{i}.bin"))
        subprocess.run(["node", script, folder], check=True, env={**os.environ, "FERRY_PEERS": peers},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(folder, "outputs.json"), encoding="utf-8") as file:
            outputs = json.load(file)
        if "error" in outputs:
            raise RuntimeError(f"the interpreter refuses the file: {outputs['error']}")
        return [np.fromfile(os.path.join(folder, f"output{i}.bin"), output["type"]).reshape(output["shape"])
                for i, output in enumerate(outputs)], library
