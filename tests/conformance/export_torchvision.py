#!/usr/bin/python3
"""Exports torchvision's networks, each with an input and what PyTorch computes for it, for conformance_tests.

    export_torchvision.py [--full] [--out DIR] [NAME ...]

Needs Debian's python3-torch, python3-torchvision and python3-onnx. Without --out the folders come to be in the cache,
where conformance_tests look for them; what is there stays. Inputs are small, so that the tests take seconds; --full takes
the networks' own sizes:

    export_torchvision.py --full --out DIR
    FERRY_TORCHVISION=DIR conformance_tests --gtest_filter='*Torchvision*'

Weights are random. Detection's post-processing is left out: what comes before it are two heads, scores and boxes.
"""
import argparse
import os
import shutil
import warnings

import torch

from make_exported import write_case
from torchvision_networks import NETWORKS, build

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ferry", "torchvision")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(NETWORKS), help=", ".join(NETWORKS))
    parser.add_argument("--full", action="store_true", help="inputs of the networks' own size")
    parser.add_argument("--out", default=CACHE, metavar="DIR")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name in args.names:
        folder = os.path.join(args.out, name)
        if os.path.isdir(folder):
            continue
        side = NETWORKS[name].side if args.full else NETWORKS[name].small_side
        model = build(name, side)
        shutil.rmtree(folder + ".part", ignore_errors=True)
        write_case(folder + ".part", model, torch.randn(1, 3, side, side))
        os.rename(folder + ".part", folder)
        print(name, flush=True)


if __name__ == "__main__":
    main()
