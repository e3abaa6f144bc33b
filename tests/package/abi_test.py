#!/usr/bin/env python3
"""What tests/package/abi.py says of headers in which something was changed: each change that would break a compiled
program is named, and cannot be recorded under the same version; what is only new can.

    tests/package/abi_test.py SOURCE_FOLDER [OPTIONS OF abi.py]
"""
import os, shutil, subprocess, sys, tempfile, unittest

SOURCE, OPTIONS = sys.argv[1], sys.argv[2:]
ABI = os.path.join(SOURCE, "tests", "package", "abi.py")

# header, what is there, what it becomes, what is said
BREAKS = (
    ("ferry.h", "#define FERRY_MAX_RANK 6", "#define FERRY_MAX_RANK 8",
     "ferry_tensor.shape has 32 bytes at 36, and had 24 at 36"),
    ("ferry.h", "  bool all_taps;\n", "  bool all_taps;\n  bool no_taps;\n",
     "ferry_session_options: 'bool no_taps' is where 'bool profile' was"),
    ("ferry.h", "  size_t watched_runs;", "", "ferry_report.watched_runs is gone"),
    ("ferry.h", "FERRY_CORRUPT = 203", "FERRY_CORRUPT = 205", "FERRY_CORRUPT is 205, and was 203"),
    ("ferry.h", "FERRY_API const char* ferry_version(void);", "", "function ferry_version is gone"),
    ("ferry.h", "ferry_status status, void* user);\n/* Begins", "void* user);\n/* Begins",
     "callback ferry_run_callback is void(ferry_session*, void*), and was void(ferry_session*, ferry_status, void*)"),
    ("image.h", "  int32_t width;\n  int32_t height;\n  int32_t stride;",
     "  int32_t height;\n  int32_t width;\n  int32_t stride;",
     "ferry_image: 'int32_t height' is where 'int32_t width' was"),
    ("image.h", "} ferry_class;", "  int32_t more;\n} ferry_class;",
     "ferry_class.more is new, and ferry_class, of 16 bytes, does not begin with struct_size"),
    ("task.h", "  uint32_t prompts;", "  float prompts;",
     "ferry_task_info: 'float prompts' is where 'uint32_t prompts' was"),
    ("text.h", "const ferry_message* messages,", "ferry_message* messages,",
     "function ferry_text_chat is ferry_status(const ferry_text*, ferry_message*, size_t, char*, size_t*), and was "),
)
ADDITIONS = (
    ("ferry.h", "} ferry_session_options;\n", "  double more;\n  bool flag;\n} ferry_session_options;\n",
     "ferry.h: ferry_session_options.more"),
    ("task.h", "FERRY_TASK_LANDMARKS = 13", "FERRY_TASK_LANDMARKS = 13,\n  FERRY_TASK_MORE = 14",
     "task.h: FERRY_TASK_MORE"),
    ("image.h", "typedef struct ferry_class {",
     "typedef struct ferry_pair {\n  int x;\n} ferry_pair;\ntypedef struct ferry_class {",
     "image.h: struct ferry_pair"),
    ("text.h", "FERRY_API void ferry_sampling_init(",
     "FERRY_API void ferry_more(int count);\nFERRY_API void ferry_sampling_init(", "text.h: function ferry_more"),
)


class Abi(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.sdk = os.path.join(self.folder, "sdk")
        shutil.copytree(os.path.join(SOURCE, "sdk", "include"), os.path.join(self.sdk, "include"))
        shutil.copy(os.path.join(SOURCE, "sdk", "abi.txt"), self.sdk)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def change(self, header, before, after):
        path = os.path.join(self.sdk, "include", "ferry", header)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(before, text, f"{header} has other words now: this test needs them")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(before, after))

    def abi(self, *options):
        """The exit status and the output."""
        run = subprocess.run([sys.executable, ABI, "--source", self.folder, *options, *OPTIONS], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return run.returncode, run.stdout

    def test_what_breaks_programs_is_named_and_cannot_be_recorded(self):
        for header, before, after, _ in BREAKS:
            self.change(header, before, after)
        status, said = self.abi("--update")
        self.assertEqual(status, 1, said)
        for header, _, _, words in BREAKS:
            self.assertIn(f"{header}: {words}", said)
        self.assertIn("raise FERRY_VERSION_MINOR in ferry.h", said)
        self.assertEqual(self.abi()[0], 1)

    def test_what_is_new_is_named_and_can_be_recorded(self):
        for header, before, after, _ in ADDITIONS:
            self.change(header, before, after)
        status, said = self.abi()
        self.assertEqual(status, 1)
        for _, _, _, words in ADDITIONS:
            self.assertIn(words + "\n", said)
        self.assertIn("break nothing; record them", said)
        self.assertEqual(self.abi("--update")[0], 0)
        # The new field fits into the padding after `bool flag`.
        self.change("ferry.h", "  bool flag;\n", "  bool flag;\n  bool still_more;\n")
        status, said = self.abi()
        self.assertEqual(status, 1)
        self.assertIn("still_more is new at 177, within the 184 bytes that ferry_session_options had", said)

    def test_another_version_may_change_everything_once_it_is_recorded(self):
        self.change("ferry.h", "FERRY_CORRUPT = 203", "FERRY_CORRUPT = 205")
        self.change("ferry.h", "#define FERRY_VERSION_MINOR 3", "#define FERRY_VERSION_MINOR 4")
        status, said = self.abi()
        self.assertEqual(status, 1)
        self.assertIn("sdk/abi.txt is of version 0.3, and ferry.h of 0.4; record it", said)
        self.assertEqual(self.abi("--update")[0], 0)
        self.assertEqual(self.abi()[0], 0)

    def test_what_is_not_understood_is_an_error(self):
        self.change("image.h", "typedef struct ferry_class {", "extern int ferry_more;\ntypedef struct ferry_class {")
        status, said = self.abi()
        self.assertEqual(status, 1)
        self.assertIn("image.h: this declaration is of no kind that tests/package/abi.py knows: extern int ferry", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
