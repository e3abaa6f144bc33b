#!/usr/bin/env python3
"""Writes tests/data/onnx/optimized/NAME/: networks of tests/data/onnx as ONNX Runtime's optimizer rewrites them.

    FERRY_PEERS=FOLDER /usr/bin/python3 tests/conformance/make_optimized.py tests/data/onnx

Needs Debian's python3-onnx and python3-numpy, node, and ONNX Runtime from npm (onnxruntime-node) in
FERRY_PEERS/node_modules. The level is 'extended'; inputs and outputs are the network's own, PyTorch's.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import onnx
from onnx import numpy_helper

NETWORKS = ["vit", "vit_batch", "cnn"]


def read_tensor(path):
    tensor = onnx.TensorProto()
    with open(path, "rb") as f:
        tensor.ParseFromString(f.read())
    return numpy_helper.to_array(tensor)


def main():
    root, jobs = sys.argv[1], []
    with tempfile.TemporaryDirectory() as scratch:
        for name in NETWORKS:
            source, target = os.path.join(root, name), os.path.join(root, "optimized", name)
            os.makedirs(target, exist_ok=True)
            shutil.copytree(os.path.join(source, "test_data_set_0"), os.path.join(target, "test_data_set_0"),
                            dirs_exist_ok=True)
            folder = os.path.join(scratch, name)
            os.makedirs(folder)
            inputs = []
            for i, value in enumerate(onnx.load(os.path.join(source, "model.onnx")).graph.input):
                array = read_tensor(os.path.join(source, "test_data_set_0", f"input_{i}.pb"))
                array.tofile(os.path.join(folder, value.name + ".bin"))
                inputs.append({"name": value.name, "type": array.dtype.name, "dims": array.shape})
            jobs.append({"model": os.path.join(source, "model.onnx"), "folder": folder, "level": "extended",
                         "optimized": os.path.join(target, "model.onnx"), "inputs": inputs})
        with open(os.path.join(scratch, "jobs.json"), "w") as f:
            json.dump(jobs, f)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_outputs.mjs")
        subprocess.run(["node", script, os.path.join(scratch, "jobs.json")], check=True)


if __name__ == "__main__":
    main()
