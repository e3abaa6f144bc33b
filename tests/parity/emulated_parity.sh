#!/bin/bash
# Runs `ferry parity` on an emulator, for every blob that scripts/check has converted on the host (build/parity).
#     emulated_parity.sh BLOB_FOLDER FERRY EMULATOR...
set -euo pipefail
blobs=$1 ferry=$2
shift 2
fixtures="${FERRY_SHARED:-$blobs/../../../shared}/fixtures"
ran=0
for blob in "$blobs"/*.ferry; do
  fixture="$fixtures/$(basename "$blob" .ferry)"
  [ -e "$blob" ] && [ -d "$fixture" ] || continue
  "$@" "$ferry" parity "$blob" "$fixture"
  ran=$((ran + 1))
done
[ $ran -gt 0 ] || { echo "skipped: no blob in $blobs, or its fixture is not here"; exit 77; }
