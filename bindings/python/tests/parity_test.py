# SPDX-License-Identifier: Apache-2.0
"""ferry.verify() has the same results as `ferry parity`, and finds planted errors."""
import json, os, shutil, struct, tempfile, unittest

import ferry
import numpy as np
from ferry import fixture_files, parity
from support import COMMAND, ROOT, command

FIXTURES = os.path.join(ROOT, "tests", "data", "fixtures")


def fixture_of(name):
    return os.path.join(FIXTURES, name)


class Fixtures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.checkpoint = os.path.join(cls.folder, "lraspp_mobilenet_v3_large.safetensors")
        maker = os.path.join(os.path.dirname(COMMAND), "make_checkpoint")
        command(os.path.join(fixture_of("lraspp_mobilenet_v3_large"), "manifest.json"), cls.checkpoint, program=maker)

    def convert(self, *options, checkpoint=None, name="m.ferry"):
        path = os.path.join(self.folder, name)
        command("convert", checkpoint or self.checkpoint, "--num-classes", "5", *options, "-o", path)
        return path

    def parity(self, path, fixture, status):
        report = os.path.join(self.folder, "report.json")
        command("parity", path, fixture, "--json", report, status=status)
        with open(report) as file:
            return json.load(file)

    def compared(self, path, status=0):
        """Both have the same result."""
        fixture = fixture_of("lraspp_mobilenet_v3_large")
        theirs = self.parity(path, fixture, status)
        with ferry.Model(path) as model:
            ours = ferry.verify(model, fixture)
        self.assertEqual(ours.passed, theirs["passed"])
        self.assertEqual(bool(ours), status == 0)
        rows = {row["name"]: row for row in theirs["rows"]}
        self.assertEqual({stage.name for stage in ours.stages}, set(rows))
        for stage in ours.stages:
            row = rows[stage.name]
            self.assertEqual((list(stage.shape), stage.compared, stage.bound, stage.in_bounds),
                             (row["shape"], row["compared"], row["bound"], row["in_bounds"]))
            # The JSON of `ferry parity` has rounded numbers.
            np.testing.assert_allclose(stage.max_abs_error, row["max_abs_error"], rtol=1e-5)
            np.testing.assert_allclose(stage.relative_error, row["relative_error"], rtol=1e-5)
        self.assertEqual(set(ours.not_in_blob), set(theirs["not_in_blob"]))
        self.assertEqual(ours.first_out_of_bounds and ours.first_out_of_bounds.name, theirs["first_out_of_bounds"])
        self.assertEqual(ours.worst.name, theirs["worst"])
        self.assertIn(ours.worst.name, str(ours))
        return ours

    def test_a_right_blob_is_in_bounds_with_taps_and_as_released(self):
        whole = self.compared(self.convert("--keep-taps"))
        released = self.compared(self.convert())
        self.assertGreater(len(whole.stages), len(released.stages))
        self.assertEqual(whole.missing, [])

    def test_a_wrong_weight_is_found_at_the_tensor_that_it_touches_first(self):
        tensors = {name: array.copy() for name, array in fixture_files.read_safetensors(self.checkpoint).items()}
        tensors["backbone.4.block.1.0.weight"][0, 0, 0, 0] += 0.5
        wrong = os.path.join(self.folder, "wrong.safetensors")
        fixture_files.write_safetensors(wrong, tensors)
        result = self.compared(self.convert("--keep-taps", checkpoint=wrong), status=1)
        self.assertRegex(result.first_out_of_bounds.name, r"^tap/backbone\.4\.block\.1")

    def test_names_are_printed_as_one_line_each(self):
        stage = parity.Stage("a\n\x1b[2J\u202e", (1,), 1, 0.0, 0.0, None, 1.0, True)
        table = str(parity.Comparison("f", "l", [stage], ["b\r\x9b"]))
        self.assertEqual(len(table.split("\n")), 3)
        self.assertIn("a\\n\\x1b[2J\\u202e", table)
        self.assertIn("b\\r\\x9b", table)

    def test_certificates_are_verified(self):
        fixture = fixture_of("lraspp_mobilenet_v3_large")
        path = self.convert("--certify", fixture, name="certified.ferry")
        with ferry.Model(path) as model:
            result = ferry.verify(model)
            self.assertEqual(result, model.verify())
            self.assertTrue(result)
            self.assertEqual((result.fixture, result.library.split()[0]), ("lraspp_mobilenet_v3_large", "torchvision"))
            self.assertLessEqual(result.error, result.bound)
        # The blob stores the head's bias as the checkpoint does.
        bias = fixture_files.read_safetensors(self.checkpoint)["classifier.high_classifier.bias"].tobytes()
        with open(path, "rb") as file:
            blob = file.read()
        self.assertEqual(blob.count(bias), 1)
        damaged = os.path.join(self.folder, "damaged.ferry")
        with open(damaged, "wb") as file:
            file.write(blob.replace(bias, struct.pack("<5f", *range(5))))
        with ferry.Model(damaged) as model:
            self.assertFalse(model.verify())
            self.assertFalse(ferry.verify(model, fixture))
        with ferry.Model(self.convert()) as model, self.assertRaises(ferry.Error) as raised:
            model.verify()
        self.assertEqual(raised.exception.status, "NOT_FOUND")

    def test_folders_that_hold_no_fixture_or_another_are_refused(self):
        fixture = fixture_of("lraspp_mobilenet_v3_large")
        with ferry.Model(self.convert()) as model:

            def refused(words, change=None, stored=None):
                with tempfile.TemporaryDirectory() as folder:
                    shutil.copytree(fixture, folder, dirs_exist_ok=True)
                    with open(os.path.join(folder, "manifest.json")) as file:
                        manifest = json.load(file)
                    if change:
                        change(manifest)
                    with open(os.path.join(folder, "manifest.json"), "w") as file:
                        json.dump(manifest, file)
                    if stored is not None:
                        with open(os.path.join(folder, "fixture.safetensors"), "wb") as file:
                            file.write(stored)
                    with self.assertRaises(ValueError) as raised:
                        ferry.verify(model, folder)
                    self.assertIn(words, str(raised.exception))

            refused("format", lambda m: m.update(format="parity-fixture/9"))
            for wrong in ({"name": "tap/x"}, {"name": 3, "shape": [1], "stored": "full"}, 3, None,
                          {"name": "tap/x", "shape": [0], "stored": "full", "absmax": 1},
                          {"name": "tap/x", "shape": ["1"], "stored": "full", "absmax": 1},
                          {"name": "tap/x", "shape": [1], "stored": "sample", "absmax": 1},
                          {"name": "tap/x", "shape": [1], "stored": "full"}):
                refused("no fixture's manifest", lambda m: m["taps"].append(wrong))
            refused("no fixture's manifest", lambda m: m.pop("inputs"))
            refused("no fixture's manifest", lambda m: m.pop("seed"))
            refused("no fixture's manifest", lambda m: m.update(library="own"))
            refused("only N,C,H,W can be remade", lambda m: m["inputs"][0].update(shape=[3, 65, 97]))
            refused("the blob takes 1 inputs, fixture", lambda m: m["inputs"].append(m["inputs"][0]))
            refused("another SHA-256", lambda m: m.update(seed=m["seed"] + 1))
            refused("'out' is missing, or not of the shape", lambda m: m["outputs"][0].update(samples=3))
            for damage in (b"", b"\xff" * 16, struct.pack("<Q", 3) + b"{}}", struct.pack("<Q", 2) + b"[]"):
                refused("no safetensors file", stored=damage)
            with self.assertRaises(ValueError):
                ferry.verify(model, os.path.join(self.folder, "absent"))


if __name__ == "__main__":
    unittest.main()
