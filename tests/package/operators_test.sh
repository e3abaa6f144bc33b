#!/bin/bash
# A library built for one blob (`ferry build --for`) exports the same functions as every library, runs that blob,
# refuses another
# with a message, and has at most LIMIT bytes, stripped. As in gpu_off_test.sh, sources that do not depend on the
# selection are not
# compiled again.
# operators_test.sh CMAKE NM READELF STRIP CC LIMIT SOURCES BUILD FERRY MOBILENETV2.safetensors|NETWORK.onnx EMULATOR --
# \
# CMAKE_OPTIONS...
# FERRY runs here and converts; EMULATOR, if given, runs the result.
set -euo pipefail
cmake=$1 nm=$2 readelf=$3 strip=$4 cc=$5 limit=$6 sources=$7 build=$8 ferry=$9 blob=${10}
shift 10
emulator=()
while [ "$1" != -- ]; do emulator+=("$1"); shift; done
shift
[ -x "$ferry" ] && [ -e "$blob" ] || { echo "skipped: no $ferry, or no $blob"; exit 77; }
scratch=$build/package/operators
mkdir -p "$scratch"
if grep -rlw "built_in_parts.h\|built_in.h" "$sources/sdk" --include=*.h --include=*.hpp | grep -v /built_in.h; then
  echo "these headers show what is built in: sources that include them cannot take their objects from $build"
  exit 1
fi

if [[ $blob == *.onnx ]]; then
  "$ferry" convert "$blob" --shape input=1x3x16x16 -o "$scratch/this.ferry" >/dev/null
else
  "$ferry" convert "$blob" --model mobilenetv2_100 -o "$scratch/this.ferry" >/dev/null
fi
blob=$scratch/this.ferry
"$ferry" convert "$sources/tests/data/onnx/vit/model.onnx" -o "$scratch/other.ferry" >/dev/null
"$ferry" build --for "$blob" --no-files -o "$scratch/parts.txt"
cat "$scratch/parts.txt"

"$cmake" -S "$sources" -B "$scratch/build" -G Ninja -DFERRY_GPU=OFF -DFERRY_BUILD_TESTS=OFF -DFERRY_BUILD_CLI=OFF \
  -DFERRY_BUILD_CONVERTER=OFF "-DFERRY_OPERATORS_FILE=$scratch/parts.txt" \
  "-DCMAKE_CXX_COMPILER_LAUNCHER=bash;$sources/tests/package/take_object.sh;$build;FERRY_GPU|kHasGpuChecks|built_in" "$@" \
  >"$scratch/configure.log" || { cat "$scratch/configure.log"; exit 1; }
"$cmake" --build "$scratch/build" --clean-first --target ferry_shared >"$scratch/build.log" ||
  { cat "$scratch/build.log"; exit 1; }
library=$scratch/build/lib/libferry.so
bash "$sources/tests/package/exports_test.sh" "$nm" "$readelf" "$library" "$sources/sdk/abi.txt" ferry.h image.h task.h
"$strip" -o "$scratch/stripped.so" "$library"
bytes=$(stat -c %s "$scratch/stripped.so")
echo "$bytes bytes stripped"
[ "$bytes" -le "$limit" ] || { echo "at most $limit are allowed"; exit 1; }

"$cc" -std=c11 -Wall -Wextra -Werror -I"$sources/sdk/include" "$sources/tests/package/operators.c" -o "$scratch/operators" \
  -L"$scratch/build/lib" -lferry -Wl,-rpath,"$scratch/build/lib"
"${emulator[@]}" "$scratch/operators" "$blob" | grep "^runs: "
if said=$("${emulator[@]}" "$scratch/operators" "$scratch/other.ferry"); then echo "it runs $scratch/other.ferry"; exit 1; fi
echo "$said"
case "$said" in
  unsupported:*"is not in this library, which was built for other models: build it for this one, too (ferry build --for)") ;;
  *) echo "that is not what was expected"; exit 1 ;;
esac
