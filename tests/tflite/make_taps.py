#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fixtures of tests/data/tflite/taps: what TensorFlow Lite's interpreter computes of two networks.

    FERRY_WRITE_TFLITE_TAPS=tests/data/tflite/taps build/dev/bin/tflite_tests --gtest_filter='TfliteTaps.*'
    FERRY_LIBRARY=build/dev/lib FERRY_PEERS=DIR PYTHONPATH=bindings/python tests/tflite/make_taps.py tests/data/tflite/taps

DIR: as in make_operators.py.
"""
import os, sys

import ferry

for name in ("floats", "integers"):
    folder = os.path.join(sys.argv[1], name)
    print(ferry.fixture(os.path.join(folder, "model.tflite"), None, os.path.join(folder, "fixture"), seed=1, arch=name))
