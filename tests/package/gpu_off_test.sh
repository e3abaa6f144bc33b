#!/bin/bash
# The size of the GPU backend: the library built without it has no trace of it, at most LIMIT bytes, and at most COST
# bytes less, both
# stripped. It is configured and linked anew; sources that mention FERRY_GPU are compiled, and other objects are copied
# from BUILD.
# gpu_off_test.sh CMAKE NM STRIP LIMIT COST LIBRARY SOURCES BUILD CMAKE_OPTIONS...
set -euo pipefail
cmake=$1 nm=$2 strip=$3 limit=$4 cost=$5 library=$6 sources=$7 build=$8
shift 8
scratch=$build/package/gpu_off
if grep -rlw FERRY_GPU "$sources/sdk" --include=*.h --include=*.hpp --include=*.fbs; then
  echo "these mention FERRY_GPU: sources that include them cannot take their objects from $build"
  exit 1
fi
mkdir -p "$scratch"
"$cmake" -S "$sources" -B "$scratch" -G Ninja -DFERRY_GPU=OFF -DFERRY_BUILD_TESTS=OFF -DFERRY_BUILD_CLI=OFF \
  -DFERRY_BUILD_CONVERTER=OFF -DCMAKE_CXX_COMPILER_LAUNCHER="bash;$sources/tests/package/take_object.sh;$build;FERRY_GPU|kHasGpuChecks" "$@" \
  >"$scratch/configure.log" || { cat "$scratch/configure.log"; exit 1; }
"$cmake" --build "$scratch" --clean-first --target ferry_shared >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
without=$(readlink -f "$scratch/lib/libferry.so")

"$strip" -o "$scratch/with.so" "$library"
"$strip" -o "$scratch/without.so" "$without"

# Functions, tables, namespaces; words. ferry.h's general text about GPUs stays.
traces='vk[A-Z][a-z]{2}|volk[A-Z]|[Vv]ulkan|SPIR-V|ferry3gpu|[Ss]hader|kPacked'
# The patterns must match libferry.so with the backend; otherwise the search would prove nothing.
for kind in symbols words; do
  if [ $kind = symbols ]; then
    "$nm" "$library" >"$scratch/symbols.with"
    "$nm" "$without" >"$scratch/symbols.without"
  else # without the debugger's names of fields
    strings "$scratch/with.so" >"$scratch/words.with"
    strings "$scratch/without.so" >"$scratch/words.without"
  fi
  grep -qE "$traces" "$scratch/$kind.with" || { echo "no $kind of the backend are found in $library"; exit 1; }
  if grep -E "$traces" "$scratch/$kind.without"; then
    echo "these $kind are left in the library without the GPU backend"
    exit 1
  fi
done

bytes=$(stat -c %s "$scratch/without.so")
difference=$(($(stat -c %s "$scratch/with.so") - bytes))
echo "without the GPU backend the library is $bytes bytes, $difference less"
if [ "$bytes" -gt "$limit" ] || [ "$difference" -gt "$cost" ]; then
  echo "at most $limit are allowed, and at most $cost less"
  exit 1
fi
