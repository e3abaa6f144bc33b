#!/bin/bash
# Packages of the installed prefix by scripts/package: the archive and the Debian packages contain everything that is
# installed and no trace of the builder. A second run gives the same bytes. The unpacked files can be compiled with and
# run. SCRATCH/archives/first keeps the packages for lintian_test.sh and repository_test.sh.
# archives_test.sh SOURCES PREFIX TARGET CONSUMER_SOURCES SCRATCH
set -euo pipefail
sources=$1 prefix=$2 target=$3 consumer=$4 scratch=$5/archives
command -v dpkg-deb dpkg-shlibdeps >/dev/null || { echo "skipped: dpkg and dpkg-dev are not installed"; exit 77; }
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
version=$(sed -nE 's/^#define FERRY_VERSION_(MAJOR|MINOR|PATCH) //p' "$prefix/include/ferry/ferry.h" | paste -sd.)
abi=$(sed -n 's/^version //p' "$sources/sdk/abi.txt")
architecture=$(dpkg --print-architecture) triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
wrong() { echo "$*"; exit 1; }

# At another time, by another user, in another folder.
export SOURCE_DATE_EPOCH=1700000000
"$sources/scripts/package" --tree "$prefix" "$target" --quick -o first >/dev/null
cp -r "$prefix" elsewhere
(umask 077; TZ=Asia/Kathmandu LC_ALL=C.UTF-8 "$sources/scripts/package" --tree elsewhere "$target" --quick -o second)
rm -r elsewhere
[ "$(ls first)" = "$(ls second)" ] || wrong "files differ: $(ls first second)"
for file in first/*; do cmp "$file" "second/${file#*/}"; done
runtime=first/libferry${abi}_${version}_$architecture.deb
development=first/libferry-dev_${version}_$architecture.deb
command=first/ferry_${version}_$architecture.deb

# name, field, expected pattern
field() {
  local has
  has=$(dpkg-deb --field "$1" "$2")
  [[ $has == $3 ]] || wrong "$1: $2 is '$has', expected '$3'"
}
field "$runtime" Package "libferry$abi"
field "$runtime" Version "$version"
field "$runtime" Architecture "$architecture"
field "$runtime" Multi-Arch same
field "$development" Multi-Arch same
field "$runtime" Depends "libc6 (>= *), *libstdc++6 (>= *)"
field "$development" Depends "libferry$abi (= $version)"
field "$command" Version "$version"
field "$command" Depends "*libc6 (>= *libstdc++6 (>= *"
. "$sources/packaging/about.sh"
for package in "$runtime" "$development" "$command"; do
  field "$package" Maintainer "$MAINTAINER"
  field "$package" Homepage "$HOMEPAGE"
done
dpkg-deb --info "$runtime" shlibs | grep -qx "libferry_text $abi libferry$abi (>= $version)" || wrong "$runtime has no shlibs"
dpkg-deb --info "$runtime" symbols >symbols
for line in "libferry.so.$abi libferry$abi #MINVER#" " ferry_session_run@Base $version" \
  "libferry_text.so.$abi libferry$abi #MINVER#" " ferry_text_open@Base $version"; do
  grep -qxF -- "$line" symbols || wrong "$runtime: its symbols lack '$line'"
done

