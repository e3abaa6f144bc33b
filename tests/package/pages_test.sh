#!/bin/bash
# A library can be loaded where pages are of 16 KB (Android since 15, some arm64 kernels): its segments lie on such borders in
# memory, and in the file at the same place of a page.
#     pages_test.sh READELF LIBRARY...
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
