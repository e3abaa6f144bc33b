# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: the package, and in it libferry.so, libferry_text.so and the licences of what is in them.

CMake builds them as they ship; or FERRY_LIBRARY names a folder that holds them, the one of an installed prefix, or of a
build, which has no licences to give to others:

    pip wheel --no-build-isolation --no-deps bindings/python
    FERRY_LIBRARY=/opt/ferry/lib pip wheel --no-build-isolation --no-deps bindings/python
"""
import os, re, shutil, subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "wheel")
LIBRARIES = ("libferry.so", "libferry_text.so")


def version():
    """It is written once, in the public header."""
    with open(os.path.join(ROOT, "sdk", "include", "ferry", "ferry.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"#define FERRY_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read()))


def installed_libraries():
    """By CMake, of its Release type and without what a wheel does not hold; where they are then."""
    folder, prefix = os.path.join(BUILD, "cmake"), os.path.join(BUILD, "prefix")
    off = [f"-DFERRY_BUILD_{what}=OFF" for what in ("CONVERTER", "CLI", "TESTS", "EXAMPLES")]
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_INSTALL_LIBDIR=lib", *off]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, *options], check=True)
    subprocess.run(["cmake", "--build", folder], check=True)
    subprocess.run(["cmake", "--install", folder, "--prefix", prefix], check=True)
    return os.path.join(prefix, "lib")


class BuildWithLibraries(build_py):
    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)  # what an earlier wheel held
        super().run()
        place, package = os.environ.get("FERRY_LIBRARY") or installed_libraries(), os.path.join(self.build_lib, "ferry")
        for name in LIBRARIES:
            target = os.path.join(package, name)
            shutil.copy(os.path.join(place, name), target)  # of what a link points to
            subprocess.run(["strip", "--strip-unneeded", target], check=True)
        licenses = os.path.join(place, "..", "share", "ferry", "licenses")
        if os.path.isdir(licenses):
            shutil.copytree(licenses, os.path.join(package, "licenses"), dirs_exist_ok=True)


class PlatformWheel(bdist_wheel):
    """For any Python 3, on this system and processor."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


os.makedirs(BUILD, exist_ok=True)
setup(version=version(), distclass=BinaryDistribution,
      cmdclass={"build_py": BuildWithLibraries, "bdist_wheel": PlatformWheel},
      options={"build": {"build_base": BUILD}, "egg_info": {"egg_base": BUILD}})
