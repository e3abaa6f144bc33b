# SPDX-License-Identifier: Apache-2.0
"""What the tests share: where things are, and what does not run without what is not there."""
import os, subprocess

import ferry
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
COMMAND = os.environ.get("FERRY_COMMAND", "")  # the built `ferry`


def golden(name):
    """A small blob that a released converter wrote (tests/golden/README.md)."""
    return os.path.join(GOLDEN, name + ".ferry")


def golden_numbers(name):
    """What the oracle computes from golden_input()s: flat arrays by output, channels last."""
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
    """What a golden blob's numbers are computed from."""
    out = {}
    with ferry.Model(golden(name)) as model:
        for n, port in enumerate(model.inputs):
            count = int(np.prod(port.shape))
            values = (np.arange(count) * 7 + 3) % 11 if port.dtype == np.int32 else noise(n, count)
            out[port.name] = values.astype(port.dtype).reshape(port.shape)
    return out


def blob(name):
    """One that test_blobs.cc wrote."""
    return os.path.join(os.environ["FERRY_TEST_BLOBS"], name + ".ferry")


def command(*arguments, status=0, program=COMMAND):
    """What `ferry` prints; AssertionError where it ends with another status."""
    # An instrumented program has the sanitizers' runtime in it, and Python needs it before.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([program, *map(str, arguments)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode != status:
        raise AssertionError(f"{program} {' '.join(map(str, arguments))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout
