# SPDX-License-Identifier: Apache-2.0
"""docs/python.md from top to bottom: its blocks are run as they stand, one after the other."""
import contextlib, io, os, re, shlex, shutil, tempfile, textwrap, unittest

from support import ROOT, blob, command

try:
    import torchvision  # noqa: F401
except ImportError:
    raise unittest.SkipTest("torchvision is not installed (python3-torchvision)")


def blocks():
    """Indented parts of the page, with their first lines' numbers."""
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and (lines[end].startswith("    ") or (end > at and not lines[end])):
            end += 1
        if end > at:
            yield at + 1, textwrap.dedent("\n".join(lines[at:end])).strip() + "\n"
        at = max(end, at + 1)


class Manual(unittest.TestCase):
    def test_every_block_does_what_the_page_says(self):
        folder, here = tempfile.mkdtemp(), os.getcwd()
        self.addCleanup(shutil.rmtree, folder)
        self.addCleanup(os.chdir, here)
        for name, source in (("depth", "depth"), ("mobile_sam", "masks"), ("stories", "language")):
            shutil.copy(blob(source), os.path.join(folder, name + ".ferry"))
        shutil.copy(os.path.join(ROOT, "examples", "data", "grace_hopper.png"), os.path.join(folder, "photo.png"))
        os.chdir(folder)
        names, python, commands = {}, 0, 0
        for line, block in blocks():
            for part in re.split(r"\n(?=ferry )|(?<=\n)(?=\n\S)", block):
                with self.subTest(line=line):
                    if part.strip().startswith("ferry "):
                        command(*shlex.split(part.strip())[1:])
                        commands += 1
                    elif not re.match(r"pip |PYTHONPATH=", part.strip()):  # what wheel_test and ctest do
                        with contextlib.redirect_stdout(io.StringIO()):
                            exec(compile(part, f"docs/python.md, from line {line}", "exec"), names)
                        python += 1
        self.assertGreaterEqual((python, commands), (12, 5))


if __name__ == "__main__":
    unittest.main()
