# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: the package with libferry.so, libferry_text.so and the licences of their parts.

    pip wheel --no-deps bindings/python

This is the build backend that pyproject.toml names (PEP 517). It needs nothing but Python, so that the command works in
any virtual environment, with or without a network. CMake and Ninja build release libraries in build/wheel
(scripts/setup installs the tools). FERRY_LIBRARY names a folder with built libraries instead: that of an installed
prefix, or of a build, whose wheel has no licences and is not for others:

    FERRY_LIBRARY=/opt/ferry/lib pip wheel --no-deps bindings/python

pip hides the output of a build, so progress is written to the terminal itself.
"""
import base64, hashlib, os, re, shutil, subprocess, sys, sysconfig, tempfile, time, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "wheel")
LIBRARIES = ("libferry.so", "libferry_text.so")

METADATA = """\
Metadata-Version: 2.1
Name: ferry
Version: {version}
Summary: Runs models that ferry converted on NumPy arrays, and compares them with PyTorch
License: Apache-2.0
Author: {author}
Author-email: {email}
Home-page: {homepage}
Project-URL: Homepage, {homepage}
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.8
Requires-Dist: numpy>=1.20
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: ferry\nRoot-Is-Purelib: false\nTag: {tag}\n"


def maker():
    """Who makes the package, for METADATA."""
    with open(os.path.join(ROOT, "packaging", "about.sh"), encoding="utf-8") as file:
        lines = dict(re.findall(r'^([A-Z]+)="(.*)"$', file.read(), re.MULTILINE))
    author, email = re.fullmatch(r"(.*) <(.*)>", lines["MAINTAINER"]).groups()
    return {"author": author, "email": email, "homepage": lines["HOMEPAGE"]}


def version():
    """Of the public header."""
    with open(os.path.join(ROOT, "sdk", "include", "ferry", "ferry.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"#define FERRY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read()))


# ---- the libraries ---------------------------------------------------------------------------------------------------


class Progress:
    """One line that is overwritten, on the terminal where there is one; else lines on standard error."""

    def __init__(self):
        self.shown = 0.0
        try:
            self.terminal = open("/dev/tty", "w", encoding="utf-8")
        except OSError:
            self.terminal = None

    def show(self, text, last=False):
        now = time.monotonic()
        if not last and now - self.shown < (0.3 if self.terminal else 10):
            return
        self.shown = now
        if self.terminal:
            self.terminal.write(f"\r\033[Kferry: {text}" + ("\n" if last else ""))
            self.terminal.flush()
        else:
            print(f"ferry: {text}", file=sys.stderr, flush=True)


def run(progress, step, *command):
    """Runs a command and shows its last line. Its output is the error's message if it fails."""
    progress.show(step)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        lines = []
        for line in process.stdout:
            lines.append(line)
            print(line, end="")  # pip shows it with -v
            progress.show(f"{step}: {line.strip()[:90]}")
    if process.returncode:
        sys.exit("".join(lines[-60:]) + f"ferry: {step} failed: {' '.join(command)}")


def installed_libraries():
    """Builds and installs the release libraries; returns their folder."""
    missing = [tool for tool in ("cmake", "ninja", "c++") if shutil.which(tool) is None]
    if missing:
        sys.exit(f"ferry: not found: {', '.join(missing)}. scripts/setup installs what a build needs; or name built "
                 "libraries with FERRY_LIBRARY=FOLDER")
    progress = Progress()
    folder, prefix = os.path.join(BUILD, "cmake"), os.path.join(BUILD, "prefix")
    off = [f"-DFERRY_BUILD_{what}=OFF" for what in ("CONVERTER", "CLI", "TESTS", "EXAMPLES")]
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib", *off]
    run(progress, "configuring", "cmake", "-S", ROOT, "-B", folder, *options)
    run(progress, "compiling", "cmake", "--build", folder)
    run(progress, "installing", "cmake", "--install", folder, "--prefix", prefix)
    progress.show("the libraries are built", last=True)
    return os.path.join(prefix, "lib")


def stripped(path):
    """The library's bytes without symbols."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(path))
        shutil.copy(path, copy)  # follows links
        subprocess.run(["strip", "--strip-unneeded", copy], check=True)
        return read(copy)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- the wheel -------------------------------------------------------------------------------------------------------


def package_files():
    """Of the wheel's folder ferry/: names and bytes."""
    package = os.path.join(HERE, "ferry")
    files = {name: read(os.path.join(package, name)) for name in sorted(os.listdir(package))
             if name.endswith((".py", ".cjs")) or name == "py.typed"}
    libraries = os.environ.get("FERRY_LIBRARY") or installed_libraries()
    for name in LIBRARIES:
        files[name] = stripped(os.path.join(libraries, name))
    licenses = os.path.join(libraries, "..", "share", "ferry", "licenses")
    if os.path.isdir(licenses):
        for name in sorted(os.listdir(licenses)):
            files[f"licenses/{name}"] = read(os.path.join(licenses, name))
    return files


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def platform_tag():
    """For any Python 3, on this system and processor."""
    return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())


def info_files():
    """The wheel's folder of metadata: its name, and names and bytes of the files."""
    number = version()
    return f"ferry-{number}.dist-info", {"METADATA": METADATA.format(version=number, **maker()).encode(),
                                         "WHEEL": WHEEL.format(tag=platform_tag()).encode(),
                                         "LICENSE": read(os.path.join(ROOT, "LICENSE"))}


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """A hook of PEP 517: pip asks for the metadata before it builds."""
    info, files = info_files()
    os.mkdir(os.path.join(metadata_directory, info))
    for name, data in files.items():
        with open(os.path.join(metadata_directory, info, name), "wb") as file:
            file.write(data)
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook of PEP 517 that makes the wheel, and returns its name."""
    info, about = info_files()
    files = {f"ferry/{name}": data for name, data in package_files().items()}
    files.update((f"{info}/{name}", data) for name, data in about.items())
    rows = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = ("\n".join([*rows, f"{info}/RECORD,,"]) + "\n").encode()
    name = f"ferry-{version()}-{platform_tag()}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)  # of 1980: the same files make the same wheel
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The other hook of PEP 517, which must exist."""
    raise NotImplementedError("the package is built inside of Ferry's source tree: there is no source archive of it")
