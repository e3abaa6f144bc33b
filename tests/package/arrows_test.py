#!/usr/bin/env python3
"""Arrows point one way (docs/architecture.md, "The rooms"): which files may not include what, libferry does not call its own C
API, which is all that libferry_text knows of it; and only cli/print.cc prints.

    tests/package/arrows_test.py [SOURCE_FOLDER]
"""
import os, re, sys

# Files (a pattern of their paths), forbidden includes, and exceptions.
RULES = [
    (r"sdk/", r"(converter|models|cli|tests)/", ""),
    (r"sdk/include/", r"sdk/", ""),
    (r"sdk/operators/", r"sdk/(?!operators/|status\.h)", ""),
    (r"sdk/reference/", r"sdk/(?!reference/|operators/|status\.h)", ""),
    (r"sdk/model/", r"sdk/(graph|cpu|gpu|image|task|text|api)/", ""),
    (r"sdk/threads/", r"sdk/(?!threads/|status\.h)", ""),
    (r"sdk/graph/", r"sdk/(cpu|gpu|image|task|text|api)/", r"sdk/graph/session\.cc"),  # which creates the backends
    (r"sdk/cpu/", r"sdk/(gpu|image|task|text|api)/", ""),
    (r"sdk/gpu/", r"sdk/(task|text|api)/", ""),
    (r"sdk/gpu/", r"sdk/image/", r"sdk/gpu/backend/frame\.(h|cc)"),  # the only file that reads frames
    (r"sdk/image/", r"sdk/(cpu|gpu|task|text|api)/", ""),
    (r"sdk/task/", r"sdk/(cpu|gpu|text|api)/", ""),
    (r"sdk/text/", r"sdk/(?!text/|status\.h|attempt\.h|printable\.h)", r"sdk/text/api\.cc"),  # which begins like the C API
    (r"converter/", r"(models|cli|tests)/", ""),
    (r"converter/[a-z]+/", r"converter/(convert|identify)\.h", r"converter/checkpoint/source\.cc"),  # whose family is found
    (r"models/", r"(cli|tests|converter/(onnx|tflite))/", ""),
    (r"cli/", r"tests/", ""),
    (r"bindings/", r"(sdk|converter|models|cli|tests)/", r"bindings/python/tests/test_blobs\.cc"),  # only the C API
    # Only these files include third-party headers.
    (r"(sdk|converter|models|cli)/", r"xnnpack\.h", r"sdk/cpu/.*"),
    (r"(sdk|converter|models|cli)/", r"pthreadpool\.h", r"sdk/threads/.*|sdk/graph/session_options\.h"),
    (r"(sdk|converter|models|cli)/", r"curl/", r"converter/hub/.*"),
    (r"(sdk|converter|models|cli)/", r"google/protobuf", r"converter/onnx/.*"),
    (r"(sdk|converter|models|cli)/", r"tflite_generated\.h", r"converter/tflite/.*"),
    (r"(sdk|converter|models|cli)/", r"zlib\.h", r"converter/export/deflate\.cc"),
    (r"sdk/", r"nlohmann/", ""),
]
# What reaches a terminal is cleaned where it is printed: in the command line only by cli/print.h, elsewhere nothing prints.
PRINTS = re.compile(r"(?<![\w.>])(?:std::)?(?:printf|fprintf|vprintf|vfprintf|fputs|fputc|puts|putchar|putc|perror|fwrite)\("
                    r"|std::(?:cout|cerr|clog)\b")
PRINTERS = r"cli/print\.cc|converter/hub/download\.cc"  # the latter writes its file
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
CALL = re.compile(r"\bferry_[a-z0-9_]+\(")


def without_text(source):
    """Comments and string literals blanked."""
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', '""', source)


def complaints(root):
    for folder in ("sdk", "converter", "models", "cli", "bindings"):
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if not name.endswith((".h", ".hpp", ".cc", ".c")):
                    continue
                path = os.path.relpath(os.path.join(at, name), root)
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    source = f.read()
                for included in INCLUDE.findall(source):
                    for files, forbidden, but in RULES:
                        if re.match(files, path) and re.match(forbidden, included) and not (but and re.fullmatch(but, path)):
                            yield f"{path} includes {included}"
                if not re.match(r"bindings/|sdk/include/", path) and not re.fullmatch(PRINTERS, path):
                    for found in PRINTS.findall(without_text(source)):
                        yield f"{path} prints by {found.rstrip('(')}: see cli/print.h"
                if re.match(r"sdk/(?!api/|include/|text/)", path):
                    for call in CALL.findall(without_text(source)):
                        yield f"{path} calls {call[:-1]}(), which is for apps"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = list(complaints(root))
    print("\n".join(found) if found else "every include points the right way")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
