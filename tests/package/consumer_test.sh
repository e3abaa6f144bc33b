#!/bin/bash
# Builds the consumers outside the tree against the installed package and runs them, with exceptions and RTTI and without.
#     consumer_test.sh WAY PREFIX LIBDIR CONSUMER_SOURCES SCRATCH
set -euo pipefail
way=$1 prefix=$2 libdir=$2/$3 source=$4 scratch=$5/$1
rm -rf "$scratch"
mkdir -p "$scratch"
cp "$source"/* "$scratch"
cd "$scratch"

# Runs a consumer; it must say Ferry's version and why an absent file cannot be opened.
try() {
  local said
  said=$("$@" absent.ferry)
  echo "$1: $said"
  case "$said" in "ferry 0."*absent.ferry*) ;; *) echo "that is not what was expected"; exit 1 ;; esac
}

with_pkgconfig() {  # shared|static
  export PKG_CONFIG_PATH="$libdir/pkgconfig"
  local cflags libs text_libs
  cflags=$(pkg-config --cflags ferry)
  if [ "$1" = static ]; then
    # -l:libferry.a: the shared library lies in the same folder and would win.
    libs=$(pkg-config --static --libs ferry | sed -E 's/-l(ferry\w*)/-l:lib\1.a/g')
    text_libs=$(pkg-config --static --libs ferry_text | sed -E 's/-l(ferry\w*)/-l:lib\1.a/g')
  else
    libs="$(pkg-config --libs ferry) -Wl,-rpath,$libdir"
    text_libs="$(pkg-config --libs ferry_text) -Wl,-rpath,$libdir"
  fi
  "$CC" -std=c11 $cflags consumer.c -o consumer_c $libs
  try ./consumer_c
  "$CXX" -std=c++20 $cflags consumer.cc -o consumer_cc $libs
  try ./consumer_cc
  "$CXX" -std=c++20 -fno-exceptions -fno-rtti $cflags consumer.cc -o consumer_plain $libs
  try ./consumer_plain
  "$CXX" -std=c++20 $cflags consumer_text.cc -o consumer_text $text_libs
  try ./consumer_text
}

with_cmake() {  # options
  for flags in "" "-fno-exceptions -fno-rtti"; do
    "$CMAKE" -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="$flags" "$@" >configure.log ||
      { cat configure.log; exit 1; }
    "$CMAKE" --build build >build.log || { cat build.log; exit 1; }
    try build/consumer_c
    try build/consumer_cc
    try build/consumer_text
    rm -rf build
  done
}

case $way in
  headers) # each alone, strictly; vulkan.h includes Vulkan's
    for header in "$prefix"/include/ferry/*.h; do
      echo "#include <ferry/$(basename "$header")>" >alone.c
      "$CC" -std=c11 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -isystem "$VULKAN_HEADERS" -fsyntax-only alone.c
      "$CXX" -x c++ -std=c++17 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -isystem "$VULKAN_HEADERS" -fsyntax-only alone.c
    done
    for header in "$prefix"/include/ferry/*.hpp; do
      [ -e "$header" ] || continue
      echo "#include <ferry/$(basename "$header")>" >alone.cc
      "$CXX" -std=c++17 -pedantic -Wall -Wextra -Wshadow -Werror -fno-exceptions -fno-rtti -I"$prefix/include" \
        -fsyntax-only alone.cc
    done
    ;;
  cmake_shared) with_cmake ;;
  cmake_static) with_cmake -DFerry_USE_STATIC_LIBS=ON ;;
  cmake_component) with_cmake -DCONSUMER_COMPONENT=static ;;
  pkgconfig_shared) with_pkgconfig shared ;;
  pkgconfig_static) with_pkgconfig static ;;
  camera_linux) # the example's folder, copied elsewhere
    "$CMAKE" -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >configure.log || { cat configure.log; exit 1; }
    "$CMAKE" --build build >build.log || { cat build.log; exit 1; }
    said=$(build/camera-linux absent.ferry 2>&1) && exit 1
    echo "$said"
    case "$said" in "camera-linux: "*absent.ferry*) ;; *) echo "that is not what was expected"; exit 1 ;; esac
    rm -rf build
    ;;
esac
