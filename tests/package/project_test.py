#!/usr/bin/env python3
"""What every project has, and what has to be repeated: licence, notices, SPDX lines, and the version, which is written once, in
sdk/include/ferry/ferry.h.

    tests/package/project_test.py [SOURCE_FOLDER]
"""
import hashlib, os, re, sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SPDX = "SPDX-License-Identifier: Apache-2.0"
# Places that repeat the version: each must match at least once, and each match must be the version.
VERSIONS = {
    "CHANGELOG.md": r"\A[^#]*# Changelog[^#]*## (\S+),",
    "bindings/android/gradle.properties": r"^version=(.+)",
    "bindings/android/src/main/java/io/ferry/Ferry.java": r'"(\d+\.\d+\.\d+)"',
    "bindings/python/ferry/_library.py": r'"(\d+\.\d+\.\d+)"',
    "docs/embedded-linux.md": r"ferry_(\d[\d.]*)\.bb",
    "docs/packages.md": r"ferry(?:-dev|\d[\d.]*)?[-_](\d+\.\d+\.\d+)[-_]",
    "docs/python.md": r"ferry-(\d[\d.]*)-py3",
    "packaging/buildroot/ferry/ferry.mk": r"^FERRY_VERSION = (\S+)",
    "packaging/yocto/ferry_{version}.bb": r"libferry\.so\.(\d+\.\d+\.\d+)",
    "sdk/include/ferry/ferry.h": r'"(\d+\.\d+\.\d+)"',
    "tests/cli/command_line_test.cc": r'"ferry (\d+\.\d+\.\d+)\\n"',
    "tests/runtime/api_test.cc": r'ferry_version\(\), "(.+)"',
}
faults = []


def read(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        faults.append(f"{path} is missing")
        return ""


def version():
    return ".".join(re.findall(r"#define FERRY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read("sdk/include/ferry/ferry.h")))


def check_versions(expected):
    for path, pattern in VERSIONS.items():
        path = path.format(version=expected)
        found = re.findall(pattern, read(path), re.M)
        if not found or set(found) != {expected}:
            faults.append(f"{path}: the version is {', '.join(found) or 'nowhere'}, where ferry.h has {expected}")
    major, minor, _ = expected.split(".")
    if f"VERSION = ({major}, {minor})" not in read("bindings/python/ferry/_structs.py"):
        faults.append(f"bindings/python/ferry/_structs.py: VERSION is not ({major}, {minor})")


def check_security_tests():
    """Tests that SECURITY.md names exist: suites of GoogleTest with or without a case, or of ctest."""
    named = re.findall(r"`([A-Za-z/]+(?:\.[A-Za-z]+)?)`", read("SECURITY.md").split("| guarantee | tests |")[-1].split("\n\n")[0])
    tests = ""
    for folder, _, names in os.walk(os.path.join(ROOT, "tests")):
        tests += "".join(read(os.path.join(folder, name)) for name in names if name.endswith(("_test.cc", "CMakeLists.txt")))
    for name in named:
        suite, _, case = name.partition(".")
        if name not in tests if "/" in name else not re.search(rf"TEST(_F|_P)?\({suite}, {case}", tests):
            faults.append(f"SECURITY.md names the test {name}, which does not exist")
    if len(named) < 10:
        faults.append("SECURITY.md has no table of tests")


def check_spdx():
    count = 0
    for top in ("sdk/include", "bindings", "examples"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if not re.search(r"\.(h|hpp|c|cc|py|java|kt|kts)$", name) or re.search(r"(^|/)(build|.*\.egg-info)/", path):
                    continue
                count += 1
                if not any(SPDX in line for line in read(path).split("\n")[:2]):
                    faults.append(f"{path}: its first line should be the comment {SPDX}")
    if count < 100:
        faults.append(f"only {count} sources were found, where there are over 100")


def check_licence(version):
    licence, notice = read("LICENSE"), read("NOTICE")
    if "Apache License" not in licence or "Copyright The Ferry authors" not in licence:
        faults.append("LICENSE is not Apache-2.0 of the Ferry authors")
    # docs/dependencies.md lists the parts of the libraries and of the desktop tools; dependencies of tests, and tools
    # that are only linked, have one sentence.
    page = read("docs/dependencies.md")
    for heading in ("Inside `libferry`", "In the desktop tools only"):
        rows = re.findall(r"^\| \[([^\]]+)\]\(", page.split("## " + heading)[1].split("\n\nWhat torch.save")[0].split("\n## ")[0], re.M)
        if len(rows) < 7:
            faults.append(f"docs/dependencies.md, {heading}: only {len(rows)} rows were found")
        for name in rows:
            names = {"nlohmann/json": "JSON for Modern C++", "Vulkan headers": "Vulkan headers"}
            if name != "GoogleTest" and names.get(name, name).lower() not in notice.lower():
                faults.append(f"NOTICE does not name {name}, which docs/dependencies.md lists: {heading}")
    recipe = read(f"packaging/yocto/ferry_{version}.bb")
    for name, text in (("LICENSE", licence), ("NOTICE", notice)):
        md5 = hashlib.md5(text.encode()).hexdigest()
        if f"file://{name};md5={md5}" not in recipe:
            faults.append(f"packaging/yocto: LIC_FILES_CHKSUM of {name} should be {md5}")
    if "CLOSED" in recipe or "FERRY_LICENSE = Apache-2.0" not in read("packaging/buildroot/ferry/ferry.mk"):
        faults.append("packaging: the recipes' licence is not Apache-2.0")
    readme = read("README.md")
    for name in ("LICENSE", "NOTICE", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        read(name)
        if f"]({name})" not in readme:
            faults.append(f"README.md has no link to {name}")


release = version()
check_versions(release)
check_spdx()
check_licence(release)
print("\n".join(faults) or f"Ferry {release}: version, licences and SPDX lines agree")
sys.exit(1 if faults else 0)
