"""MediaPipe's face mesh with attention, which no published interpreter runs: its custom operators are computed here
with NumPy, by the formulas of mediapipe/util/tflite/operations, and the others by TensorFlow Lite's interpreter."""
import json
import pathlib
import struct
import subprocess
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


class Table:
    """A table of a flatbuffer."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - struct.unpack_from("<i", data, at)[0]

    def place(self, field):
        if 4 + 2 * field >= struct.unpack_from("<H", self.data, self.fields)[0]:
            return 0
        offset = struct.unpack_from("<H", self.data, self.fields + 4 + 2 * field)[0]
        return self.at + offset if offset else 0

    def number(self, field, default=0):
        place = self.place(field)
        return struct.unpack_from("<I", self.data, place)[0] if place else default

    def vector(self, field):
        """Where its elements begin, and how many there are."""
        place = self.place(field)
        if not place:
            return 0, 0
        at = place + struct.unpack_from("<I", self.data, place)[0]
        return at + 4, struct.unpack_from("<I", self.data, at)[0]

    def numbers(self, field):
        at, count = self.vector(field)
        return list(struct.unpack_from(f"<{count}i", self.data, at))

    def bytes(self, field):
        at, count = self.vector(field)
        return bytes(self.data[at:at + count])

    def tables(self, field):
        at, count = self.vector(field)
        return [Table(self.data, p + struct.unpack_from("<I", self.data, p)[0]) for p in range(at, at + 4 * count, 4)]


class Network:
    """The first subgraph of a .tflite file."""

    def __init__(self, data):
        self.data = data
        model = Table(data, struct.unpack_from("<I", data)[0])
        codes, self.graph = model.tables(1), model.tables(2)[0]
        self.tensors, self.operators = self.graph.tables(0), self.graph.tables(3)
        self.inputs, self.outputs = self.graph.numbers(1), self.graph.numbers(2)
        self.customs = [codes[op.number(0)].bytes(1).decode() for op in self.operators]  # "": no custom operator

    def shape(self, tensor):
        return self.tensors[tensor].numbers(0)

    def output_names(self):
        return [self.tensors[t].bytes(3).decode() for t in self.outputs]

    def part(self, operators, inputs, outputs):
        """A file of some operators with other inputs and outputs."""
        data = bytearray(self.data)
        at, _ = self.graph.vector(3)
        struct.pack_into("<I", data, at - 4, len(operators))
        for i, op in enumerate(operators):
            struct.pack_into("<I", data, at + 4 * i, self.operators[op].at - (at + 4 * i))
        data += b"\0" * (-len(data) % 4)
        for field, tensors in ((1, inputs), (2, outputs)):
            struct.pack_into("<I", data, self.graph.place(field), len(data) - self.graph.place(field))
            data += struct.pack(f"<{len(tensors) + 1}i", len(tensors), *tensors)
        return data


def invoke(file, inputs):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "model.tflite").write_bytes(file)
        for i, values in enumerate(inputs):
            (folder / f"input{i}.bin").write_bytes(np.asarray(values, "<f4").tobytes())
        subprocess.run(["node", HERE / "interpret.cjs", folder], check=True, stderr=subprocess.DEVNULL)
        described = json.loads((folder / "outputs.json").read_text())
        assert isinstance(described, list), described
        return [np.fromfile(folder / f"output{i}.bin", "<f4") for i in range(len(described))]


def options_of(data):
    """The numbers and lists of numbers of a flexbuffer's map."""
    def scalar(at, width, kind):
        return struct.unpack_from("<" + ({1: "b", 2: "h", 4: "i", 8: "q"} if kind == 1 else {4: "f", 8: "d"})[width], data, at)[0]

    def unsigned(at, width):
        return int.from_bytes(data[at:at + width], "little")

    root_width = data[-1]
    root = len(data) - 2 - root_width
    width = 1 << (data[-2] & 3)
    at = root - unsigned(root, root_width)
    count = unsigned(at - width, width)
    keys, keys_width = at - 3 * width - unsigned(at - 3 * width, width), unsigned(at - 2 * width, width)
    found = {}
    for i in range(count):
        key = keys + i * keys_width
        key -= unsigned(key, keys_width)
        packed, place = data[at + count * width + i], at + i * width
        kind, value_width = packed >> 2, 1 << (packed & 3)
        if kind in (1, 3):
            value = scalar(place, width, kind)
        else:  # a vector of integers
            list_at = place - unsigned(place, width)
            value = [scalar(list_at + k * value_width, value_width, 1)
                     for k in range(unsigned(list_at - value_width, value_width))]
        found[data[key:data.index(0, key)].decode()] = value
    return found


