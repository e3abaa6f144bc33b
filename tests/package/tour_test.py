#!/usr/bin/env python3
"""The commands of README.md's "A newcomer's next ten minutes" work as they are printed.

    tests/package/tour_test.py SOURCE_FOLDER FOLDER_OF_PROGRAMS WORK_FOLDER

The first block of code of that section is run line by line in WORK_FOLDER, which has the repository's folders that the
lines name, and the programs under test at the place where the demo builds them. scripts/demo itself is run with them.
What cannot be downloaded is skipped with a sentence; without the demo's packages, the whole test is (exit code 77).
"""
import os
import re
import shutil
import subprocess
import sys

SOURCE, PROGRAMS, WORK = (os.path.abspath(argument) for argument in sys.argv[1:4])
SECTION = "## A newcomer's next ten minutes"
UNREACHABLE = re.compile(r"cannot be reached|the server answered|npm could not get")
DIFFERS = re.compile(r"^\$F diff ")  # exit code 1: the blobs differ


def commands():
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        section = file.read().split(SECTION + "\n", 1)[1].split("\n## ", 1)[0]
    lines = []
    for line in section.split("\n"):
        if line.startswith("    "):
            lines.append(line.strip())
        elif line and lines:
            break  # the first block only: the second needs files of the reader's own
    return lines


def prepare():
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(os.path.join(WORK, "build/release"))
    os.makedirs(os.path.join(WORK, "scripts"))
    for name in ("examples", "tests"):
        os.symlink(os.path.join(SOURCE, name), os.path.join(WORK, name))
    os.symlink(PROGRAMS, os.path.join(WORK, "build/release/bin"))
    demo = os.path.join(WORK, "scripts/demo")
    with open(demo, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/bash\nexec '{SOURCE}/scripts/demo' --bin '{PROGRAMS}' '{WORK}/build/demo'\n")
    os.chmod(demo, 0o755)


def check_page():
    with open(os.path.join(WORK, "build/demo/index.html"), encoding="utf-8") as file:
        page = file.read()
    assert page.count("data:image/") == 3, "the demo's page has not its three images"
    assert "Detect: 1 face," in page, "the demo's page reports another number of faces"
    story = os.path.exists(os.path.join(WORK, "build/demo/stories.ferry"))
    assert ("Generate: a story" in page) == story, "the demo's page has no story, or one without a model"


def main():
    prepare()
    assignments, run, skipped = [], 0, 0
    for line in commands():
        if re.match(r"[A-Z]+=", line):
            assignments.append(line)
            continue
        print(f"$ {line}", flush=True)
        # Without a terminal, as in a script; bash sees the line as printed, comment and all.
        done = subprocess.run(["bash", "-c", "\n".join([*assignments, line])], cwd=WORK, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        print("\n".join("    " + text for text in done.stdout.split("\n")[:12]), flush=True)
        if done.returncode != 0 and UNREACHABLE.search(done.stdout):
            if line == "scripts/demo":
                print("tour: skipped, the demo's packages cannot be had from npm")
                return 77
            print("tour: this line is skipped, since its file cannot be downloaded")
            skipped += 1
            continue
        if done.returncode != (1 if DIFFERS.match(line) else 0):
            print(f"tour: exit code {done.returncode} of: {line}\n{done.stdout[-3000:]}")
            return 1
        run += 1
        if line == "scripts/demo":
            check_page()
    for name in ("large.png", "boxes.png", "graph.html", "parity.html", "proven.ferry", "checkpoint/model.json"):
        assert os.path.getsize(os.path.join(WORK, name)) > 0, name
    assert run >= 17, f"only {run} commands were found in README.md"
    print(f"tour: {run} commands of README.md work as printed, {skipped} skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
