#!/bin/bash
# scripts/check-family finds every family complete, and reports what an incomplete one lacks.
# families_test.sh SOURCES BUILD
set -euo pipefail
sources=$1 build=$2
"$sources/scripts/check-family" --build "$build"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/scripts" "$scratch/docs"
cp "$sources/scripts/check-family" "$scratch/scripts"
cp -r "$sources/models" "$scratch"
cp "$sources/docs/status.md" "$scratch/docs"
mkdir "$scratch/tests"
cp -r "$sources/tests/parity" "$sources/tests/conformance" "$sources/tests/converter" "$scratch/tests"
mkdir "$scratch/models/vision/otternet"
touch "$scratch/models/vision/otternet/otternet.cc"
cd "$scratch"
if scripts/check-family --build "$build" models/vision/otternet models/vision/resnet >"$scratch/said"; then
  echo "a family without a header, a row, a fixture and a status passes"
  exit 1
fi
for words in "no models/vision/otternet/otternet.h" "does not include" "has no row of otternet::" "no fixture of it" \
  "docs/status.md does not mention it" "models/vision/resnet: complete"; do
  grep -qF "$words" "$scratch/said" || { echo "'$words' is not said:"; cat "$scratch/said"; exit 1; }
done
