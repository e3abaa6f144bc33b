#!/bin/bash
# The whole way on one emulated CPU: that of the three which scripts/check goes through that is like most phones.
#     qemu_user_test.sh SOURCE_FOLDER FERRY
set -euo pipefail
cpu=cortex-a76
[ "${QEMU_CPU:-$cpu}" = $cpu ] || { echo "skipped: run as $cpu"; exit 77; }
[ -x "$1/build/dev/bin/ferry" ] && [ -x "$1/build/dev/bin/make_checkpoint" ] ||
  { echo "skipped: no host's ferry and make_checkpoint in build/dev"; exit 77; }
exec "$1/scripts/device-test" "qemu-user:$cpu" --backend cpu --ferry "$2"
