"""Writes the kinds of operators as GLSL constants, so that no shader repeats a number of the schema.

    shader_kinds.py OUT SCHEMA EPILOGUE_H OPS_CC SHADERS_FOLDER

The numbers come from sdk/schema/ferry.fbs and sdk/gpu/lowering/epilogue.h. Fails if sdk/gpu/lowering/ops.cc says that the GPU
computes a function and no shader names it.
"""
import glob
import os
import re
import sys

out, schema, epilogue, ops, folder = sys.argv[1:]


def read(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"//[^\n]*", "", file.read())


def enumerators(text, pattern):
    body = re.search(pattern + r"\s*\{([^}]*)\}", text)
    if body is None:
        sys.exit(f"shader_kinds.py: nothing matches {pattern}")
    return [name.strip() for name in body[1].split(",") if name.strip()]


def kinds(name):
    return enumerators(read(schema), rf"enum {name} : ubyte")


header = read(epilogue)
first = {name: int(number) for name, number in re.findall(r"(kUnary|kBinary|kReversed) = (\d+)", header)}
constants = {f"k{kind}": first["kUnary"] + i for i, kind in enumerate(kinds("UnaryKind"))}
for i, kind in enumerate(kinds("BinaryKind")):
    constants[f"k{kind}"] = first["kBinary"] + i
    constants[f"kReverse{kind}"] = first["kReversed"] + i
constants |= {f"k{source}": i for i, source in enumerate(enumerators(header, "enum class Source : uint8_t"))}
constants |= {f"kScatter{kind}": i for i, kind in enumerate(kinds("ScatterKind"))}
constants |= {f"kExperts{kind}": i for i, kind in enumerate(kinds("ExpertsActivation"))}

shaders = "".join(read(path) for path in sorted(glob.glob(os.path.join(folder, "*.glsl")) + glob.glob(os.path.join(folder, "*.comp"))))
for enum, listed in re.findall(r"bool has_kind\(fbs::(UnaryKind|BinaryKind|ScatterKind) kind\) \{(.*?)return true;", read(ops), re.S):
    prefix = "kScatter" if enum == "ScatterKind" else "k"
    for kind in re.findall(rf"fbs::{enum}::(\w+)", listed):
        if not re.search(rf"\b{prefix}{kind}\b", shaders):
            sys.exit(f"shader_kinds.py: {ops} says that the GPU computes {enum}::{kind}, and no shader names {prefix}{kind}")

text = "// Generated from sdk/schema/ferry.fbs by cmake/shader_kinds.py.\n"
text += "".join(f"const uint {name} = {number};\n" for name, number in constants.items())
if not os.path.exists(out) or open(out, encoding="utf-8").read() != text:  # else no shader is compiled again
    with open(out, "w", encoding="utf-8") as file:
        file.write(text)
