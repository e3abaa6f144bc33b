#!/usr/bin/env python3
"""Writes tests/data/onnx/microsoft/NAME/: operators of the domain com.microsoft, with inputs and expected outputs.

    FERRY_PEERS=FOLDER /usr/bin/python3 tests/conformance/make_microsoft.py tests/data/onnx/microsoft [NAME...]

Needs Debian's python3-onnx and python3-numpy, node, and ONNX Runtime from npm (onnxruntime-node) in
FERRY_PEERS/node_modules. The folders look like the ONNX project's node tests: model.onnx,
test_data_set_0/input_0.pb and output_0.pb. The outputs are ONNX Runtime's, without its optimizer; of operators that
its CPU provider lacks, NumPy's by the operator's definition.
"""

import json
import os
import subprocess
import sys
import tempfile

import microsoft_attention
import microsoft_others
import microsoft_quantized
import numpy as np
import onnx
from microsoft_case import Case
from onnx import numpy_helper

TYPES = {"float32": np.float32, "float16": np.float16, "int8": np.int8, "uint8": np.uint8, "bool": np.bool_,
         "int32": np.int32, "uint32": np.uint32, "int64": np.int64}
CASES = microsoft_others.CASES + microsoft_attention.CASES + microsoft_quantized.CASES


def write_tensor(path, name, array):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(array, name).SerializeToString())


def run_all(cases, scratch):
    """ONNX Runtime's outputs by case and name. A node that it cannot run gets the values that the case defines."""
    jobs = []
    for case in cases:
        for i, node in enumerate(case.nodes):  # node by node, so that one without a kernel stops no other
            folder = os.path.join(scratch, f"{case.name}_{i}")
            os.makedirs(folder)
            onnx.save(case.model([node]), os.path.join(folder, "model.onnx"))
            for name, array in case.inputs.items():
                array.tofile(os.path.join(folder, name + ".bin"))
            jobs.append({"model": os.path.join(folder, "model.onnx"), "folder": folder, "level": "disabled",
                         "inputs": [{"name": n, "type": a.dtype.name, "dims": a.shape} for n,
                                    a in case.inputs.items()]})
    with open(os.path.join(scratch, "jobs.json"), "w") as f:
        json.dump(jobs, f)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_outputs.mjs")
    subprocess.run(["node", script, os.path.join(scratch, "jobs.json")], check=True)
    results = {}
    for case in cases:
        for i, node in enumerate(case.nodes):
            folder = os.path.join(scratch, f"{case.name}_{i}")
            with open(os.path.join(folder, "outputs.json")) as f:
                outputs = json.load(f)
            wanted = [o for o in node.output if o]
            if "error" in outputs:
                if any(o not in case.defined for o in wanted):
                    sys.exit(f"{case.name}, node {i} ({node.op_type}): {outputs['error']}")
                print(f"{case.name}: {node.op_type} is by definition: {outputs['error'][:90]}")
                continue
            for o in outputs:
                array = np.fromfile(os.path.join(folder, o["name"] + ".bin"), TYPES[o["type"]]).reshape(o["dims"])
                results[case.name, o["name"]] = array
                if o["name"] in case.defined:
                    worst = np.abs(array.astype(float) - case.defined[o["name"]].astype(float)).max()
                    if worst > 1e-3:
                        print(f"{case.name}, {o['name']} ({node.op_type}): the definition differs by {worst}")
    return results


def main():
    target, wanted = sys.argv[1], sys.argv[2:]
    cases = []
    for build in CASES:
        if not wanted or build.__name__ in wanted:
            cases.append(Case(build.__name__))
            build(cases[-1])
    with tempfile.TemporaryDirectory() as scratch:
        results = run_all(cases, scratch)
    for case in cases:
        folder = os.path.join(target, case.name)
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        onnx.save(case.model(case.nodes), os.path.join(folder, "model.onnx"))
        for i, (name, array) in enumerate(case.inputs.items()):
            write_tensor(os.path.join(data, f"input_{i}.pb"), name, array)
        for i, (name, dtype) in enumerate(case.outputs):
            array = results.get((case.name, name), case.defined.get(name))
            write_tensor(os.path.join(data, f"output_{i}.pb"), name, np.ascontiguousarray(array.astype(dtype)))


if __name__ == "__main__":
    main()
