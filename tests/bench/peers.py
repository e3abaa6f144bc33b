"""What the comparisons with ONNX Runtime share: where it is, and how it comes there."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ferry", "peers")
ENVIRONMENT = dict(os.environ, FERRY_PEERS=CACHE)  # the folder where the .mjs files find onnxruntime-node


def say(*words):
    print(os.path.basename(sys.argv[0]) + ":", *words, file=sys.stderr, flush=True)


def run(command, **kwargs):
    return subprocess.run(command, check=True, text=True, **kwargs)


def load(name):
    """A script of this folder as a module."""
    loader = importlib.machinery.SourceFileLoader(name, os.path.join(HERE, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def pretend(cpu):
    """From here on every backend runs as on that CPU: `avx2` (avx2_cpu.c says what it lacks); None: as on this one."""
    if cpu is None:
        return
    os.makedirs(CACHE, exist_ok=True)
    library = os.path.join(CACHE, cpu + "_cpu.so")
    run(["cc", "-O1", "-shared", "-fPIC", os.path.join(HERE, cpu + "_cpu.c"), "-o", library])
    run(["true"], env=dict(os.environ, LD_PRELOAD=library))
    os.environ["LD_PRELOAD"] = ENVIRONMENT["LD_PRELOAD"] = library


def install_onnxruntime():
    os.makedirs(CACHE, exist_ok=True)
    if not os.path.isdir(os.path.join(CACHE, "node_modules", "onnxruntime-node")):
        say("installing onnxruntime-node through npm")
        run(["npm", "install", "--ignore-scripts", "--no-fund", "--no-audit", "--prefix", CACHE, "onnxruntime-node"],
            stdout=sys.stderr)


def install_torch():
    """Debian's packages: for networks that are exported here."""
    probe = ["/usr/bin/python3", "-c", "import torch, torchvision, onnx"]
    if subprocess.run(probe, stderr=subprocess.DEVNULL).returncode:
        say("installing python3-torch, python3-torchvision, python3-onnx through apt")
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        run(sudo + ["apt-get", "install", "-y", "--no-install-recommends", "python3-torch", "python3-torchvision",
                    "python3-onnx"], stdout=sys.stderr)
