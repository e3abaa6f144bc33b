#!/bin/bash
# The shared library exports exactly the functions that sdk/abi.txt lists under these headers, and its SONAME carries
# the ABI's version.
# exports_test.sh NM READELF LIBRARY LIST HEADERS...
set -euo pipefail
nm=$1 readelf=$2 library=$3 list=$4
shift 4
exported=$("$nm" -D --defined-only "$library" | awk '{ print $NF }' | sort)
wanted=$(awk -v headers=" $* " '$1 == "header" { here = index(headers, " " $2 " ") } here && $1 == "function" { sub(":", "", $2); print $2 }' \
  "$list" | sort)
if [ "$exported" != "$wanted" ]; then
  echo "exported symbols differ from those of $* in sdk/abi.txt (<: only in the list, >: only in the library):"
  diff <(echo "$wanted") <(echo "$exported") || true
  echo "A function of the list that the library lacks is to be defined again. One that only the library has needs a declaration in"
  echo "sdk/include/ferry, which tests/package/abi.py --update records, or another name: what begins with ferry_ is exported."
  exit 1
fi
echo "$(echo "$wanted" | wc -l) exported symbols, all of them listed"

name=$(basename "$library")
name=${name%%.so*}.so.$(sed -n 's/^version //p' "$list")
soname=$("$readelf" -dW "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = "$name" ] || { echo "the SONAME of $library is $soname, expected $name, after the ABI's version"; exit 1; }
