#!/usr/bin/env python3
"""What scripts/new-op and scripts/new-family write compiles, in a copy of the tree, with the rows that they add elsewhere.

    scaffolds_test.py SOURCES BUILD FLATC
"""
import json, os, shlex, shutil, subprocess, sys, tempfile

sources, build, flatc = (os.path.abspath(path) for path in sys.argv[1:])
COPIED = (".clang-format", "sdk", "converter", "models", "scripts/new-op", "scripts/new-family", "docs/status.json", "tests/ops/harness.h",
          "tests/converter/memory_checkpoint.h")
# Targets, and what is compiled with their options. `op` and `family` stand for the names of what is made.
CHECKED = {
    "ferry_core": ("sdk/operators/operators.cc", "sdk/operators/type_rules.cc", "sdk/operators/shape_rules/{op}.cc",
                   "sdk/reference/reference.cc", "sdk/reference/functions.cc", "sdk/reference/outputs.cc", "sdk/reference/{op}.cc",
                   "sdk/cpu/backend/ops.cc", "sdk/cpu/ops/{op}.cc", "sdk/gpu/canary/answers.cc",
                   "sdk/gpu/lowering/ops.cc", "sdk/gpu/canary/shapes.cc", "sdk/gpu/ops/{op}.cc"),
    "ferry_models": ("converter/graph/ops.cc", "converter/onnx/ops/{op}.cc", "converter/onnx/ops/table.cc", "models/families.cc",
                     "models/vision/{family}/{family}.cc"),
    "converter_tests": ("tests/ops/{op}_test.cc", "tests/converter/{family}_test.cc"),
}


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}")
    return done.stdout


def compiler(commands, target):
    """The command of a C++ file of the target, up to its output, without the build's own precompiled header."""
    found = next(entry for entry in commands if f"/{target}.dir/" in entry["command"] and "++" in entry["command"]
                 and "cmake_pch" not in entry["file"])
    words = shlex.split(found["command"])
    first = next(i for i, word in enumerate(words) if word.endswith("++"))
    if "-Winvalid-pch" in words:
        at = words.index("-Winvalid-pch")
        del words[at:at + 3]  # and -include with its file
    return words[first:words.index("-o")], found["directory"]


def check(tree, generated, op, family, gpu):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    running = []
    for target, files in CHECKED.items():
        names = [file.format(op=op, family=family) for file in files]
        names = [name for name in names if os.path.exists(os.path.join(tree, name)) and (gpu or "/gpu/" not in name)]
        unit = os.path.join(tree, f"{target}_{op}.cc")
        with open(unit, "w", encoding="utf-8") as file:
            file.write("".join(f'#include "{name}"\n' for name in names))
        words, directory = compiler(commands, target)
        words = [word.replace(sources, tree, 1) if word.startswith(("-I" + sources, sources)) and build not in word else word
                 for word in words]
        words[1:1] = ["-isystem", generated]
        running.append(subprocess.Popen([*words, "-fsyntax-only", unit], cwd=directory, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True))
    for process in running:
        said = process.communicate()[0]
        if process.returncode != 0:
            sys.exit(said)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        tree, generated = os.path.join(scratch, "tree"), os.path.join(scratch, "generated")
        for path in COPIED:
            os.makedirs(os.path.join(tree, os.path.dirname(path)), exist_ok=True)
            run("cp", "-r", os.path.join(sources, path), os.path.join(tree, path))
        new_op, new_family = (os.path.join(tree, "scripts", name) for name in ("new-op", "new-family"))
        made = run(new_op, "soft_otter") + run(new_op, "hard_otter", "--cpu-only", "--no-onnx") + run(new_family, "otternet")
        for command in ([new_op, "soft_otter"], [new_op, "Otter"], [new_op, "otter", "--onnx", "Abs"], [new_family, "otternet"]):
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                sys.exit(f"{' '.join(command)} succeeds, expected a refusal")
        formatted = sorted({line.split()[0] for line in made.split("\n") if line.split() and line.split()[0].endswith(".cc")})
        if shutil.which("clang-format"):
            run("clang-format", "--dry-run", "-Werror", *(os.path.join(tree, path) for path in formatted))
        os.makedirs(generated)
        run(flatc, "--cpp", "--cpp-std", "c++17", "--scoped-enums", "--gen-object-api", "-o", generated,
            os.path.join(tree, "sdk/schema/ferry.fbs"))
        gpu = os.path.exists(os.path.join(build, "generated/sdk/gpu/kernels.h"))
        check(tree, generated, "soft_otter", "otternet", gpu)
        print(f"what the scaffolds write compiles: {made.count(chr(10))} lines of reports")


if __name__ == "__main__":
    main()
