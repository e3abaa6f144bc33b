# SPDX-License-Identifier: Apache-2.0
"""ferry.fixture() records a PyTorch module's results, and `ferry parity` checks a blob with them."""
import hashlib, json, os, re, shutil, sys, tempfile, unittest
from types import SimpleNamespace
from unittest import mock

import ferry
import numpy as np
from ferry import fixture_files
from ferry.onnx_names import OnnxNames
from support import command

try:
    import torch
    from torch import nn
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed (python3-torch)")


class Both(nn.Module):
    def forward(self, x):
        return x, 2 * x


class Net(nn.Module):
    """Submodules that are shared, unused, or return several tensors; a norm; an in-place operation."""

    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8)
        self.relu, self.act = nn.ReLU(inplace=True), nn.ReLU(inplace=True)
        self.both, self.unused, self.drop = Both(), nn.Linear(1, 1), nn.Dropout(0.5)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        y = self.act(self.norm(self.stem(x)))
        y, z = self.both(self.relu(self.relu(y) - 0.1))
        return self.head(self.drop((y + z).mean((2, 3))))


class Pair(nn.Module):
    """Two inputs, one of integers, and two outputs."""

    def __init__(self):
        super().__init__()
        self.table, self.mix = nn.Embedding(11, 6), nn.Linear(6, 6)

    def forward(self, ids, scale):
        rows = self.table(ids)
        return self.mix(rows) * scale, rows


def seeded(build):
    torch.manual_seed(0)
    return build()


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, folder):
        with open(os.path.join(folder, "manifest.json")) as file:
            manifest = json.load(file)
        return manifest, fixture_files.read_safetensors(os.path.join(folder, "fixture.safetensors"))


class Recorded(Folder):
    def test_what_is_recorded_is_what_float64_computes(self):
        net, x = seeded(Net), torch.randn(2, 3, 64, 64)
        net.train()
        before = {name: value.clone() for name, value in net.state_dict().items()}
        folder = ferry.fixture(net, x, self.path("own"), samples=500)
        self.assertTrue(net.training)
        self.assertEqual(net.stem.weight.dtype, torch.float32)
        for name, value in net.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

        manifest, stored = self.read(folder)
        self.assertEqual(manifest["name"], "own")
        self.assertEqual(manifest["arch"], "Net")
        self.assertEqual(manifest["library"], {k: str(torch.__version__) if k != "name" else "torch"
                                               for k in ("name", "version", "torch")})
        # Without submodules that are shared, unused, or return two tensors; in the order of completion.
        self.assertEqual([tap["name"] for tap in manifest["taps"]],
                         ["tap/stem", "tap/norm", "tap/act", "tap/drop", "tap/head"])
        self.assertEqual([out["name"] for out in manifest["outputs"]], ["logits"])
        with torch.no_grad():
            exact = net.eval().double()(x.double()).numpy()
            stem = net.stem(x.double())
            norm = net.norm(stem)  # the in-place activation overwrites it
        np.testing.assert_array_equal(stored["logits"], exact.astype(np.float32))
        positions = fixture_files.sample_positions("tap/norm", 500, norm.numel())
        np.testing.assert_array_equal(stored["tap/norm"], norm.numpy().reshape(-1)[positions].astype(np.float32))
        self.assertLess(stored["tap/norm"].min(), 0)
        item = manifest["taps"][1]
        self.assertEqual((item["shape"], item["stored"], item["samples"]), ([2, 8, 32, 32], "sample", 500))
        self.assertAlmostEqual(item["absmax"], norm.abs().max().item(), delta=1e-8)
        for item in manifest["taps"] + manifest["outputs"]:
            self.assertGreater(item["float32_vs_float64"], 0)
            self.assertLess(item["float32_vs_float64"], 1e-5)
        given, = manifest["inputs"]
        np.testing.assert_array_equal(stored["input"], x.numpy())
        self.assertEqual(given["sha256"], hashlib.sha256(x.numpy().tobytes()).hexdigest())

    def test_a_shape_is_an_image_that_follows_from_the_seed(self):
        folder = ferry.fixture(seeded(Net), (1, 3, 32, 48), self.path("seeded"), seed=5, taps=["stem"], arch="net",
                               library={"name": "own", "version": "2"})
        manifest, stored = self.read(folder)
        self.assertEqual((manifest["seed"], manifest["inputs"][0]["stored"]), (5, "sample"))
        self.assertEqual(stored["input"].shape, (1,))
        self.assertEqual([tap["name"] for tap in manifest["taps"]], ["tap/stem"])
        self.assertEqual((manifest["arch"], manifest["library"]["name"]), ("net", "own"))
        image = fixture_files.seeded_image((1, 3, 32, 48), 5)
        again = ferry.fixture(seeded(Net), image, self.path("same"), seed=5, taps=["stem"])
        np.testing.assert_array_equal(self.read(again)[1]["logits"], stored["logits"])
        other = ferry.fixture(seeded(Net), (1, 3, 32, 48), self.path("other"), seed=6, taps=())
        self.assertTrue((self.read(other)[1]["logits"] != stored["logits"]).any())
        self.assertEqual(self.read(other)[0]["taps"], [])

    def test_what_a_module_keeps_of_one_run_is_not_in_the_other(self):
        class Keeping(nn.Module):
            table = None

            def forward(self, x):
                if self.table is None:
                    self.table = torch.full((4, 4), 1 / 3, dtype=x.dtype)
                return x @ self.table

        module = Keeping()
        manifest, _ = self.read(ferry.fixture(module, torch.ones(4, 4), self.path("keeping")))
        self.assertGreater(manifest["outputs"][0]["float32_vs_float64"], 0)
        self.assertIsNone(module.table)

    def test_several_inputs_and_outputs_have_names(self):
        ids, scale = torch.tensor([[1, 5, 10]]), np.float64([[[2.0]]])
        for inputs in ((ids, scale), {"scale": scale, "ids": ids}):
            folder = ferry.fixture(seeded(Pair), inputs, self.path("pair"), outputs=["mixed", "rows"])
            manifest, stored = self.read(folder)
            types = {item["name"]: item["dtype"] for item in manifest["inputs"]}
            self.assertEqual(types, {"ids": "I64", "scale": "F32"})
            np.testing.assert_array_equal(stored["ids"], ids.numpy())
            with torch.no_grad():
                np.testing.assert_array_equal(stored["rows"], seeded(Pair).table.weight[ids].numpy())
            self.assertEqual([item["name"] for item in manifest["outputs"]], ["mixed", "rows"])


