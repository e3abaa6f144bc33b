#!/bin/bash
# Runs `ferry parity` in an emulator for every blob that scripts/check converted on the host (build/parity), in
# float32 and, emulating a CPU with float16 arithmetic, in float16. Networks on integers have certificates instead.
# emulated_parity.sh BLOB_FOLDER FERRY EMULATOR...
set -euo pipefail
blobs=$1 ferry=$2
shift 2
fixtures="${FERRY_SHARED:-$blobs/../../../shared}/fixtures"
precisions=(f32)
case "${QEMU_CPU:-}" in cortex-a76 | max) precisions+=(f16) ;; esac
ran=0
for blob in "$blobs"/*.ferry; do
  fixture="$fixtures/$(basename "$blob" .ferry)"
  [ -e "$blob" ] && [ -d "$fixture" ] || continue
  for precision in "${precisions[@]}"; do "$@" "$ferry" parity "$blob" "$fixture" --precision $precision; done
  ran=$((ran + 1))
done
for blob in "$blobs"/integers_*.ferry; do
  [ ! -e "$blob" ] || "$@" "$ferry" verify "$blob"
done
[ $ran -gt 0 ] || { echo "skipped: no blob in $blobs, or its fixture is not here"; exit 77; }
