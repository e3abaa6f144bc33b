#!/bin/bash
# The whole way on one emulated CPU, which QEMU_CPU names.
#     qemu_user_test.sh SOURCE_FOLDER FERRY
set -euo pipefail
[ -x "$1/build/dev/bin/ferry" ] && [ -x "$1/build/dev/bin/make_checkpoint" ] ||
  { echo "skipped: no host's ferry and make_checkpoint in build/dev"; exit 77; }
exec "$1/scripts/device-test" "qemu-user:${QEMU_CPU:-max}" --backend cpu --runs 1 --ferry "$2"