class Refused(Folder):
    def test_what_cannot_be_recorded(self):
        class Float32(nn.Module):
            def forward(self, x):
                return x @ torch.ones(4, 4)

        class Infinite(nn.Module):
            def forward(self, x):
                return x / 0

        x = torch.randn(1, 3, 32, 32)
        for words, error, module, inputs, named in (
            ("a function is recorded, not int", TypeError, 3, x, {}),
            ("the function returns list: expected a dict", TypeError, lambda given: [], x, {}),
            ("'y' is no array of floats; there are z", ValueError, lambda given: {"z": x}, x, {"outputs": "y"}),
            ("no submodule is called 'stam'", ValueError, Net(), x, {"taps": ["stam"]}),
            ("'relu' is called 2 times", ValueError, Net(), x, {"taps": ["relu"]}),
            ("'unused' is called 0 times", ValueError, Net(), x, {"taps": "unused"}),
            ("'both' gives no tensor of floats", ValueError, Net(), x, {"taps": ["both"]}),
            ("an image's shape is N,C,H,W", ValueError, Net(), (3, 32, 32), {}),
            ("an image's shape is N,C,H,W", ValueError, Net(), (), {}),
            ("seed is -1", ValueError, Net(), x, {"seed": -1}),
            ("seed is 0.5", ValueError, Net(), x, {"seed": 0.5}),
            ("2 inputs were given, forward() names 1", ValueError, Net(), (x, x), {}),
            ("'input' has NaN or infinite values", ValueError, Net(), x / 0, {}),
            ("'input' is complex64", TypeError, Net(), x * 1j, {}),
            ("'input' is empty", ValueError, Net(), x[:0], {}),
            ("say what its outputs are called", ValueError, Both(), x, {}),
            ("outputs ['a', 'b']: there are tensors of floats called ['a']", ValueError, Net(), x,
             {"outputs": ["a", "b"]}),
            ("does not compute in float64", TypeError, Float32(), torch.ones(4, 4), {}),
            ("'logits' has NaN or infinite values, computed in float64", ValueError, Infinite(), torch.ones(4, 4), {}),
        ):
            with self.subTest(words):
                with self.assertRaises(error) as raised:
                    ferry.fixture(module, inputs, self.path("refused"), **named)
                self.assertIn(words, str(raised.exception))
                self.assertFalse(os.path.exists(self.path("refused")))


