#!/bin/bash
# A library loads on systems with 16 KB pages (Android since 15, some arm64 kernels): its segments are aligned to these
# in memory,
# and have the same offset within a page in the file.
# pages_test.sh READELF LIBRARY...
set -euo pipefail
readelf=$1
for library in "${@:2}"; do
  headers=$("$readelf" -lW "$library")
  loads=0
  while read -r type offset address _ _ _ rest; do
    [ "$type" = LOAD ] || continue
    loads=$((loads + 1))
    alignment=${rest##* }
    if ((alignment % 16384 != 0 || offset % 16384 != address % 16384)); then
      echo "$library: a segment at $offset is aligned to $((alignment)) bytes, expected a multiple of 16384 (it is linked with"
      echo "-Wl,-z,max-page-size=16384): $type $offset $address $rest"
      exit 1
    fi
  done <<<"$headers"
  [ "$loads" -gt 0 ] || { echo "$library has no segments that are loaded"; exit 1; }
  echo "$(basename "$library"): $loads segments on borders of 16 KB"
done
