#!/bin/bash
# The source archive, unpacked into an empty folder, is configured and compiled with nothing but CMake, Ninja, a compiler and
# Python: with no header of the system's, no flatc, no glslc, no network.
# source_archive_test.sh CMAKE C_COMPILER CXX_COMPILER SOURCES BUILD
set -euo pipefail
cmake=$1 compilers="-DCMAKE_C_COMPILER=$2 -DCMAKE_CXX_COMPILER=$3" sources=$4 build=$5
git -C "$sources" rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: $sources is no clone"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$sources/scripts/package" android --quick --build "$build" -o "$scratch/out" | tail -n 1
mkdir "$scratch/empty" "$scratch/bin"
tar -xf "$scratch"/out/ferry-*-android.tar.gz -C "$scratch/empty"
tree=$(echo "$scratch"/empty/ferry-*-android)

for tool in ninja as ld ar ranlib nm objcopy objdump strip readelf python3 sh uname javac; do
  ln -s "$(command -v $tool)" "$scratch/bin/$tool"
done
tools="env PATH=$scratch/bin"
# XNNPACK, if it is not in the cache, is built of the archive's sources.
$tools "$cmake" -S "$tree/bindings/android/jni" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=Release $compilers -Wno-dev \
  >"$scratch/log" 2>&1 || { tail -n 30 "$scratch/log"; exit 1; }
if grep -o -- '-\(I\|isystem \)[^ ]*' "$scratch/build/build.ninja" | grep -vE "$scratch|/xnnpack/|/jvm/" | grep .; then
  echo "these folders of headers are not the archive's"
  exit 1
fi
for tool in FLATC GLSLC SPIRV_OPT; do
  ! grep -q "^FERRY_$tool:FILEPATH=/" "$scratch/build/CMakeCache.txt" || { echo "the build looks for FERRY_$tool"; exit 1; }
done
# What reads the generated files and the headers.
objects=()
for file in sdk/gpu/lowering/ops sdk/gpu/device/shaders sdk/image/codec; do
  [ -f "$tree/$file.cc" ] || { echo "$file.cc is no longer there"; exit 1; }
  objects+=("ferry/CMakeFiles/ferry_core.dir/$file.cc.o")
done
$tools ninja -C "$scratch/build" "${objects[@]}" >"$scratch/log" 2>&1 || { tail -n 30 "$scratch/log"; exit 1; }
echo "configured, and compiled ${#objects[@]} files"
