#!/usr/bin/env python3
"""Makes tests/data/tflite/mediapipe.safetensors: what TensorFlow Lite's interpreters compute of MediaPipe's networks.
Keys are FILE/OUTPUT; each has 64 elements of the output, evenly spaced. Needs NumPy.

    npm install --prefix DIR @tensorflow/tfjs-tflite@0.0.1-alpha.10 @litertjs/core@2.5.3 @litertjs/wasm-utils@2.5.3
    FERRY_PEERS=DIR tests/tflite/make_mediapipe.py
"""
import array
import json
import pathlib
import shutil
import struct
import subprocess
import tempfile

from interpret_attention import Network, interpret_attention

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = 64
SEED = 7
# File, package of scripts/fetch-npm, elements of the input, names of the outputs if only LiteRT runs it.
NETWORKS = [
    ("face_detection_short_range", "face-detection", 128 * 128 * 3, None),
    ("face_detection_full_range_sparse", "face-detection", 192 * 192 * 3, None),
    ("hand_landmark_lite", "hands", 224 * 224 * 3, None),
    ("pose_landmark_lite", "pose", 256 * 256 * 3, None),
    ("selfie_segmentation", "selfie-segmentation", 256 * 256 * 3, ["activation_10"]),
]
ATTENTION = "face_landmark_with_attention", "face-mesh", 192 * 192 * 3  # which none runs


def random_values(count):
    """As random_values() in file_builder.h."""
    state, values = (SEED * 2654435761 + 12345) % 2**32, array.array("f")
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**32
        values.append(-1 + 2 * (state >> 16) / 65536)
    return values


def path_of(name, package):
    fetched = subprocess.run([HERE.parent.parent / "scripts" / "fetch-npm", package], check=True, text=True,
                             capture_output=True).stdout.strip()
    return pathlib.Path(fetched) / f"{name}.tflite"


def interpret(path, elements, outputs):
    """The outputs by name."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        shutil.copy(path, folder / "model.tflite")
        (folder / "input0.bin").write_bytes(random_values(elements).tobytes())
        script = "interpret.cjs" if outputs is None else "interpret_litert.cjs"
        subprocess.run(["node", HERE / script, folder], check=True, stderr=subprocess.DEVNULL)
        if outputs is None:
            outputs = [output["name"] for output in json.loads((folder / "outputs.json").read_text())]
        return {name: array.array("f", (folder / f"output{i}.bin").read_bytes()) for i, name in enumerate(outputs)}


def main():
    found = {}
    for name, package, elements, outputs in NETWORKS:
        for output, values in interpret(path_of(name, package), elements, outputs).items():
            found[f"{name}/{output}"] = values
    name, package, elements = ATTENTION
    path = path_of(name, package)
    for output, values in zip(Network(path.read_bytes()).output_names(),
                              interpret_attention(path, random_values(elements))):
        found[f"{name}/{output}"] = values
    header, data = {}, b""
    for key, values in found.items():
        samples = array.array("f", (values[k * len(values) // SAMPLES] for k in range(SAMPLES))).tobytes()
        header[key] = {"dtype": "F32", "shape": [SAMPLES], "data_offsets": [len(data), len(data) + len(samples)]}
        data += samples
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    target = HERE.parent / "data" / "tflite" / "mediapipe.safetensors"
    target.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{len(header)} outputs, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
