#!/bin/bash
# Builds the consumers outside the tree against the installed package and runs them, with exceptions and RTTI and without.
#     consumer_test.sh WAY PREFIX LIBDIR CONSUMER_SOURCES SCRATCH
set -euo pipefail
way=$1 prefix=$2 libdir=$2/$3 source=$4 scratch=$5/$1
rm -rf "$scratch"
mkdir -p "$scratch"
cp "$source"/* "$scratch"
cd "$scratch"

# Runs a consumer; it must print Ferry's version and why an absent file cannot be opened.
try() {
  local said
  said=$("$@" absent.ferry)
  echo "$1: $said"
  case "$said" in "ferry 0."*absent.ferry*) ;; *) echo "that is not what was expected"; exit 1 ;; esac
}

# Checks whether a program uses the shared libraries or contains Ferry.
takes() {  # shared|static, program
  local needed
  needed=$(readelf -d "$2" | grep "NEEDED.*libferry" || true)
  case "$1:$needed" in static: | shared:*libferry*) ;; *) echo "$2, linked as $1, needs '$needed'"; exit 1 ;; esac
}

with_pkgconfig() {  # shared|static
  export PKG_CONFIG_PATH="$libdir/pkgconfig"
  local cflags libs text_libs option= rpath=
  if [ "$1" = static ]; then option=--static; else rpath=-Wl,-rpath,$libdir; fi
  cflags=$(pkg-config --cflags ferry)
  libs="$(pkg-config $option --libs ferry) $rpath"
  text_libs="$(pkg-config $option --libs ferry_text) $rpath"
  "$CC" -std=c11 $cflags consumer.c -o consumer_c $libs
  "$CXX" -std=c++20 $cflags consumer.cc -o consumer_cc $libs
  "$CXX" -std=c++20 -fno-exceptions -fno-rtti $cflags consumer.cc -o consumer_plain $libs
  "$CXX" -std=c++20 $cflags consumer_text.cc -o consumer_text $text_libs
  for program in consumer_c consumer_cc consumer_plain consumer_text; do
    try ./$program
    takes "$1" $program
  done
}

# The commands of the docs for a compiler and for CMake, with another path than /opt/ferry.
as_documented() {
  local pages=("$SOURCES"/README.md "$SOURCES"/docs/*.md) commands=0 projects=0 page line
  cp consumer.c app.c
  cp consumer.cc app.cc
  cc() { "$CC" "$@"; }
  c++() { "$CXX" "$@"; }
  export PKG_CONFIG_PATH="$libdir/pkgconfig"
  while read -r line; do
    echo "$line"
    rm -f app
    eval "$line"
    case "$line" in *--static*) takes static app ;; *) takes shared app ;; esac
    case "$line" in *--static* | *rpath*) try ./app ;; *) LD_LIBRARY_PATH=$libdir try ./app ;; esac
    commands=$((commands + 1))
  done < <(sed -nE 's|/opt/ferry/lib\b|'"$libdir"'|g; s/^    ((cc|c\+\+) .*pkg-config.*)$/\1/p' "${pages[@]}")
  for page in "${pages[@]}"; do
    printf 'cmake_minimum_required(VERSION 3.16)\nproject(app C CXX)\nadd_executable(app app.c)\n' >CMakeLists.txt
    sed -nE 's/^    (find_package\(Ferry |target_link_libraries\(app )/\1/p' "$page" >>CMakeLists.txt
    grep -q "^find_package" CMakeLists.txt || continue
    echo "$page"
    rm -rf build
    "$CMAKE" -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >configure.log || { cat configure.log; exit 1; }
    "$CMAKE" --build build >build.log || { cat build.log; exit 1; }
    try build/app
    projects=$((projects + 1))
  done
  [ $commands -ge 2 ] && [ $projects -ge 2 ] || { echo "only $commands commands and $projects projects are printed"; exit 1; }
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
  initialisers) # FERRY_INIT of every struct that begins with its size, with strict warnings, in the oldest C and the
                # newest C++ supported
    (cd "$prefix/include"; printf '#include <%s>\n' ferry/*.h; echo 'int main(void) {'
     sed -n '/^typedef struct ferry_[a-z_]* {$/{N;s/^typedef struct \(ferry_[a-z_]*\) {\n  size_t struct_size;.*/\1/p}' ferry/*.h |
       sed 's/.*/  { & value = FERRY_INIT(&); if (value.struct_size != sizeof(&)) return 1; }/'
     echo '  return 0; }') >every.c
    count=$(grep -c 'FERRY_INIT(' every.c)
    [ "$count" -ge 9 ] || { echo "only $count structs were found"; exit 1; }
    strict=(-Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -isystem "$VULKAN_HEADERS")
    "$CC" -std=c99 "${strict[@]}" every.c -o every_c
    "$CXX" -x c++ -std=c++20 "${strict[@]}" every.c -o every_cc
    ./every_c && ./every_cc
    ;;
  licences) # Ferry's, and those of what is in the libraries, which the notice points to
    cd "$prefix/share/ferry/licenses"
    cmp LICENSE "$SOURCES/LICENSE"
    cmp NOTICE "$SOURCES/NOTICE"
    for name in $(grep -o 'LICENSE\.[a-z0-9]\+' NOTICE); do test -s "$name" || { echo "$name is not installed"; exit 1; }; done
    ;;
  cmake_shared) with_cmake ;;
  cmake_static) with_cmake -DFerry_USE_STATIC_LIBS=ON ;;
  cmake_component) with_cmake -DCONSUMER_COMPONENT=static ;;
  pkgconfig_shared) with_pkgconfig shared ;;
  pkgconfig_static) with_pkgconfig static ;;
  documented) as_documented ;;
  camera_linux) # the example's folder, copied elsewhere
    "$CMAKE" -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >configure.log || { cat configure.log; exit 1; }
    "$CMAKE" --build build >build.log || { cat build.log; exit 1; }
    said=$(build/camera-linux absent.ferry 2>&1) && exit 1
    echo "$said"
    case "$said" in "camera-linux: "*absent.ferry*) ;; *) echo "that is not what was expected"; exit 1 ;; esac
    rm -rf build
    ;;
esac
