#!/usr/bin/env python3
"""Writes the fixture of the camera example's certificate, computed by ONNX Runtime (npm's onnxruntime-node):

    make_detector_fixture.py version-RFB-320.onnx examples/android-camera/certificate/ultraface_rfb_320

The input follows from the seed. Outputs are the blob's: boxes as the network has them, and the probability of a face.
Both are samples. ONNX Runtime computes in float32, so the fixture has no floor.
"""
import hashlib, json, os, subprocess, sys, tempfile
import numpy as np
from fixture_files import entry, input_entry, seeded_image, write_files

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import peers  # noqa: E402

SEED, SHAPE, SAMPLES = 0, (1, 3, 240, 320), 512


def main(model, folder):
    peers.install_onnxruntime()
    image, stored = seeded_image(SHAPE, SEED), {}
    with tempfile.TemporaryDirectory() as scratch:
        image.tofile(os.path.join(scratch, "input.f32"))
        words = ["node", os.path.join(peers.HERE, "ort_run.mjs"), model, "input=" + "x".join(map(str, SHAPE)), scratch]
        shapes = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, env=peers.ENVIRONMENT).stdout)
        found = {name: np.fromfile(os.path.join(scratch, name + ".f32"), "<f4").reshape(shape).astype(np.float64)
                 for name, shape in shapes.items()}
    with open(os.path.join(peers.CACHE, "node_modules", "onnxruntime-node", "package.json"), encoding="utf-8") as file:
        version = json.load(file)["version"]
    with open(model, "rb") as file:
        sha256 = hashlib.sha256(file.read()).hexdigest()
    outputs = [entry(name, values, values, SAMPLES, stored)
               for name, values in (("boxes", found["boxes"]), ("scores", found["scores"][:, :, 1:]))]
    for item in outputs:
        del item["float32_vs_float64"]
    write_files(folder, {
        "library": {"name": "onnxruntime", "version": version}, "seed": SEED, "arch": os.path.basename(model),
        "checkpoint": {"sha256": sha256},
        "generator": {"id": "cbrng-1", "doc": "bindings/python/ferry/fixture_files.py"},
        "inputs": [input_entry("input/input", image, stored, SAMPLES)], "outputs": outputs, "taps": []}, stored)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
