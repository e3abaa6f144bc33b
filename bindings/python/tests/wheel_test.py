# SPDX-License-Identifier: Apache-2.0
"""The installed wheel needs neither the source tree nor FERRY_LIBRARY."""
import glob, importlib.util, os, shutil, subprocess, sys, tempfile, unittest, zipfile

from support import ROOT, blob, golden

PACKAGE = os.path.join(ROOT, "bindings", "python")
PROGRAM = """
import ferry, numpy, sys
classifier, language = sys.argv[1:]
with ferry.Model(classifier) as model, model.session() as session:
    print(session.run(numpy.zeros((1, 8, 8, 3), numpy.float32)).shape)
with ferry.Model(language) as model, model.generator() as text:
    text.append("the end")
    print(text.next() >= 0)
print(ferry.__file__)
print(ferry.__version__ == ferry.version())
"""


class Wheel(unittest.TestCase):
    def test_it_is_built_installed_and_used(self):
        if importlib.util.find_spec("pip") is None:
            self.skipTest("pip is not installed (python3-pip)")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        # In the layout of an installed prefix.
        prefix, libraries = os.path.join(folder, "prefix"), ("libferry.so", "libferry_text.so")
        os.makedirs(os.path.join(prefix, "lib"))
        os.makedirs(os.path.join(prefix, "share", "ferry", "licenses"))
        for name in libraries:
            shutil.copy(os.path.join(os.environ["FERRY_LIBRARY"], name), os.path.join(prefix, "lib"))
        with open(os.path.join(prefix, "share", "ferry", "licenses", "LICENSE.other"), "w") as file:
            file.write("of others\n")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        offline = ["--no-index", "--no-deps"]
        self.run_in(folder, [*pip, "wheel", *offline, "-w", folder,
                             PACKAGE], {**os.environ, "FERRY_LIBRARY": os.path.join(prefix, "lib")})
        path, = glob.glob(os.path.join(folder, "*.whl"))
        self.assertRegex(os.path.basename(path), r"^ferry-\d+\.\d+\.\d+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(path) as wheel:
            files = {os.path.basename(name) for name in wheel.namelist() if name.startswith("ferry/")}
        sources = {os.path.basename(name) for name in glob.glob(os.path.join(PACKAGE, "ferry", "*.py"))}
        self.assertEqual(files, sources | set(libraries) | {"LICENSE.other", "interpret_tflite.cjs", "py.typed"})

        with zipfile.ZipFile(path) as wheel:
            metadata, = (name for name in wheel.namelist() if name.endswith("/METADATA"))
            about = wheel.read(metadata).decode()
        self.assertIn("\nLicense: Apache-2.0\n", about)
        self.assertIn("\nProject-URL: Homepage, https://", about)

        installed = os.path.join(folder, "installed")
        self.run_in(folder, [*pip, "install", *offline, "--target", installed, path], os.environ)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("FERRY_")}
        printed = self.run_in(folder, [sys.executable, "-c", PROGRAM, golden("v1_small_classifier"), blob("language")],
                              {**clean, "PYTHONPATH": installed})
        self.assertEqual(printed.split(), ["(1,", "5)", "True", os.path.join(installed, "ferry", "__init__.py"),
                                           "True"])

    def run_in(self, folder, command, environment):
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout


class Loading(unittest.TestCase):
    def test_a_library_that_is_not_there_is_said_with_what_to_do(self):
        program = "import ferry\ntry: ferry.version()\nexcept ImportError as error: print(error)"
        environment = {**os.environ, "FERRY_LIBRARY": "/absent", "PYTHONPATH": PACKAGE}
        printed = subprocess.run([sys.executable, "-B", "-c", program], env=environment, stdout=subprocess.PIPE,
                                 text=True).stdout
        self.assertIn("/absent/libferry.so", printed)
        self.assertIn("set FERRY_LIBRARY", printed)


if __name__ == "__main__":
    unittest.main()