# Every installed file is in the archive and, except for licences, in one of the packages, with normalised modes and
# times.
installed=$(cd "$prefix" && find bin include lib share ! -type d | sort)
tar xzf "first/ferry-$version-linux-$target.tar.gz"
packed=$(cd "ferry-$version-linux-$target" && find . ! -type d | sed 's|^\./||' | sort)
[ "$installed" = "$packed" ] || { diff <(echo "$installed") <(echo "$packed") || true; wrong "the archive differs from $prefix"; }
for package in "$runtime" "$development" "$command"; do dpkg-deb --extract "$package" root; done
unpacked=$(cd root/usr && find . ! -type d ! -path './share/doc/*' | sed 's|^\./||; s|^\(share/man/.*\)\.gz$|\1|; '"s|^lib/$triplet/|lib/|" | sort)
wanted=$(grep -v '^share/ferry/licenses/' <<<"$installed")
[ "$wanted" = "$unpacked" ] || { diff <(echo "$wanted") <(echo "$unpacked") || true; wrong "the packages differ from $prefix"; }
for package in libferry$abi libferry-dev ferry; do
  documents=root/usr/share/doc/$package
  for text in "common-licenses/Apache-2.0" "Files: third_party/XNNPACK/*" "License: BSD-3-Clause-xnnpack"; do
    grep -qF "$text" "$documents/copyright" || wrong "$package: its copyright file lacks $text"
  done
  # Every word of the licences and of their owners is there.
  licences=$prefix/share/ferry/licenses
  for text in "$licences"/LICENSE.* <(grep '^ *Copyright ' "$licences/NOTICE" | sed 1d); do
    lost=$(grep -vxF -f <(sed "s/^ *//" "$documents/copyright") <(sed 's/^ *//' "$text" | grep .) || true)
    [ -z "$lost" ] || wrong "$package: its copyright file lacks: $lost"
  done
  gzip -d <"$documents/changelog.gz" >changelog
  said=$(dpkg-parsechangelog -l changelog --all --format rfc822 2>&1 |
    grep -E '^(Version|dpkg-parsechangelog):' | tr '\n' ' ')
  wanted=$(sed -n 's/^## \(.*\), .*/Version: \1/p' "$sources/CHANGELOG.md" | tr '\n' ' ')
  [ "$said" = "$wanted" ] || wrong "$package: its changelog has $said, expected $wanted"
done
modes=$(dpkg-deb --contents "$command" | awk '{ print $1, $2, $4, $5 }' | sort -u)
wanted_modes=$(printf -- '%s root/root 2023-11-14 22:13\n' -rw-r--r-- -rwxr-xr-x drwxr-xr-x)
[ "$(sort <<<"$modes")" = "$(sort <<<"$wanted_modes")" ] || wrong "owners, modes or times: $modes"
for file in "$prefix/include/ferry/ferry.h" "$prefix/share/man/man1/ferry.1"; do grep -q . "$file"; done

# The unpacked packages work.
said=$(root/usr/bin/ferry --version)
[ "$said" = "ferry $version" ] || wrong "$said"
runs() {
  said=$(LD_LIBRARY_PATH=root/usr/lib/$triplet "$@" absent.ferry)
  [[ $said == "ferry $version"*absent.ferry* ]] || wrong "$said"
}
for way in "" --static; do
  PKG_CONFIG_PATH=root/usr/lib/$triplet/pkgconfig pkg-config $way --cflags --libs ferry >flags
  "$CC" -std=c11 "$consumer/consumer.c" -o app $(cat flags)
  runs ./app
done
mkdir project
cp "$consumer/consumer.c" project
printf 'cmake_minimum_required(VERSION 3.16)\nproject(app C)\nfind_package(Ferry REQUIRED)\nadd_executable(app consumer.c)
target_link_libraries(app Ferry::ferry)\n' >project/CMakeLists.txt
"$CMAKE" -S project -B project/build -G Ninja -DCMAKE_PREFIX_PATH="$PWD/root/usr" >configure.log || { cat configure.log; exit 1; }
"$CMAKE" --build project/build >build.log || { cat build.log; exit 1; }
runs project/build/app

# Invalid arguments are refused with a message.
refused() {  # words, arguments...
  if said=$("$sources/scripts/package" "${@:2}" 2>&1); then wrong "not refused: ${*:2}"; fi
  [[ $said == *"$1"* ]] || wrong "expected '$1', it says: $said"
}
refused "no target is called 'mips': x86-64, arm64" mips
refused "it has no include/ferry/ferry.h" --tree "$scratch/first" arm64
refused "--tree needs the target" --tree "$prefix"
refused "-o needs a value" -o
refused "--key is for --repository" x86-64 --key someone
refused "--repository needs --key" x86-64 --repository "$scratch/repository"
refused "android has none" android --repository "$scratch/repository" --key someone
refused "is no Debian package" "$consumer/consumer.deb"
refused "existing packages need --repository" "$runtime"
printf '## 0.0.1\n\n- words\n' >CHANGELOG.md
documents=$sources/scripts/lib/debian_documents.py
said=$("$documents" changelog CHANGELOG.md 0.0.1 someone 2>&1 || true)
[[ $said == *"expected '## VERSION, YEAR-MONTH-DAY'"* ]] || wrong "$said"
said=$("$documents" changelog CHANGELOG.md 0.0.2 someone 2>&1 || true)
[[ $said == *"has no section '## 0.0.2, DATE'"* ]] || wrong "$said"
find . -mindepth 1 -maxdepth 1 ! -name first -exec rm -rf {} +
