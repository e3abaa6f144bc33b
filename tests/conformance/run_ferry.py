"""What random_graphs.py and random_exports.py share: a file in Ferry, and the distance of its outputs."""
import argparse
import json
import os
import re
import subprocess

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMES = {np.dtype("float32"): "F32", np.dtype("int32"): "I32", np.dtype("int64"): "I64", np.dtype("bool"): "BOOL",
         np.dtype("float64"): "F64", np.dtype("uint8"): "U8", np.dtype("int8"): "I8"}
TYPES = {name: dtype for dtype, name in NAMES.items()}


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the first network; the next ones count from it")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--ferry", default=os.path.join(ROOT, "build", "dev", "bin", "ferry"))
    parser.add_argument("--bound", type=float, default=1e-4, help="of the largest difference over the largest magnitude")
    parser.add_argument("--keep", metavar="FOLDER", help="writes the networks there, too")
    return parser


def write_tensors(path, tensors):
    header, data = {}, b""
    for name, a in tensors.items():
        header[name] = {"dtype": NAMES[a.dtype], "shape": list(a.shape), "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def read_tensors(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        data = f.read()
    return {name: np.frombuffer(data[slice(*e["data_offsets"])], TYPES[e["dtype"]]).reshape(e["shape"])
            for name, e in header.items() if name != "__metadata__"}


def run_ferry(ferry, model, inputs, folder):
    """The outputs by name; or the sentence with which Ferry refuses the file."""
    blob, given, got = (os.path.join(folder, name) for name in ("net.ferry", "in.safetensors", "out.safetensors"))
    write_tensors(given, inputs)
    for command in ([ferry, "convert", model, "--detect", "none", "-o", blob],
                    [ferry, "run", blob, "--tensors", given, "--save", got]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else "exit code %d" % done.returncode
    return read_tensors(got)


def difference(got, expected, bound):
    """What differs; empty if nothing does."""
    for name, want in expected.items():
        if name not in got:
            return "output '%s' is missing" % name
        if got[name].shape != want.shape:
            return "%s is %s, expected %s" % (name, got[name].shape, want.shape)
        a, b = got[name].astype(np.float64), want.astype(np.float64)
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return "%s has other infinities or NaN" % name
        finite = np.isfinite(b)
        largest = np.abs(b[finite]).max(initial=1e-6)
        distance = np.abs(a[finite] - b[finite]).max(initial=0) / largest
        if distance > bound:
            return "%s differs by %.2e of %.4g" % (name, distance, largest)
    return ""


class Verdicts:
    """What comes of many networks. `known`: patterns of sentences with which Ferry refuses by design."""

    def __init__(self, args, known=()):
        self.args, self.known, self.wrong, self.refused = args, known, [], []

    def judge(self, seed, path, inputs, expected, folder):
        """Whether the file agrees with `expected`."""
        got = run_ferry(self.args.ferry, path, inputs, folder)
        if isinstance(got, str):
            if not any(re.search(known, got) for known in self.known):
                self.refused.append((seed, got))
            return False
        why = difference(got, expected, self.args.bound)
        if why:
            self.wrong.append((seed, why))
        return not why

    def summary(self, count):
        wrong, refused = self.wrong, self.refused
        print("%d networks: %d agree, %d refused, %d wrong" % (count, count - len(wrong) - len(refused), len(refused),
                                                               len(wrong)))
        for kind, list_ in (("refused", refused), ("wrong", wrong)):
            for seed, why in list_:
                print("  %s: seed %d: %s" % (kind, seed, why))
        return 1 if wrong or refused else 0