def landmarks_to_transform_matrix(options, points):
    points = points.reshape(-1, 3)[:, :2]
    line = points[options["right_rotation_idx"]] - points[options["left_rotation_idx"]]
    angle = options["target_rotation_radians"] - np.arctan2(line[1], line[0])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    upright = points[options["subset_idxs"]] @ turn.T
    low, high = upright.min(0), upright.max(0)
    centre = turn.T @ ((low + high) / 2)
    size = np.array([options["output_width"], options["output_height"]])
    scale = np.array([options["scale_x"], options["scale_y"]]) * (high - low) / size
    matrix = np.eye(4)
    matrix[:2, :2] = turn.T * scale
    matrix[:2, 3] = centre - matrix[:2, :2] @ (size / 2)
    return matrix


def transform_tensor_bilinear(image, matrix, height, width):
    y, x = np.mgrid[:height, :width] + 0.5
    at_x = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 3] - 0.5
    at_y = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 3] - 0.5
    inside = (at_x >= 0) & (at_x <= image.shape[1] - 1) & (at_y >= 0) & (at_y <= image.shape[0] - 1)
    padded = np.pad(image, ((0, 1), (0, 1), (0, 0)))
    left, top = np.where(inside, np.floor(at_x), 0).astype(int), np.where(inside, np.floor(at_y), 0).astype(int)
    right, lower = (at_x - left)[..., None], (at_y - top)[..., None]
    upper_row = padded[top, left] * (1 - right) + padded[top, left + 1] * right
    lower_row = padded[top + 1, left] * (1 - right) + padded[top + 1, left + 1] * right
    return np.where(inside[..., None], upper_row * (1 - lower) + lower_row * lower, 0)


def transform_landmarks(points, matrix):
    return points @ matrix[:2, :2].T + matrix[:2, 3]


def interpret_attention(path, values):
    """The outputs of the network, flat."""
    network = Network(pathlib.Path(path).read_bytes())
    given = {network.inputs[0]: np.asarray(values, "<f4").reshape(-1)}  # and the outputs of custom operators

    def value(tensor):
        if tensor in given:
            result = given[tensor]
        else:  # by the operators whose inputs are known
            usable, unknown = [], set()
            for i, op in enumerate(network.operators):
                if network.customs[i] or unknown & set(op.numbers(1)):
                    unknown |= set(op.numbers(2)) - set(given)
                else:
                    usable.append(i)
            result = invoke(network.part(usable, list(given), [tensor]), given.values())[0]
        return result.reshape(network.shape(tensor)).astype(np.float64)

    for i, op in enumerate(network.operators):
        inputs, output = op.numbers(1), op.numbers(2)[0]
        if network.customs[i] == "Landmarks2TransformMatrix":
            result = landmarks_to_transform_matrix(options_of(op.bytes(5)), value(inputs[0]))
        elif network.customs[i] == "TransformTensorBilinear":
            result = transform_tensor_bilinear(value(inputs[0])[0], value(inputs[1])[0], *network.shape(output)[1:3])
        elif network.customs[i] == "TransformLandmarks":
            result = transform_landmarks(value(inputs[0])[0], value(inputs[1])[0])
        else:
            continue
        given[output] = result.astype("<f4").reshape(-1)
    return [value(tensor).reshape(-1) for tensor in network.outputs]