class Proven(Folder):
    def test_a_network_of_torchvision_and_one_wrong_weight(self):
        try:
            from torchvision.models import mobilenet_v3_small
        except ImportError:
            self.skipTest("torchvision is not installed (python3-torchvision)")
        net = seeded(lambda: mobilenet_v3_small(num_classes=10))
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):  # with statistics as after training
                module.running_mean.uniform_(-0.1, 0.1)
                module.running_var.uniform_(0.5, 1.5)
        fixture = ferry.fixture(net, (1, 3, 96, 128), self.path("fixture"))
        checkpoint, blob = self.path("net.pth"), self.path("net.ferry")
        torch.save(net.state_dict(), checkpoint)
        options = ["--model", "torchvision/mobilenet_v3_small", "--num-classes", "10"]
        command("convert", checkpoint, *options, "--certify", fixture, "-o", self.path("certified.ferry"))
        command("verify", self.path("certified.ferry"))
        command("convert", checkpoint, *options, "--keep-taps", "-o", blob)
        report = command("parity", blob, fixture)
        self.assertIn("all in bounds", report)
        self.assertGreater(int(re.search(r"(\d+) tensors compared", report).group(1)), 200)

        state = net.state_dict()
        state["features.4.block.1.0.weight"][7, 0, 2, 2] += 0.2
        torch.save(state, checkpoint)
        command("convert", checkpoint, *options, "--keep-taps", "-o", blob)
        report = command("parity", blob, fixture, status=1)
        with ferry.Model(blob) as model:
            first = ferry.verify(model, fixture).first_out_of_bounds
        self.assertEqual(first.name, "tap/features.4.block.1.0")
        found = re.search(r"the first out of bounds is (\S+),", report.replace("\n", " "))
        self.assertEqual(found and found.group(1), first.name)
        report = command("bisect", blob, checkpoint, "--fixture", fixture, status=1)
        floats = sum(tensor.is_floating_point() for tensor in state.values())
        self.assertIn(f"tensors that differ  1 of the {floats} compared: 'features.4.block.1.0.weight'\n", report)

    def test_a_module_of_ones_own_through_onnx(self):
        net = seeded(Pair).eval()
        inputs = torch.tensor([[1, 5, 10]]), torch.tensor([[[2.0]]])
        onnx, blob = self.path("pair.onnx"), self.path("pair.ferry")
        torch.onnx.export(net, inputs, onnx, input_names=["ids", "scale"], output_names=["mixed", "rows"])
        fixture = ferry.fixture(net, inputs, self.path("fixture"), outputs=["mixed", "rows"])
        command("convert", onnx, "-o", blob)
        self.assertIn("2 tensors compared, all in bounds", command("parity", blob, fixture))
        with ferry.Model(blob) as model, model.session() as session:
            result = ferry.verify(model, fixture)
            self.assertEqual((result.passed, len(result.stages)), (True, 2))
            given = {"ids": inputs[0].numpy().astype(np.int32), "scale": inputs[1].numpy()}
            with torch.no_grad():
                mixed, rows = net(*inputs)
            out = session.run(given, layout="framework")
            np.testing.assert_allclose(out["mixed"], mixed.numpy(), atol=1e-5)
            np.testing.assert_allclose(out["rows"], rows.numpy(), atol=1e-5)

    def test_a_function_and_an_onnx_file(self):
        """A fake ONNX Runtime answers by the file's names: the installed one is not needed to test the rest."""
        net = seeded(Pair).eval()
        inputs = torch.tensor([[1, 5, 10]]), torch.tensor([[[2.0]]])
        onnx, blob = self.path("pair.onnx"), self.path("pair.ferry")
        torch.onnx.export(net, inputs, onnx, input_names=["ids", "scale"], output_names=["mixed", "rows"])
        arrays = {"ids": inputs[0].numpy(), "scale": inputs[1].numpy()}
        names = OnnxNames(onnx)
        self.assertEqual((names.inputs, names.outputs), (["ids", "scale"], ["mixed", "rows"]))
        product = names.value_of("/mix/MatMul")

        def compute(given):
            with torch.no_grad():
                rows = net.table(torch.from_numpy(given["ids"]))
                inner = rows @ net.mix.weight.T
                return {"rows": rows, product: inner,
                        "mixed": (inner + net.mix.bias) * torch.from_numpy(given["scale"])}

        command("convert", onnx, "--tap", "/mix/MatMul", "--keep-taps", "-o", blob)
        recorded = ferry.fixture(compute, arrays, self.path("function"), outputs=["mixed", "rows"])
        self.assertIn("3 tensors compared, all in bounds", command("parity", blob, recorded))

        class Session:
            def __init__(self, data, options, providers):
                path = os.path.join(os.path.dirname(onnx), "seen.onnx")
                with open(path, "wb") as file:
                    file.write(data)
                self.outputs = OnnxNames(path).outputs

            def get_inputs(self):
                return [SimpleNamespace(name="ids", type="tensor(int64)"),
                        SimpleNamespace(name="scale", type="tensor(float)")]

            def run(self, asked, given):
                assert set(asked) == set(self.outputs), asked
                found = compute(given)
                return [found[name].numpy() if name in found else np.zeros(0) for name in asked]

        runtime = SimpleNamespace(__version__="1.0", SessionOptions=SimpleNamespace, InferenceSession=Session,
                                  GraphOptimizationLevel=SimpleNamespace(ORT_DISABLE_ALL=0))
        with mock.patch.dict(sys.modules, onnxruntime=runtime):
            recorded = ferry.fixture(onnx, inputs, self.path("onnx"), taps=["/mix/MatMul"])
            self.assertIn("3 tensors compared, all in bounds", command("parity", blob, recorded))
            ferry.fixture(onnx, arrays, self.path("onnx"))
            self.assertIn("3 tensors compared, all in bounds", command("parity", blob, recorded))
            with self.assertRaisesRegex(ValueError, "no value or node is called 'mux'"):
                ferry.fixture(onnx, inputs, self.path("refused"), taps=["mux"])
        command("convert", onnx, "--certify", recorded, "-o", blob)
        command("verify", blob)
        with self.assertRaisesRegex(ValueError, "no ONNX file"):
            OnnxNames(__file__)


if __name__ == "__main__":
    unittest.main()
