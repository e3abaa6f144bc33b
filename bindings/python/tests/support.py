# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests: locations of blobs and programs, and skips for missing ones."""
import os, subprocess

import ferry
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
COMMAND = os.environ.get("FERRY_COMMAND", "")  # the built `ferry`


def golden(name):
    """A small blob written by a released converter (tests/golden/README.md)."""
    return os.path.join(GOLDEN, name + ".ferry")


def golden_numbers(name):
    """The oracle's results for golden_input(): flat arrays by output, channels last."""
    with open(os.path.join(GOLDEN, name + ".txt")) as file:
        rows = [line.split() for line in file]
    return {row[0]: np.array(row[1:], float) for row in rows}


def noise(seed, count):
    """As in tests/support/blobs.cc: multiples of 2^-10 on [-0.5, 0.5)."""
    x = np.array([seed], np.uint32) * np.uint32(0x9E3779B9) + np.arange(count, dtype=np.uint32) * np.uint32(0x85EBCA6B)
    x += np.uint32(0xC2B2AE35)
    x = (x ^ (x >> 15)) * np.uint32(0x2C1B3C6D)
    x = (x ^ (x >> 12)) * np.uint32(0x297A2D39)
    return ((x ^ (x >> 15)) >> 22).astype(np.float32) / 1024 - np.float32(0.5)


def golden_inputs(name):
    """The input of a golden blob's results."""
    out = {}
    with ferry.Model(golden(name)) as model:
        for n, port in enumerate(model.inputs):
            count = int(np.prod(port.shape))
            values = (np.arange(count) * 7 + 3) % 11 if port.dtype == np.int32 else noise(n, count)
            out[port.name] = values.astype(port.dtype).reshape(port.shape)
    return out


def blob(name):
    """A blob written by test_blobs.cc."""
    return os.path.join(os.environ["FERRY_TEST_BLOBS"], name + ".ferry")


def command(*arguments, status=0, program=COMMAND):
    """The output of `ferry`; AssertionError for another exit status."""
    # An instrumented program contains the sanitizers' runtime, which Python preloads.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([program, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != status:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout
