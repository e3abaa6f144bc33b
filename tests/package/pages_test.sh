#!/bin/bash
# Every library and program of some folders loads on systems with 16 KB pages (Android since 15, some arm64 kernels): its
# segments are aligned to these in memory, and have the same offset within a page in the file.
# pages_test.sh READELF FOLDER...
set -euo pipefail
readelf=$1
files=0
while IFS= read -r file; do
  headers=$("$readelf" -lW "$file" 2>/dev/null) || continue # a script, a header, an archive
  loads=0
  while read -r type offset address _ _ _ rest; do
    [ "$type" = LOAD ] || continue
    loads=$((loads + 1))
    alignment=${rest##* }
    if ((alignment % 16384 != 0 || offset % 16384 != address % 16384)); then
      echo "$file: a segment at $offset is aligned to $((alignment)) bytes, expected a multiple of 16384 (it is linked with"
      echo "-Wl,-z,max-page-size=16384): $type $offset $address $rest"
      exit 1
    fi
  done <<<"$headers"
  [ "$loads" -gt 0 ] || continue # an archive's object
  files=$((files + 1))
  echo "$(basename "$file"): $loads segments on borders of 16 KB"
done < <(find "${@:2}" -type f)
[ "$files" -gt 0 ] || { echo "there is no library or program in ${*:2}"; exit 1; }
