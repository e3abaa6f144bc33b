#!/usr/bin/env python3
"""Makes tests/data/tflite/operators.safetensors: what TensorFlow Lite's interpreter computes of the cases in
the files *_cases.cc. Keys are CASE/OUTPUT.

    npm install --prefix DIR @tensorflow/tfjs-tflite@0.0.1-alpha.10
    FERRY_WRITE_TFLITE=CASES build/dev/bin/tflite_tests --gtest_filter=TfliteOperators.*
    FERRY_PEERS=DIR tests/tflite/make_operators.py CASES
"""
import json
import pathlib
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {"float32": "F32", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "bool": "BOOL"}


def main():
    folders = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
    subprocess.run(["node", HERE / "interpret.cjs", *folders], check=True)
    header, data = {}, b""
    for folder in folders:
        outputs = json.loads((folder / "outputs.json").read_text())
        if "error" in outputs:
            sys.exit(f"{folder.name}: {outputs['error']}")
        for i, output in enumerate(outputs):
            raw = (folder / f"output{i}.bin").read_bytes()
            header[f"{folder.name}/{output['name']}"] = {
                "dtype": TYPES[output["type"]], "shape": output["shape"],
                "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
    text = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    text += b" " * (-len(text) % 8)
    target = HERE.parent / "data" / "tflite" / "operators.safetensors"
    target.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{len(header)} outputs of {len(folders)} cases, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
