#!/bin/bash
# The messages if a device, or a list of operators, cannot be built for, and the options for the NDK's own toolchain
# file. A fake
# NDK is used, because none is packaged.
# devices_test.sh CMAKE SOURCES
set -euo pipefail
cmake=$1 sources=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset ANDROID_NDK

# Runs a command, which must fail with this message.
refused() {  # words, command...
  local said words=$1
  if said=$("${@:2}" 2>&1); then echo "not refused: ${*:2}"; exit 1; fi
  said=$(tr -s ' \n' ' ' <<<"$said")
  case "$said" in *"$words"*) echo "refused: $said" ;; *) echo "expected '$words', it says: $said"; exit 1 ;; esac
}

build=$sources/scripts/build-device
targets="arm64, armv7, riscv64, android-arm64, android-armv7, android-x86_64"
refused "no target is called 'mips': one of $targets" "$build" mips
refused "which target? One of $targets" "$build"
refused "no option is called --fast" "$build" arm64 --fast
refused "-o needs a value" "$build" arm64 -o
refused "one target at a time: arm64, or armv7" "$build" arm64 armv7
refused "there is no such file" "$build" arm64 --operators "$scratch/absent"
refused "name it with ANDROID_NDK=" "$build" android-arm64
refused "is it an NDK?" env ANDROID_NDK="$scratch" "$build" android-armv7
"$build" --help | grep -q "scripts/build-device TARGET"

# What a build for a device needs is installed: on a machine that has no package, by an apt-get that only tells.
mkdir "$scratch/bin"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/dpkg-query"
printf '#!/bin/sh\necho "$@" >>"%s/installed"\n' "$scratch" >"$scratch/bin/apt-get"
printf '#!/bin/sh\n"$@"\n' >"$scratch/bin/sudo"
chmod +x "$scratch"/bin/*
for target in arm64:g++-aarch64-linux-gnu armv7:g++-arm-linux-gnueabihf riscv64:g++-riscv64-linux-gnu; do
  rm -f "$scratch/installed"
  PATH=$scratch/bin:$PATH "$sources/scripts/setup" "${target%:*}" >/dev/null
  for package in cmake ninja-build "${target#*:}" qemu-user-static; do
    grep -qw -e "$package" "$scratch/installed" || { echo "${target%:*}: $package is not installed"; exit 1; }
  done
done

toolchain=("$cmake" -P "$sources/toolchains/android.cmake")
refused "ANDROID_NDK is not set" "${toolchain[@]}"
refused "holds no build/cmake/android.toolchain.cmake" env ANDROID_NDK="$scratch" "${toolchain[@]}"
mkdir -p "$scratch/build/cmake"
# The real NDK's file sets the linker's flags in the cache, too.
cat >"$scratch/build/cmake/android.toolchain.cmake" <<'END'
foreach(kind SHARED MODULE EXE)
  set(CMAKE_${kind}_LINKER_FLAGS "-Wl,--of-${kind}" CACHE STRING "")
endforeach()
END
cat >"$scratch/settings.cmake" <<END
include("$sources/toolchains/android.cmake")
message("\${ANDROID_ABI} \${ANDROID_PLATFORM} \${ANDROID_STL}")
foreach(kind SHARED MODULE EXE)
  message("\${CMAKE_\${kind}_LINKER_FLAGS}")
endforeach()
END
export ANDROID_NDK=$scratch
refused "Ferry needs android-24 or later" "$cmake" -DANDROID_PLATFORM=android-21 -P "$sources/toolchains/android.cmake"
pages="-Wl,-z,max-page-size=16384"
ndk_gets() {  # the first line that is expected, options of cmake
  local settings
  settings=$("$cmake" "${@:2}" -P "$scratch/settings.cmake" 2>&1)
  [ "$settings" = "$1
-Wl,--of-SHARED $pages
-Wl,--of-MODULE $pages
-Wl,--of-EXE $pages" ] || { echo "the NDK gets: $settings"; exit 1; }
}
ndk_gets "arm64-v8a android-24 c++_static"
ndk_gets "x86_64 28 c++_static" -DANDROID_ABI=x86_64 -DANDROID_PLATFORM=28

# A list of operators with a line that is invalid.
listed() {  # the list
  printf "$1" >"$scratch/parts.txt"
  (cd "$sources" && "$cmake" "-DFERRY_OPERATORS_FILE=$scratch/parts.txt" "-DPROJECT_BINARY_DIR=$scratch" -P cmake/operators.cmake)
}
refused "parts.txt: there is no operator 'conv3d'; there are conv2d linear" listed 'operator conv3d\n'
refused "parts.txt: there is no task 'Sleep'; there are Tensors Classification" listed 'task Sleep\n'
refused "parts.txt: 'op conv2d' is not understood; expected 'operator NAME'" listed 'op conv2d\n'
listed 'operator conv2d # and\n\noperator gated_delta_rule\ntask Ocr\n'
wanted="inline constexpr uint64_t kBuiltInOperators = 0 | bit(fbs::OpParams::Conv2d) | bit(fbs::OpParams::GatedDeltaRule);"
grep -qxF "$wanted" "$scratch/generated/built_in_parts.h" || { cat "$scratch/generated/built_in_parts.h"; exit 1; }
