#!/usr/bin/env python3
"""tests/package/bionic.py finds what it is for, in libraries that a compiler makes, and reads bionic's map files.

    tests/package/bionic_test.py COMPILER READELF
"""
import os, subprocess, sys, tempfile, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import bionic

COMPILER, READELF = sys.argv[1:3]
HEADERS = ("errno.h", "sched.h", "stdio.h", "stdlib.h", "sys/mman.h")
HEAD = "#define _GNU_SOURCE\n" + "".join(f"#include <{header}>\n" for header in HEADERS)

# A function of glibc's that Android's lowest API level lacks, and a call.
LACKS = (
    ("memfd_create", "int f(void) { return memfd_create(\"a\", 0); }"),
    ("aligned_alloc", "void* f(void) { return aligned_alloc(64, 64); }"),
    ("qsort_r", "void f(void* p, int (*c)(const void*, const void*, void*)) { qsort_r(p, 1, 1, c, p); }"),
    ("__fdelt_chk", "long __fdelt_chk(long); long f(void) { return __fdelt_chk(0); }"),
    ("compress", "int compress(void); int f(void) { return compress(); }"),
)
HAS = (
    "void* f(void* p) { posix_memalign(&p, 64, 64); return p; }",
    "int f(const char* s, int* n) { return sscanf(s, \"%d\", n) + errno; }",
    "int f(cpu_set_t* set) { return sched_getaffinity(0, sizeof *set, set); }",
    "__attribute__((weak)) int eaccess(const char*, int); int f(void) { return puts(eaccess ? \"yes\" : \"no\"); }",
)
MAP = """\
LIBC { # introduced-arm=9
  global:
    old; # var
    of_arm; # arm
    level_24; # introduced=24
    level_26; # introduced=26
    later_on_arm64; # introduced-arm=21 introduced-arm64=26
    versioned; # arm64 x86_64 arm versioned=28
    of_a_module; # apex
  local:
    *;
};
LIBC_P { # introduced=28
  global:
    level_28;
} LIBC;
LIBC_PRIVATE {
  global:
    hidden;
} LIBC;
"""


class Bionic(unittest.TestCase):
    def check(self, code):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "libtried.so")
            command = [COMPILER, "-shared", "-fPIC", "-O1", "-w", "-x", "c", "-", "-o", library]
            subprocess.run(command, input=HEAD + code, text=True, check=True)
            return subprocess.run([os.path.join(HERE, "bionic.py"), READELF, library], capture_output=True, text=True)

    def test_names_what_android_lacks(self):
        for name, code in LACKS:
            with self.subTest(name):
                result = self.check(code)
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn(f"imports {name}, which", result.stdout)

    def test_accepts_what_android_has(self):
        for code in HAS:
            with self.subTest(code):
                result = self.check(code)
                self.assertEqual(result.returncode, 0, result.stdout)

    def test_map_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "libc.map.txt")
            with open(path, "w", encoding="utf-8") as f:
                f.write(MAP)
            at_24 = bionic.exports(path, "arm64", 24)
            self.assertEqual(at_24, {"old", "level_24", "versioned"})
            self.assertEqual(bionic.exports(path, "arm64", 28) - at_24, {"level_26", "later_on_arm64", "level_28"})
            self.assertEqual(bionic.exports(path, "arm", 24) - at_24, {"of_arm", "later_on_arm64"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
