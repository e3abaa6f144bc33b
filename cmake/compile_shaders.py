"""Compiles shaders to SPIR-V modules: glslc, spirv-opt, spirv-val, as many at once as there are cores.

    compile_shaders.py --cache FOLDER --tools GLSLC OPT VAL --versions TEXT --include FOLDER --passes LIST
                       MODULE=KERNEL[,DEFINE]...

Every preset compiles the same shaders, so modules are kept in FOLDER, by the hash of everything that decides their bytes:
the kernel and what it includes, the definitions, the options, and the tools' versions.
"""
import argparse
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys

TARGET = "vulkan1.1"


def included(path, folders):
    """The files that `path` includes, directly or not, in the order of their first mention, itself first."""
    files, waiting = [], [path]
    while waiting:
        at = waiting.pop(0)
        if at in files:
            continue
        files.append(at)
        with open(at, encoding="utf-8") as file:
            names = re.findall(r'^\s*#include "([^"]+)"', file.read(), re.MULTILINE)
        for name in names:
            places = [os.path.join(folder, name) for folder in (os.path.dirname(at), *folders)]
            found = [place for place in places if os.path.exists(place)]
            if not found:
                raise SystemExit(f"{at}: includes {name}, which is in none of {', '.join(map(os.path.dirname, places))}")
            waiting.append(found[0])
    return files


def key(args, defines, files):
    digest = hashlib.sha256(repr((args.versions, args.passes, defines, TARGET)).encode())
    for path in files:
        with open(path, "rb") as file:
            data = file.read()
        digest.update(f"{os.path.basename(path)} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:32]


def compile_kernel(args, kernel, defines, out):
    glslc, opt, val = args.tools
    raw = out + ".raw"
    try:
        subprocess.run([glslc, f"--target-env={TARGET}", *(f"-D{name}" for name in defines), "-I", args.include, kernel,
                        "-o", raw], check=True)
        subprocess.run([opt, *args.passes.split(), raw, "-o", out], check=True)
        subprocess.run([val, "--target-env", TARGET, out], check=True)
    finally:
        if os.path.exists(raw):
            os.remove(raw)


def make(args, entry):
    module, source = entry.split("=")
    kernel, *defines = source.split(",")
    kept = os.path.join(args.cache, key(args, defines, included(kernel, [args.include])) + ".spv")
    if not os.path.exists(kept):
        made = f"{kept}.{os.getpid()}"  # another build may write the same module
        try:
            compile_kernel(args, kernel, defines, made)
            os.replace(made, kept)
        finally:
            if os.path.exists(made):
                os.remove(made)
    shutil.copyfile(kept, module)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("modules", nargs="+")
    parser.add_argument("--cache", required=True)
    parser.add_argument("--tools", nargs=3, required=True)
    parser.add_argument("--versions", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--passes", required=True)
    args = parser.parse_args()
    os.makedirs(args.cache, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = [pool.submit(make, args, entry) for entry in args.modules]
    failed = [future.exception() for future in made if future.exception()]
    for error in failed:
        if not isinstance(error, subprocess.CalledProcessError):  # the tools have said what is wrong
            raise error
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
