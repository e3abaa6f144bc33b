# SPDX-License-Identifier: Apache-2.0
"""ferry.fixture() records a .tflite file's results, and `ferry parity` and `ferry bisect` check a blob with them."""
import os, shutil, sys, tempfile, unittest
from types import ModuleType
from unittest import mock

import ferry
import numpy as np
from ferry import fixture_files
from ferry.tflite_file import TfliteFile
from support import command

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORKS = os.path.join(HERE, "..", "..", "..", "tests", "data", "tflite", "taps")


class Interpreter:
    """Answers what the repository's fixture has, so that no interpreter need be installed."""

    folder = None

    def __init__(self, model_content):
        path = os.path.join(tempfile.mkdtemp(), "seen.tflite")
        with open(path, "wb") as file:
            file.write(model_content)
        self.file = TfliteFile(path)
        shutil.rmtree(os.path.dirname(path))
        self.given = {}

    def allocate_tensors(self):
        pass

    def get_input_details(self):
        return [{"index": t.index, "shape": t.shape} for t in self.file.inputs.values()]

    def get_output_details(self):
        return [{"index": t.index} for t in self.file.outputs.values()]

    def set_tensor(self, index, array):
        assert array.dtype == self.file.tensors[index].type, array.dtype
        self.given[index] = array

    def invoke(self):
        assert len(self.given) == len(self.file.inputs)

    def get_tensor(self, index):
        tensor = self.file.tensors[index]
        stored = fixture_files.read_safetensors(os.path.join(self.folder, "fixture", "fixture.safetensors"))
        return tensor.stored(stored["tap/" + tensor.name])


def interpreting(folder):
    runtime = ModuleType("ai_edge_litert")
    runtime.__version__ = "2.0"
    made = ModuleType("ai_edge_litert.interpreter")
    made.Interpreter = type("Interpreter", (Interpreter,), {"folder": folder})
    return mock.patch.dict(sys.modules, {"ai_edge_litert": runtime, "ai_edge_litert.interpreter": made})


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_a_file_is_recorded_and_compared(self):
        for name in ("floats", "integers"):
            network, blob = os.path.join(NETWORKS, name, "model.tflite"), self.path(f"{name}.ferry")
            with interpreting(os.path.join(NETWORKS, name)):
                recorded = ferry.fixture(network, None, self.path(name), seed=1)
            command("convert", network, "--keep-taps", "-o", blob)
            self.assertIn("7 tensors compared, all in bounds", command("parity", blob, recorded))
            self.assertIn("every tensor is in bounds", command("bisect", blob, network, "--fixture", recorded))
            command("convert", network, "--certify", recorded, "-o", blob)
            command("verify", blob)

    def test_names_and_outputs(self):
        file = TfliteFile(os.path.join(NETWORKS, "integers", "model.tflite"))
        self.assertEqual((list(file.inputs), list(file.outputs)), (["in0"], ["t5"]))
        self.assertEqual(list(file.values), ["t0", "t1", "t2", "t3", "t4", "t5"])
        self.assertTrue(file.quantised)
        longer = self.path("longer.tflite")
        with open(longer, "wb") as out:
            out.write(file.with_outputs([file.values["t1"].index, file.values["t0"].index]))
        self.assertEqual(list(TfliteFile(longer).outputs), ["t5", "t1", "t0"])
        tensor = file.values["t0"]
        integers = np.arange(-128, 128)
        np.testing.assert_array_equal(tensor.stored(tensor.real(integers)), integers)

    def test_mistakes(self):
        network = os.path.join(NETWORKS, "floats", "model.tflite")
        for message, arguments in (("no value is called 'x'", {"taps": ["x"]}),
                                   ("no signature is called 'x'", {"network": "x"})):
            with self.assertRaisesRegex(ValueError, message):
                ferry.fixture(network, None, self.path("refused"), **arguments)
        with interpreting(NETWORKS), self.assertRaisesRegex(ValueError, "the file has"):
            ferry.fixture(network, (1, 4, 4, 3), self.path("refused"))
        with open(network, "rb") as file:
            data = file.read()
        for length in range(8, len(data), 97):
            damaged = self.path("damaged.tflite")
            with open(damaged, "wb") as out:
                out.write(data[:length])
            try:
                TfliteFile(damaged)
            except ValueError:
                pass


if __name__ == "__main__":
    unittest.main()
