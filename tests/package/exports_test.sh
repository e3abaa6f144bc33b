#!/bin/bash
# The shared library exports the names in the lists (sdk/exports.txt, sdk/exports_vulkan.txt): all of them, and no other.
#     exports_test.sh NM LIBRARY LISTS...
set -euo pipefail
exported=$("$1" -D --defined-only "$2" | awk '{ print $NF }' | sort)
wanted=$(sort "${@:3}")
if [ "$exported" != "$wanted" ]; then
  echo "exported symbols differ from ${*:3} (<: only in the lists, >: only in the library):"
  diff <(echo "$wanted") <(echo "$exported") || true
  exit 1
fi
echo "$(echo "$wanted" | wc -l) exported symbols, all of them listed"
