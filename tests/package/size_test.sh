#!/bin/bash
# The stripped shared library stays small; prints its size and those of the example programs.
# size_test.sh STRIP LIMIT LIBRARY PROGRAMS...
set -euo pipefail
strip=$1 limit=$2 library=$3
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
weigh() {
  "$strip" -o "$stripped" "$1"
  stat -c %s "$stripped"
}
for program in "${@:3}"; do
  [ -e "$program" ] && echo "$(basename "$program"): $(weigh "$program") bytes stripped"
done
bytes=$(weigh "$library")
if [ "$bytes" -gt "$limit" ]; then
  echo "$(basename "$library") has grown to $bytes bytes; at most $limit are allowed"
  exit 1
fi
