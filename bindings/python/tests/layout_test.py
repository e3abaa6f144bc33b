# SPDX-License-Identifier: Apache-2.0
"""ferry/_structs.py agrees with the C headers, as a C compiler reads them."""
import ctypes, os, re, subprocess, tempfile, unittest

from ferry import _structs as c
from support import ROOT

INCLUDE = os.path.join(ROOT, "sdk", "include")
HEADERS = ("ferry.h", "image.h", "task.h", "text.h")
COMPILER = os.environ.get("CC", "cc")


def source():
    """All headers as one text, without comments."""
    text = ""
    for name in HEADERS:
        with open(os.path.join(INCLUDE, "ferry", name), encoding="utf-8") as file:
            text += file.read()
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def run_c(lines):
    """The output of a C program that includes the headers."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layout")
        includes = "".join(f"#include <ferry/{name}>\n" for name in HEADERS)
        with open(path + ".c", "w") as file:
            file.write(f"#include <stdio.h>\n{includes}int main(void) {{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        subprocess.run([COMPILER, "-std=c11", "-I", INCLUDE, path + ".c", "-o", path], check=True)
        return subprocess.run([path], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def names_of(kind):
    """The C names of an enumeration, with this package's values."""
    return {prefix + name: value for prefix, tables in c.ENUMERATIONS.items() for table in tables
            if kind is None or table is kind for name, value in table.items()}


class Layout(unittest.TestCase):
    def test_structs_have_the_sizes_and_offsets_of_the_headers(self):
        lines, ours = [], []
        for name, struct in c.STRUCTS.items():
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            ours.append(f"{name} {ctypes.sizeof(struct)}")
            for field, *_ in struct._fields_:
                at = getattr(struct, field)
                there = f"offsetof({name}, {field}), sizeof((({name}*)0)->{field})"
                lines.append(f'printf("{name}.{field} %zu %zu\\n", {there});')
                ours.append(f"{name}.{field} {at.offset} {at.size}")
        self.assertEqual(run_c(lines), ours)

    def test_structs_have_all_fields(self):
        for name, struct in c.STRUCTS.items():
            body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), source(), re.S).group(1)
            fields = [re.search(r"\(\*(\w+)\)\(|(\w+)(\[\w+\])?\s*$", field.strip()) for field in body.split(";")[:-1]]
            self.assertEqual([m.group(1) or m.group(2) for m in fields], [field for field, *_ in struct._fields_])

    def test_every_struct_of_the_headers_is_there(self):
        known = set(re.findall(r"typedef struct (\w+) \{", source()))
        unused = {"ferry_gpu_info", "ferry_frame", "ferry_plane", "ferry_memory_source"}
        self.assertEqual(known - set(c.STRUCTS), unused)

    def test_enumerations_have_the_headers_values_and_names(self):
        ours = names_of(None)
        printed = run_c(f'printf("{name} %d\\n", {name});' for name in ours)
        self.assertEqual(printed, [f"{name} {value}" for name, value in ours.items()])
        for kind, table in (("status", c.STATUS), ("dtype", c.DTYPE), ("layout", c.LAYOUT), ("backend", c.BACKEND),
                            ("precision", c.PRECISION), ("cores", c.CORES), ("answer_kind", c.ANSWER), ("sense", c.SENSE),
                            ("save_style", c.SAVE)):
            body = re.search(r"typedef enum ferry_%s \{(.*?)\}" % kind, source(), re.S).group(1)
            self.assertEqual(set(re.findall(r"FERRY_\w+", body)), set(names_of(table)))

    def test_functions_take_and_give_the_headers_types(self):
        simple = {"int": ctypes.c_int, "size_t": ctypes.c_size_t, "int32_t": ctypes.c_int32,
                  "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "bool": ctypes.c_bool,
                  "float": ctypes.c_float, "double": ctypes.c_double, "void": None, "ferry_status": c.STATUS_CODE,
                  "ferry_save_style": ctypes.c_int, "ferry_run_callback": "pointer", "ferry_states_reader": "pointer"}

        def kind(declared):
            """"pointer" or the ctypes type of a declaration without its name."""
            return "pointer" if "*" in declared else simple[declared.replace("const ", "").strip()]

        def ours(type_):
            pointer = type_ in (ctypes.c_void_p, ctypes.c_char_p) or hasattr(type_, "contents")
            return "pointer" if pointer else type_

        declared = {}
        pattern = r"FERRY_API ((?:const )?\w+(?: \*|\*)?)\s*(ferry_\w+)\(([^;]*?)\);"
        for result, name, arguments in re.findall(pattern, re.sub(r"\s+", " ", source())):
            given = [] if arguments == "void" else arguments.split(",")
            types = [re.sub(r"\w+$", "", a.strip()) if "*" not in a else a for a in given]
            declared[name] = [kind(result)] + [kind(t) for t in types]
        for name, *types in c.FERRY_FUNCTIONS + c.TEXT_FUNCTIONS:
            self.assertEqual([ours(t) for t in types], declared[name], name)

    def test_version_is_the_headers(self):
        self.assertEqual(run_c(['printf("%d %d\\n", FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR);',
                                'printf("%d\\n", FERRY_MAX_RANK);']), ["%d %d" % c.VERSION, str(c.MAX_RANK)])


if __name__ == "__main__":
    unittest.main()
